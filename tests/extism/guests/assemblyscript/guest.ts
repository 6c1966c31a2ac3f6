// A plugin built with Extism's AssemblyScript PDK. Its entries are the same as those
// of the guests in other languages, so that the tests are as well.
import { Config, Host, LogLevel, Memory, Var } from '@extism/as-pdk';

// The compiler calls it before the trap of an error (--use abort).
function abort(message: string | null, file: string | null, line: u32, column: u32): void {}

@external("extism:host/user", "host_call")
declare function host_call(operation: u64, request: u64): u64;

@external("extism:host/env", "http_request")
declare function http_request(request: u64, body: u64): u64;

@external("extism:host/env", "length")
declare function length_of(handle: u64): u64;

@external("extism:host/env", "error_set")
declare function error_set(handle: u64): void;

export function plinth_abi_1(): void {}

function ask(operation: string, request: Uint8Array): Uint8Array {
  const answer = host_call(Memory.allocateString(operation).offset, Memory.allocateBytes(request).offset);
  return new Memory(answer, length_of(answer)).toUint8Array();
}

function failed(message: string): i32 {
  error_set(Memory.allocateString(message).offset);
  return 1;
}

export function echo(): i32 {
  Host.output(Host.input());
  return 0;
}

export function vowels(): i32 {
  const text = Host.inputString().toLowerCase();
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    if ("aeiou".includes(text.charAt(i))) count++;
  }
  Host.outputString(count.toString());
  return 0;
}

export function setting(): i32 {
  const colour = Config.get("colour");
  let text = colour === null ? "none" : colour;
  if (Config.get("flavour") === null) text += ", no flavour";
  Host.outputString(text);
  return 0;
}

function size(name: string): i32 {
  const value = Var.get(name);
  return value === null ? 0 : value.length;
}

export function variable(): i32 {
  const before = size("name");
  Var.set("name", Host.input());
  const kept = Var.getString("name");
  Var.remove("name");
  Host.outputString(before.toString() + " " + (kept === null ? "" : kept) + " " + size("name").toString());
  return 0;
}

export function logs(): i32 {
  Host.log(LogLevel.Info, "about " + Host.inputString());
  Host.log(LogLevel.Warn, "careful");
  Host.log(LogLevel.Error, "broken");
  return 0;
}

export function fail(): i32 {
  return failed("cannot do " + Host.inputString());
}

export function crash(): i32 {
  throw new Error("on purpose");
}

export function operate(): i32 {
  const answer = ask("echo", Host.input());
  const nothing = ask("nothing", new Uint8Array(0));
  const all = new Uint8Array(answer.length + nothing.length);
  all.set(answer);
  all.set(nothing, answer.length);
  Host.output(all);
  return 0;
}

export function fetch(): i32 {
  http_request(Memory.allocateString('{"url":"http://127.0.0.1:1/"}').offset, 0);
  return 0;
}

export function plinth_tool_execute(): i32 {
  const message = Host.input();
  if (message.length < 4 || load<u32>(message.dataStart) > <u32>(message.length - 4)) return failed("this is no message");
  ask("log", encode('{"level":"info","message":"the tool runs"}'));
  Host.output(encode('{"ok":{"content":[{"type":"text","text":"done by Extism"}]}}'));
  return 0;
}

// encode makes a message without bytes.
function encode(text: string): Uint8Array {
  const body = Uint8Array.wrap(String.UTF8.encode(text));
  const message = new Uint8Array(4 + body.length);
  store<u32>(message.dataStart, body.length);
  message.set(body, 4);
  return message;
}
