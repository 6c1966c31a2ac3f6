// A random number as the guests tell it.

import { Json } from "../../../../sdk-plugins/assemblyscript/json";
import { random } from "../../../../sdk-plugins/assemblyscript/random";

// number answers 64 bits as 16 hexadecimal digits.
export function number(): Json { return Json.text(random().toString(16).padStart(16, "0")); }
