package wasm

import "strings"

// origin is a toolchain whose modules lean on a host of another kind.
type origin struct {
	from string // what the module is
	fix  string
}

// originOf tells by an import what a module was built for; ok is false for anything that
// may be meant for this host.
func originOf(entry Import) (found origin, ok bool) {
	module, name := entry.Module, entry.Name
	switch {
	case strings.HasPrefix(module, "__wbindgen") || module == "wbg" || strings.HasSuffix(module, "_bg.js"):
		return origin{"it is built for a browser with wasm-bindgen",
			"find what brings it with cargo tree -i wasm-bindgen and take out that feature (js, wasmbind), or build for wasm32-wasip1"}, true
	case module == "gojs" || module == "go" && strings.HasPrefix(name, "runtime."):
		return origin{"it is built with GOOS=js, for a page",
			"build it with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared, or tinygo build -target=wasip1 -buildmode=c-shared"}, true
	case strings.HasPrefix(module, "wasi:"):
		return origin{"it is built for WASI 0.2, which is for components", "build it for wasip1"}, true
	case module == "wasi_unstable":
		return origin{"it is built for a WASI before preview 1", "build it with a current compiler for wasip1"}, true
	case module == "env" && (strings.Contains(name, "emscripten") || strings.HasPrefix(name, "__syscall") || strings.HasPrefix(name, "invoke_")):
		return origin{"it is built by Emscripten, for the JavaScript beside it",
			"build it with wasi-sdk: clang --target=wasm32-wasip1 -mexec-model=reactor"}, true
	}
	return origin{}, false
}

// checkOrigin refuses a module that is built for another host, before what it does not
// export is held against it.
func checkOrigin(info Info) error {
	for _, entry := range info.Imports {
		found, ok := originOf(entry)
		if !ok {
			continue
		}
		return &AdmissionError{
			Stage: StageImports, Offset: entry.Offset,
			Reason: "it imports " + clean(entry.Module+"."+entry.Name, maxLine) + ": " + found.from, Fix: found.fix,
		}
	}
	return nil
}

// fixEnv says what to do about a function of env that nobody provides.
func fixEnv(name string) string {
	if name == "abort" {
		return "AssemblyScript asks for it: say --use abort= with a function of your own, as the Extism PDK has one"
	}
	return "link the missing symbol in, and build for wasip1"
}
