package arch

import (
	"fmt"
	"slices"
	"strings"
)

// A Library is a module that only some packages may import.
type Library struct {
	Path      string // with all below it
	Importers []string
	Reason    string
}

// Libraries lists what must be replaceable in one place.
func Libraries() []Library {
	return []Library{
		{"github.com/tetratelabs/wazero", []string{"host/wasm", "host/wasm/memory", "host/wasm/meter", "host/wasm/binary", "host/extism"}, "the engine is one folder: its allocator, and tests of its parts; the SDK is built on the same runtime"},
		{"github.com/extism", []string{"host/extism"}, "the SDK is run by one package"},
		{"github.com/mattn/go-sqlite3", []string{"store/sqlite"}, "the driver is one package"},
		{"github.com/danielgtaylor/huma", []string{"host/server"}, "the HTTP framework stays at the edge"},
		{"github.com/gorilla/websocket", []string{"host/server", "client", "docs/examples/follow"}, "both ends of the live stream and the example of one, and nobody else"},
		{"github.com/santhosh-tekuri/jsonschema", []string{"session/schema"}, "what does not fit a schema is worded in one place, and no schema reads anything outside itself"},
		{"github.com/fsnotify/fsnotify", []string{"host/watch"}, "what the system says of files is a hint, which one package knows how to take"},
		{"log/slog", nil, "logging is hclog, handed down"},
		{"log", nil, "logging is hclog, handed down"},
	}
}

// foreignToKernel names the sort of a library that the kernel must not depend
// on, even through others.
func foreignToKernel(importPath string) (string, bool) {
	for _, forbidden := range [][2]string{
		{"github.com/tetratelabs/wazero", "Wasm"},
		{"github.com/extism", "Wasm"},
		{"net/http", "HTTP"},
		{"github.com/danielgtaylor/huma", "HTTP"},
		{"github.com/gorilla/websocket", "WebSocket"},
	} {
		if under(importPath, forbidden[0]) {
			return forbidden[1], true
		}
	}
	return "", false
}

// CheckLibraries reports every import of a library by a package that may not
// have it. Tests may use all of the standard library.
func CheckLibraries(graph Graph) []string {
	var found []string
	for path, p := range ours(graph) {
		if guest(path) || under(path, "tests") {
			continue
		}
		for _, library := range Libraries() {
			if slices.Contains(library.Importers, path) {
				continue
			}
			for _, imported := range p.uses(library) {
				found = append(found, fmt.Sprintf("%s imports %s, which %s may import: %s", path, imported, only(library.Importers), library.Reason))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// uses lists the package's imports of the library. One of the standard library
// is a single package and is looked for outside tests.
func (p *Package) uses(library Library) []string {
	if !strings.Contains(library.Path, ".") {
		if slices.Contains(p.Imports, library.Path) {
			return []string{library.Path}
		}
		return nil
	}
	var found []string
	for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if under(imported, library.Path) {
			found = append(found, imported)
		}
	}
	return found
}

func only(importers []string) string {
	if len(importers) == 0 {
		return "no package"
	}
	return "only " + strings.Join(importers, " and ")
}
