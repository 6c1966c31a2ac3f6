package mistakes

import (
	"os"
	"path/filepath"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// mistake is one that an author makes.
type mistake struct {
	name string // what went wrong, in a few words: its heading
	// make makes it, and answers what the author is told.
	make func(a *author) string
	// says are in what she is told, in this order: what is wrong, where, and the fix.
	says []string
	// why is what comes before the message, fix what to do: sentences for the page.
	why, fix string
}

// area is mistakes of one sort.
type area struct {
	name     string
	mistakes []mistake
}

func table() []area {
	return []area{
		{"Building the module", building()},
		{"The manifest and what lies beside it", describing()},
		{"Goldens", recording()},
		{"Adding it to a host", adding()},
		{"While it runs", running()},
	}
}

func building() []mistake {
	return []mistake{
		{
			name: "A component in the place of a module",
			make: func(a *author) string { return a.pack(weather.with(files{"weather.wasm": "\x00asm\x0d\x00\x01\x00"})) },
			says: []string{"weather", "this is a component", "build for wasip1", "wasm32-wasip1"},
			why:  "The compiler was told to build for `wasip2` (or `cargo component`, `componentize`), whose output is a component. Plinth runs core modules.",
			fix:  "Build for `wasm32-unknown-unknown` or `wasm32-wasip1` (Rust), `-target=wasip1 -buildmode=c-shared` (TinyGo), `GOOS=wasip1 GOARCH=wasm -buildmode=c-shared` (Go).",
		},
		{
			name: "A file that is no module",
			make: func(a *author) string { return a.pack(weather.with(files{"weather.wasm": "(module)"})) },
			says: []string{"weather", "this is not a WebAssembly module", "give the .wasm file the compiler wrote"},
			why:  "The file beside `plugin.toml` is text (`.wat`), a native program, or a download that failed.",
			fix:  "Put the binary there that the compiler wrote; `wat2wasm` makes one of text.",
		},
		{
			name: "A module for the browser: wasm-bindgen",
			make: func(a *author) string {
				return a.add(built(func(m *w.Module) {
					m.Import("__wbindgen_placeholder__", "__wbindgen_describe", w.Types(w.I32), nil)
				}))
			},
			says: []string{"acme/weather", "imports", "__wbindgen_placeholder__.__wbindgen_describe", "wasm-bindgen", "take out"},
			why:  "A dependency brings `wasm-bindgen`, which calls JavaScript: often `getrandom` with the feature `js`, `chrono` with `wasmbind`, or `web-time`.",
			fix:  "Find it with `cargo tree -i wasm-bindgen` and switch its feature for the web off, or build for `wasm32-wasip1`.",
		},
		{
			name: "Go built for js/wasm",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": foreign(func(m *w.Module) {
					m.Import("gojs", "runtime.wasmExit", w.Types(w.I32), nil)
					m.Func("run", w.Types(w.I32, w.I32), nil, nil)
				})}))
			},
			says: []string{"acme/weather", "gojs.runtime.wasmExit", "GOOS=js", "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"},
			why:  "`GOOS=js` builds for a page with `wasm_exec.js` around it. TinyGo's `-target=wasm` is the same.",
			fix:  "Build with `GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared`, or `tinygo build -target=wasip1 -buildmode=c-shared`.",
		},
		{
			name: "A module built by Emscripten",
			make: func(a *author) string {
				return a.add(built(func(m *w.Module) {
					m.Import("env", "emscripten_notify_memory_growth", w.Types(w.I32), nil)
					m.Import("env", "__syscall_openat", w.Types(w.I32), w.Types(w.I32))
				}))
			},
			says: []string{"acme/weather", "env.emscripten_notify_memory_growth", "Emscripten", "wasi-sdk", "-mexec-model=reactor"},
			why:  "Emscripten's output leans on the JavaScript that it writes beside the module.",
			fix:  "Build with `wasi-sdk`: `clang --target=wasm32-wasip1 -mexec-model=reactor`, and export the entries with `-Wl,--export=…`.",
		},
		{
			name: "AssemblyScript without a PDK",
			make: func(a *author) string {
				return a.add(built(func(m *w.Module) { m.Import("env", "abort", w.Types(w.I32, w.I32, w.I32, w.I32), nil) }))
			},
			says: []string{"acme/weather", "env.abort", "AssemblyScript", "--use abort="},
			why:  "AssemblyScript's runtime calls an `abort` that it expects from a page.",
			fix:  "Export a function of that form from your own code and say `--use abort=assembly/index/myAbort` to `asc`.",
		},
		{
			name: "A symbol that was never linked in",
			make: func(a *author) string {
				return a.add(built(func(m *w.Module) { m.Import("env", "sqlite3_open", w.Types(w.I32), w.Types(w.I32)) }))
			},
			says: []string{"acme/weather", "env.sqlite3_open", "nobody provides env", "link the missing symbol in"},
			why:  "The linker turns a function that it does not find into an import of `env`.",
			fix:  "Link the library that has it, built for the same target.",
		},
		{
			name: "A program in the place of a library",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": foreign(func(m *w.Module) { m.Memory(1, 0); m.Func("_start", nil, nil, nil) })}))
			},
			says: []string{"acme/weather", "it exports _start, so it is a program", "build it as a reactor", "-buildmode=c-shared", "crate-type", "cdylib"},
			why:  "The module has a `main` that runs once and ends. A plugin stays, and its entries are called.",
			fix:  "Add `-buildmode=c-shared` (Go, TinyGo) or `crate-type = [\"cdylib\"]` (Rust, in `[lib]` of a crate without `main.rs`).",
		},
		{
			name: "The memory is not exported",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": foreign(func(m *w.Module) { m.Func(abi.ExportMarker, nil, nil, nil) })}))
			},
			says: []string{"acme/weather", "it must export the memory as memory", "--import-memory", "--no-export"},
			why:  "The host writes a call's input into the plugin's memory, so it must see it. A linker flag hid it, or has it imported.",
			fix:  "Take `--import-memory` and its like out of the linker's flags (`RUSTFLAGS`, `.cargo/config.toml`, `-ldflags`, `-extldflags`).",
		},
		{
			name: "Threads",
			make: func(a *author) string {
				return a.pack(weather.with(files{"weather.wasm": header + string(w.Section(5, []byte("\x01\x03\x01\x02")))}))
			},
			says: []string{"weather", "a shared memory", "threads is not supported", "build without threads"},
			why:  "The module was built with threads: `wasm32-wasip1-threads`, `+atomics`, `-pthread`.",
			fix:  "Build for the target without threads. A call has one thread; the host runs several calls at a time on instances of their own.",
		},
		{
			name: "A memory of 64 bits",
			make: func(a *author) string {
				return a.pack(weather.with(files{"weather.wasm": header + string(w.Section(5, []byte("\x01\x04\x01")))}))
			},
			says: []string{"weather", "a memory of 64-bit addresses", "build for wasm32"},
			why:  "The target was `wasm64-…`.",
			fix:  "Build for `wasm32`.",
		},
		{
			name: "A module without an SDK's entries",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": foreign(func(m *w.Module) { m.Memory(1, 0) })}))
			},
			says: []string{"acme/weather", "it must export the marker function plinth_abi_1", "build it with a current SDK"},
			why:  "The SDK was not linked in, or the linker dropped its exports: a crate without `plinth::plugin!`, a main package that imports no package of the SDK.",
			fix:  "Register what the manifest declares with the SDK and build again; `plinth plugin inspect` lists the exports.",
		},
		{
			name: "No allocator",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": foreign(func(m *w.Module) {
					m.Memory(1, 0)
					m.Func(abi.ExportMarker, nil, nil, nil)
					m.Entry(abi.ExportTool, w.Const64(0))
				})}))
			},
			says: []string{"acme/weather", "it must export plinth_alloc, a function of type (i32)->(i32)", "an SDK exports it"},
			why:  "The host asks the plugin for room before it writes the input of a call.",
			fix:  "Link the SDK in, or export `plinth_alloc` yourself.",
		},
		{
			name: "A kind that is declared, and not linked in",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": string(bridgetest.New().Answers(abi.ExportContext, `{"ok":{"sources":[]}}`).Bytes())}))
			},
			says: []string{"acme/weather", "it must export plinth_tool_execute", "link its kind in", "or take the table that declares it out of the manifest"},
			why:  "The manifest has a `[[tool]]`, but the module exports no tool: nothing in it registers one.",
			fix:  "Register it (`tool.Register` in an `init` of Go's package main, `tools:` of Rust's `plinth::plugin!`), or take the table out.",
		},
		{
			name: "A codec or a transform that asks the host",
			make: func(a *author) string {
				return a.add(files{"weather.wasm": string(bridgetest.NewAsking().Answers(abi.ExportTransform, `{"ok":{"edits":[]}}`).Bytes()),
					"plugin.toml": manifest("[[transform]]\nname = \"short\"\nreads = [\"system\"]\nwrites = [\"system\"]\n")})
			},
			says: []string{"acme/weather", "plinth.host_call", "providers and transforms may not use", "take the operations out"},
			why:  "A provider and a transform work on what they are given and nothing else, so that a request can be repeated.",
			fix:  "Do not import the SDK's `host` there. A plugin that needs both is two plugins.",
		},
		{
			name: "A debug build that is too large",
			make: func(a *author) string {
				debug := new(w.Module)
				core(debug)
				debug.Custom(".debug_info", make([]byte, 20<<20))
				debug.Custom(".debug_str", make([]byte, 5<<20))
				return a.pack(weather.with(files{"weather.wasm": string(debug.Bytes())}))
			},
			says: []string{"weather.wasm", "26214", "the limit is 25165824", "debug information", "--release", "-no-debug"},
			why:  "Most of a debug build is debug information and code that was not optimised.",
			fix:  "Build with `--release` and `strip = true` (Rust), `-no-debug` (TinyGo), `-ldflags='-s -w'` (Go).",
		},
		{
			name: "Code that is too large",
			make: func(a *author) string {
				large := new(w.Module)
				core(large)
				large.Data(0, strings.Repeat("x", 17<<20))
				return a.pack(weather.with(files{"weather.wasm": string(large.Bytes())}))
			},
			says: []string{"weather", "17826009", "the limit is 16777216", "build it smaller"},
			why:  "The module itself, without what only a debugger reads, is above the limit. Data that is compiled in is the usual reason.",
			fix:  "Optimise for size (`opt-level = \"s\"`, `-opt=z`), and keep data in the Location or in a store.",
		},
	}
}

func describing() []mistake {
	described := func(change, to string) func(*author) string {
		return func(a *author) string {
			changed := strings.Replace(weather["plugin.toml"], change, to, 1)
			return a.pack(weather.with(files{"plugin.toml": changed}))
		}
	}
	return []mistake{
		{
			name: "A key that is misspelt",
			make: described("description = \"Tells", "descripton = \"Tells"),
			says: []string{"weather/plugin.toml:4", "descripton", "there is no such key", "did you mean description?"},
			why:  "The manifest is read strictly, so that nothing which was meant is lost.",
			fix:  "Correct the spelling; the [manifest's reference](manifest.md) has every key.",
		},
		{
			name: "A table that is misspelt",
			make: described("[[tool]]", "[[tools]]"),
			says: []string{"weather/plugin.toml:5", "tools", "there is no such key", "did you mean tool?"},
			why:  "Tables are named in the singular: `[[tool]]`, `[[context]]`, `[[provider]]`, `[[transform]]`.",
			fix:  "Correct the spelling.",
		},
		{
			name: "A version that is none",
			make: described(`"1.0.0"`, `"v1.0"`),
			says: []string{"weather/plugin.toml:3", "version", `"v1.0" is not a version like 1.2.0`},
			why:  "A version is MAJOR.MINOR.PATCH, without a `v`.",
			fix:  "Write all three numbers.",
		},
		{
			name: "The builtins' owner",
			make: described(`"acme/weather"`, `"core/weather"`),
			says: []string{"weather", "id", `"core/weather" is reserved for builtins`, "use an owner of your own"},
			why:  "`core/` belongs to the plugins in the program, `mcp/` to MCP servers.",
			fix:  "Name the plugin by your own owner: `acme/weather`.",
		},
		{
			name: "A context key of somebody else",
			make: func(a *author) string {
				return a.pack(files{"weather.wasm": string(bridgetest.New().Answers(abi.ExportContext, `{"ok":{"sources":[]}}`).Bytes()),
					"plugin.toml": manifest("[[context]]\nkey = \"weather/today\"\n")})
			},
			says: []string{"weather/plugin.toml:6", "context.key", `"weather/today" must begin with the plugin's id, acme/weather/`},
			why:  "Keys are shared by all sources of a session, so each plugin's begin with its id.",
			fix:  "Call it `acme/weather/today`, in the manifest and in what the plugin answers.",
		},
		{
			name: "A schema that is not there",
			make: func(a *author) string {
				return a.pack(files{"weather.wasm": weather["weather.wasm"], "plugin.toml": weather["plugin.toml"]})
			},
			says: []string{"weather/plugin.toml:8", "tool.input", "weather.schema.json", "cannot be read", "write it beside the manifest"},
			why:  "The manifest names the file by its path from the plugin's folder.",
			fix:  "Write it there; `plinth plugin test --update` has the native tests make it from the input's type.",
		},
		{
			name: "A schema that is no JSON",
			make: func(a *author) string {
				return a.pack(weather.with(files{"weather.schema.json": `{"type": "object",}`}))
			},
			says: []string{"weather/plugin.toml:8", "tool.input", "weather.schema.json", "no valid JSON Schema for the tool weather", "invalid character '}'"},
			why:  "The file is not JSON: a comma at the end, a comment, single quotes.",
			fix:  "Correct it, or have the native tests write it.",
		},
		{
			name: "JSON that is no schema",
			make: func(a *author) string {
				return a.pack(weather.with(files{"weather.schema.json": `{"type": "objekt"}`}))
			},
			says: []string{"weather/plugin.toml:8", "tool.input", "weather.schema.json", "no valid JSON Schema", "type"},
			why:  "It is JSON, but a keyword has a value that JSON Schema does not know.",
			fix:  "Correct the keyword that is named; the drafts up to 2020-12 are understood.",
		},
		{
			name: "No manifest",
			make: func(a *author) string { return a.pack(files{"weather.wasm": weather["weather.wasm"]}) },
			says: []string{"weather/plugin.toml", "it is missing", "every plugin folder has one"},
			why:  "The folder has a module and nothing that says what it offers.",
			fix:  "Write `plugin.toml`, or start with `plinth plugin new`.",
		},
		{
			name: "A byte order mark",
			make: func(a *author) string {
				return a.pack(weather.with(files{"plugin.toml": "\ufeff" + weather["plugin.toml"]}))
			},
			says: []string{"weather/plugin.toml:1", "byte order mark", "save it as UTF-8 without one"},
			why:  "An editor on Windows put three bytes in front of the text.",
			fix:  "Save the file as \"UTF-8\", not as \"UTF-8 with BOM\".",
		},
		{
			name: "A manifest that is not UTF-8",
			make: described("Tells the weather", "Tells the weather in M\xfcnchen"),
			says: []string{"weather/plugin.toml:4", "not UTF-8", "save it as UTF-8"},
			why:  "The file was written in another encoding, such as Latin-1 or UTF-16.",
			fix:  "Save it as UTF-8.",
		},
		{
			name: "Two modules in the folder",
			make: func(a *author) string { return a.pack(weather.with(files{"old.wasm": weather["weather.wasm"]})) },
			says: []string{"weather", "there are 2 .wasm files beside plugin.toml", "old.wasm, weather.wasm", "leave one"},
			why:  "The build writes under a new name, or a packed file was left there.",
			fix:  "Remove the older one, and pack into another folder (`-o`).",
		},
		{
			name: "No module in the folder",
			make: func(a *author) string {
				return a.pack(files{"weather.schema.json": weather["weather.schema.json"],
					"plugin.toml": weather["plugin.toml"] + "[dev]\nbuild = \"cargo build --release --target wasm32-unknown-unknown\"\n"})
			},
			says: []string{"weather", "there is no .wasm file beside plugin.toml", "[dev] build must leave it there", "plinth plugin build runs that", "cargo build --release"},
			why:  "The plugin was not built yet, or the compiler put the module elsewhere, as `cargo` does.",
			fix:  "Run `plinth plugin build`; its `[dev] build` must leave the module beside the manifest.",
		},
	}
}

func recording() []mistake {
	const golden = "[[golden]]\nexport = \"tool\"\ninput = \"testdata/in.json\"\noutput = \"testdata/out.json\"\n"
	recorded := func(guest *bridgetest.Guest, input, output string) files {
		return weather.with(files{"weather.wasm": string(guest.Bytes()), "plugin.toml": weather["plugin.toml"] + golden,
			"testdata/in.json": input, "testdata/out.json": output})
	}
	operation := func(name, path string) string {
		return `{"op":"` + name + `","request":{"path":"` + path + `"},"answer":{"ok":{}}}`
	}
	return []mistake{
		{
			name: "Another answer than was recorded",
			make: func(a *author) string {
				return a.test(recorded(sunny(), `{"body":{"tool":"weather","input":{"city":"Oslo"}}}`, `{"ok":{"content":[{"type":"text","text":"rain"}]}}`))
			},
			says: []string{"testdata/in.json", "the answer is not what testdata/out.json holds", "ok.content[0].text", `"sunny"`, `"rain"`, "Correct the plugin, or record the golden anew"},
			why:  "The plugin does something else than when the golden was written.",
			fix:  "Correct the plugin; if the change is meant, `plinth plugin test --update` writes the new answer.",
		},
		{
			name: "Operations in another order than recorded",
			make: func(a *author) string {
				guest := bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", `{"path":"b.txt"}`, `{"ok":{"structured":`, `}}`)
				return a.test(recorded(guest, `{"body":{"tool":"weather"},"operations":[`+operation("fs.stat", "b.txt")+","+operation("fs.read", "b.txt")+`]}`,
					`{"ok":{"structured":{"ok":{}}}}`))
			},
			says: []string{"testdata/in.json", "the plugin makes other operations than recorded", "operations[0]", "fs.read", "fs.stat", "record the golden anew"},
			why:  "A golden holds all operations of a call, in order, each with its very request.",
			fix:  "Record them in the order in which the plugin asks. If that order changes by itself, as over a Go map, sort in the plugin.",
		},
		{
			name: "An answer that differs by itself",
			make: func(a *author) string {
				guest := bridgetest.New().AnswersThen(abi.ExportTool, `{"ok":{"title":"4711"}}`, `{"ok":{"title":"4712"}}`)
				set := recorded(guest, `{"body":{"tool":"weather"}}`, `{"ok":{"title":"4711"}}`)
				set["plugin.toml"] += "[isolation]\nmode = \"sticky\"\n"
				return a.test(set)
			},
			says: []string{"testdata/in.json", "a second call on the same instance does not repeat the first", "ok.title", "Correct the plugin"},
			why:  "The answer has a random number or the time in it, or depends on what an earlier call of a sticky instance left.",
			fix:  "Take the time from the call, keep what is random out of the answer, and reset what a call must not leave.",
		},
		{
			name: "A golden without its file",
			make: func(a *author) string {
				return a.pack(weather.with(files{"plugin.toml": weather["plugin.toml"] + golden, "testdata/in.json": `{"body":{"tool":"weather"}}`}))
			},
			says: []string{"weather/testdata/out.json", "no such file", "plinth plugin test --update"},
			why:  "`[[golden]]` names two files; the output is not written yet.",
			fix:  "Have `plinth plugin test --update` write it, and read what it wrote.",
		},
	}
}

func adding() []mistake {
	reading := func() *bridgetest.Guest {
		return bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", `{"path":"a.txt"}`, "", "") // it answers what the host answers
	}
	return []mistake{
		{
			name: "A name that another plugin has",
			make: func(a *author) string {
				h := a.host(nil)
				h.serve("other", weather.with(files{"plugin.toml": strings.Replace(weather["plugin.toml"], "acme/weather", "acme/other", 1)}), true)
				return a.told(h.offer("weather", weather, true))
			},
			says: []string{"acme/weather", `"weather"`, "acme/other", "rename"},
			why:  "The names of tools are the model's, and there is one of each in a session.",
			fix:  "Give the tool a name of its own, or remove or disable the other plugin.",
		},
		{
			name: "Settings that do not fit",
			make: func(a *author) string {
				h := a.host(map[string]plugin.Settings{"acme/weather": {Config: map[string]any{"units": "kelvin", "city": 7}}})
				config := "[config]\nschema = '{\"type\":\"object\",\"properties\":{\"units\":{\"enum\":[\"metric\",\"imperial\"]}},\"additionalProperties\":false}'\n"
				return a.told(h.offer("weather", weather.with(files{"plugin.toml": weather["plugin.toml"] + config}), true))
			},
			says: []string{"acme/weather", `plugins."acme/weather".config does not fit the plugin's schema`, "/units: value must be one of", "'city' not allowed"},
			why:  "What stands in `config.toml` under `[plugins.\"acme/weather\"] config` is held to the schema of the plugin's `[config]`.",
			fix:  "Correct the settings, or the schema.",
		},
		{
			name: "A request that was forgotten",
			make: func(a *author) string {
				return a.call(weather.with(files{"weather.wasm": string(reading().Bytes())}), `{"city":"Oslo"}`)
			},
			says: []string{`no grant for the root "location"`, "its manifest must ask for it with [[request.fs]]"},
			why:  "A plugin reaches nothing that its manifest does not ask for.",
			fix:  "Add the table that is named, with a `reason`, and add the plugin again.",
		},
		{
			name: "A request that was not granted",
			make: func(a *author) string {
				h := a.host(nil)
				asks := "[[request.fs]]\nroot = \"location\"\naccess = \"read\"\nreason = \"reads a.txt\"\n"
				h.serve("weather", weather.with(files{"weather.wasm": string(reading().Bytes()), "plugin.toml": weather["plugin.toml"] + asks}), false)
				return h.call("weather", `{"city":"Oslo"}`)
			},
			says: []string{"fs:location:read", "plinth plugin approve acme/weather", "--grant fs:location:read"},
			why:  "The manifest asks for it, and the operator did not grant it.",
			fix:  "Run the command of the message. While you write one, `plinth serve --dev` grants what lies in its `folders` all it asks for.",
		},
	}
}

func running() []mistake {
	calling := func(guest *bridgetest.Guest, tables string) func(*author) string {
		return func(a *author) string {
			set := weather.with(files{"weather.wasm": string(guest.Bytes())})
			set["plugin.toml"] += tables
			return a.call(set, `{"city":"Oslo"}`)
		}
	}
	raw := func(build func(m *w.Module), tables string) func(*author) string {
		return func(a *author) string {
			m := new(w.Module)
			build(m)
			return a.call(weather.with(files{"weather.wasm": string(m.Bytes()), "plugin.toml": weather["plugin.toml"] + tables}), `{"city":"Oslo"}`)
		}
	}
	shell := func(m *w.Module) {
		m.Memory(1, 0)
		m.Func(abi.ExportMarker, nil, nil, nil)
		m.Func(abi.ExportAlloc, w.Types(w.I32), w.Types(w.I32), nil, w.Const(w.Room))
	}
	timeout := files{"plugin.toml": strings.Replace(weather["plugin.toml"], "permission =", "timeout_ms = 50\npermission =", 1)}
	return []mistake{
		{
			name: "A panic",
			make: raw(func(m *w.Module) {
				write := m.Import("wasi_snapshot_preview1", "fd_write", w.Types(w.I32, w.I32, w.I32, w.I32), w.Types(w.I32))
				shell(m)
				const said = "panic: runtime error: index out of range\n"
				m.Data(64, said)
				m.Entry(abi.ExportTool, w.Const(16), w.Const(64), w.Store, w.Const(20), w.Const(int32(len(said))), w.Store,
					w.Const(2), w.Const(16), w.Const(1), w.Const(32), w.Call(write), w.Drop, w.Unreachable)
			}, ""),
			says: []string{"The tool weather broke and gave no answer", "the host's log has the reason", "panic: runtime error: index out of range", "trap in plinth_tool_execute: unreachable"},
			why:  "The code panicked, or aborted. What it printed on the way stands in the host's log in front of the error.",
			fix:  "Correct what the panic names. Return an error where something can fail: the model reads it, and may do better.",
		},
		{
			name: "An answer that is no JSON",
			make: calling(bridgetest.New().Answers(abi.ExportTool, `{"ok": {"content": [}}`), ""),
			says: []string{"The tool weather broke and gave no answer", "the answer of plinth_tool_execute cannot be read", "invalid character", `{"ok": …} or {"error": …}`},
			why:  "JSON was put together by hand, or cut.",
			fix:  "Let the SDK write the answer.",
		},
		{
			name: "An answer without its frame",
			make: calling(bridgetest.New().AnswersBytes(abi.ExportTool, []byte(`{"ok":{}}`)), ""),
			says: []string{"The tool weather broke and gave no answer", "the answer of plinth_tool_execute cannot be read", "malformed message", "4 bytes with the length of its JSON"},
			why:  "The entry answers bare JSON. Every message begins with the length of its JSON.",
			fix:  "Put the length in front: 4 bytes, little-endian. An SDK does.",
		},
		{
			name: "An answer outside of the memory",
			make: raw(func(m *w.Module) {
				shell(m)
				m.Entry(abi.ExportTool, w.Answer(w.Const(65536-4), w.Const(8)))
			}, ""),
			says: []string{"The tool weather broke and gave no answer", "outside of", "pointer in its high half"},
			why:  "The entry answers the pointer and the length the wrong way round, or of a buffer that is gone.",
			fix:  "Answer `ptr << 32 | length`, of bytes that live until the next call.",
		},
		{
			name: "An output that does not fit its schema",
			make: func(a *author) string {
				set := weather.with(files{"weather.wasm": string(bridgetest.New().Answers(abi.ExportTool, `{"ok":{"structured":{"degrees":"7"}}}`).Bytes())})
				set["plugin.toml"] = strings.Replace(set["plugin.toml"], "permission =", "output = '{\"type\":\"object\",\"properties\":{\"degrees\":{\"type\":\"number\"}}}'\npermission =", 1)
				return a.call(set, `{"city":"Oslo"}`)
			},
			says: []string{"invalid value for its output schema", "degrees"},
			why:  "The manifest's `output` is a promise, and each call is held to it.",
			fix:  "Correct the field that is named, in the plugin or in the schema.",
		},
		{
			name: "An input schema with a field that the type lacks",
			make: func(a *author) string {
				module, err := os.ReadFile(filepath.Join(root, "plugins", "builtin", "dist", "files.wasm"))
				if err != nil {
					a.Fatal(err)
				}
				h := a.host(nil)
				h.serve("weather", files{"weather.wasm": string(module), "plugin.toml": strings.Replace(weather["plugin.toml"], `name = "weather"`, `name = "read"`, 1),
					"weather.schema.json": `{"type":"object","properties":{"path":{"type":"string"},"colour":{"type":"string"}}}`}, true)
				return h.call("read", `{"path":"a.txt","colour":"red"}`)
			},
			says: []string{"the input of read", `unknown field "colour"`},
			why:  "The schema allows a field that the type of the plugin does not have. The SDKs refuse what they would lose.",
			fix:  "Make the schema from the type (`plinthtest.Schemas`, `plinth::test::schema_matches`), which says `additionalProperties: false`.",
		},
		{
			name: "A log in a loop",
			make: raw(func(m *w.Module) {
				write := m.Import("wasi_snapshot_preview1", "fd_write", w.Types(w.I32, w.I32, w.I32, w.I32), w.Types(w.I32))
				shell(m)
				const line = "still at it\n"
				answer := string(bridgetest.Message(`{"ok":{"content":[{"type":"text","text":"done"}]}}`))
				m.Data(64, line)
				m.Data(256, answer)
				m.Entry(abi.ExportTool, w.Const(16), w.Const(64), w.Store, w.Const(20), w.Const(int32(len(line))), w.Store,
					w.Const(200), w.Set(2), w.Loop,
					w.Const(2), w.Const(16), w.Const(1), w.Const(32), w.Call(write), w.Drop,
					w.Get(2), w.Const(1), w.Sub, w.Tee(2), w.BrIf(0), w.End,
					w.Answer(w.Const(256), w.Const(int32(len(answer)))))
			}, "[limits]\nlog_kib = 1\n"),
			says: []string{"still at it", "the log is cut off here", "1024 bytes", "log less", "log_kib of [limits]"},
			why:  "A call may log 64 KiB. What comes behind is lost; the call goes on.",
			fix:  "Log outside of the loop, or once for many rounds.",
		},
		{
			name: "A loop that never ends",
			make: func(a *author) string {
				return a.call(weather.with(timeout).with(files{"weather.wasm": string(bridgetest.New().Loops(abi.ExportTool).Bytes())}), `{"city":"Oslo"}`)
			},
			says: []string{"The tool weather did not answer within 50ms", "tool weather", "deadline passed", "raise timeout_ms of its [[tool]]"},
			why:  "A tool has 10 s, or what its `timeout_ms` says. Waiting for a person does not count; waiting for a server does.",
			fix:  "End the loop. If the work takes so long, raise `timeout_ms`, and tell of it with `progress`.",
		},
		{
			name: "A start that takes too long",
			make: func(a *author) string {
				return a.add(weather.with(files{"weather.wasm": string(sunny().Loops(abi.ExportInit).Bytes()),
					"plugin.toml": weather["plugin.toml"] + "[limits]\nstart_ms = 50\n"}))
			},
			says: []string{"acme/weather", "an instance does not start within 50ms", "start_ms of [limits]"},
			why:  "What runs before the first call, `plinth_init` included, has 2 s.",
			fix:  "Build large tables when they are first needed, or before, into the source.",
		},
		{
			name: "Too much memory",
			make: raw(func(m *w.Module) {
				shell(m)
				// It takes a page after the other and aborts when there is none, as allocators do.
				m.Entry(abi.ExportTool, w.Loop, w.Const(1), w.Grow, w.Const(-1), w.Eq, w.If, w.Unreachable, w.End, w.Br(0), w.End, w.Const64(0))
			}, "[limits]\nmemory_mib = 2\n"),
			says: []string{"The tool weather broke and gave no answer", "trap in plinth_tool_execute: unreachable", "its memory has 2 MiB, the limit is 2", "memory_mib of [limits]"},
			why:  "The allocator got no more memory, and the language aborts then. The host only sees the abort, and how large the memory is.",
			fix:  "Work in pieces (`fs.read` takes a range), or raise `memory_mib`.",
		},
		{
			name: "A stack overflow",
			make: raw(func(m *w.Module) {
				shell(m)
				self := m.Next()
				m.Func("", w.Types(w.I32), w.Types(w.I32), nil, w.Get(0), w.Call(self), w.Get(0), w.Add)
				m.Entry(abi.ExportTool, w.Const(1), w.Call(self), w.Drop, w.Const64(0))
			}, ""),
			says: []string{"The tool weather broke and gave no answer", "bytes of stack", "the limit is 1048576", "stack_kib of [limits]"},
			why:  "A recursion does not end, or goes deeper than 1 MiB of stack takes it.",
			fix:  "End the recursion, or raise `stack_kib`.",
		},
		{
			name: "An answer that is too large",
			make: raw(func(m *w.Module) {
				shell(m)
				m.Memory(64, 0)
				m.Entry(abi.ExportTool, w.Answer(w.Const(0), w.Const(2<<20)))
			}, "[limits]\noutput_kib = 1024\n"),
			says: []string{"The tool weather broke and gave no answer", "it claims 2097152 bytes, the limit is 1048576", "output_kib of [limits]"},
			why:  "An answer may have 16 MiB, or what `output_kib` says. The model reads far less.",
			fix:  "Answer in pages, or give files by `fs.attach`.",
		},
		{
			name: "Too many operations",
			make: calling(bridgetest.NewAsking().AsksOften(abi.ExportTool, 6, "log", `{"level":"info","message":"x"}`, "", ""), "[limits]\noperations = 5\n"),
			says: []string{"operations in one call: 6, the limit is 5", "raise operations of [limits]", "this one and further ones are refused"},
			why:  "A call may make 1,000 operations, and a line that is logged is one. One per file of a large tree is more.",
			fix:  "Use `fs.glob`, `fs.grep` and `batch`, log less, or raise `operations`.",
		},
	}
}

// header is that of a core module.
const header = "\x00asm\x01\x00\x00\x00"

// weather is a plugin without a mistake.
var weather = files{
	"plugin.toml": manifest("[[tool]]\nname = \"weather\"\ndescription = \"Tells the weather of a city\"\ninput = \"weather.schema.json\"\n" +
		"permission = \"by-operation\"\n"),
	"weather.schema.json": `{"type":"object","properties":{"city":{"type":"string"}},"additionalProperties":false}`,
	"weather.wasm":        string(sunny().Bytes()),
}

func manifest(tables string) string {
	return "schema = 1\nid = \"acme/weather\"\nversion = \"1.0.0\"\ndescription = \"Tells the weather\"\n" + tables
}

// sunny is a module whose tool answers.
func sunny() *bridgetest.Guest {
	return bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"sunny"}]}}`)
}

// foreign is a module of this and nothing else.
func foreign(build func(m *w.Module)) string {
	m := new(w.Module)
	build(m)
	return string(m.Bytes())
}

// core gives a module what a plugin with a tool must have.
func core(m *w.Module) {
	m.Memory(1, 0)
	m.Func(abi.ExportMarker, nil, nil, nil)
	m.Func(abi.ExportAlloc, w.Types(w.I32), w.Types(w.I32), nil, w.Const(w.Room))
	m.Entry(abi.ExportTool, w.Const64(0))
}

// built is the weather with a module that has imports besides.
func built(imports func(m *w.Module)) files {
	return weather.with(files{"weather.wasm": foreign(func(m *w.Module) { imports(m); core(m) })})
}
