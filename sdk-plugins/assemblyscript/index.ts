// What a plugin in AssemblyScript is made of, over Extism's PDK. README.md says how.

export { ask, plinth_abi_1, serve } from "./extism";
export { Json, Kind, Writer } from "./json";
export { Answer, Call, content, reference, Run } from "./message";
export { ErrorKind, Reply } from "./reply";
export { random } from "./random";
