package arch

import (
	"slices"
	"strings"
	"testing"
)

// made builds a graph from lines "IMPORTER IMPORTED…". Paths with a leading
// slash are ours. Dependencies are those of one step.
func made(lines ...string) Graph {
	graph := Graph{}
	full := func(path string) string {
		if strings.HasPrefix(path, "/") {
			return Module + path
		}
		return path
	}
	node := func(path string) *Package {
		if graph[path] == nil {
			graph[path] = &Package{ImportPath: path, Standard: !strings.Contains(path, ".")}
		}
		return graph[path]
	}
	for _, line := range lines {
		paths := strings.Fields(line)
		p := node(full(paths[0]))
		for _, imported := range paths[1:] {
			node(full(imported))
			p.Imports = append(p.Imports, full(imported))
			p.Deps = append(p.Deps, full(imported))
		}
	}
	return graph
}

func TestEachRuleBites(t *testing.T) {
	tests := []struct {
		name  string
		check func(Graph) []string
		graph Graph
		want  string // part of the only violation; empty: none
	}{
		{"lower line", CheckLayers, made("/session /store /registry", "/session/runner /session /registry fmt"), ""},
		{"higher line", CheckLayers, made("/session /session/runner"), "session (domain) imports session/runner (run)"},
		{"same line", CheckLayers, made("/host/egress /host/fsys"), "host/egress (services) imports host/fsys (services)"},
		{"not in the table", CheckLayers, made("/host/novelty fmt"), "host/novelty stands in no layer"},
		{"kernel knows the contract through another", CheckLayers, Graph{
			Module + "/session": {ImportPath: Module + "/session", Deps: []string{Module + "/abi/v1"}},
		}, "session depends on abi/v1; the kernel must not know"},
		{"kernel uses HTTP through another", CheckLayers, Graph{
			Module + "/store": {ImportPath: Module + "/store", Deps: []string{"net/http"}},
		}, "store depends on net/http; the kernel uses no HTTP library"},
		{"kernel uses Wasm", CheckLayers, made("/session/epoch github.com/tetratelabs/wazero/api"), "session/epoch depends on github.com/tetratelabs/wazero/api"},
		{"kernel uses WebSocket", CheckLayers, made("/session github.com/gorilla/websocket"), "session depends on github.com/gorilla/websocket"},
		{"bridge sees both", CheckLayers, made("/host/bridge /abi/v1 /session"), ""},
		{"another sees the contract", CheckLayers, made("/host/server /abi/v1"), "host/server imports abi/v1, which only"},
		{"the wiring is imported", CheckLayers, made("/tests/e2e /cmd/host", "/host/bridge /cmd/host/config"), "cmd/host/config"},
		{"the kernel uses a view", CheckLayers, made("/session/runner /session/view"), "session/runner imports session/view, which only"},
		{"a service uses the client's types", CheckLayers, made("/host/egress /client/protocol"), "host/egress imports client/protocol, which only client, host/server, cmd/host may import"},
		{"a leaf of the standard library", CheckLayers, made("/abi/v1 encoding/json"), ""},
		{"a leaf with a library", CheckLayers, made("/abi/v1 example.com/json"), "abi/v1 imports example.com/json, but must stand alone"},
		{"the registry with a library", CheckLayers, made("/registry golang.org/x/sync"), "registry imports golang.org/x/sync, but must stand alone"},
		{"a leaf that uses libraries", CheckLayers, made("/host/wasm github.com/tetratelabs/wazero"), ""},
		{"the engine with the contract", CheckLayers, made("/host/wasm /client/protocol"), "host/wasm imports client/protocol"},
		{"guest with the contract", CheckLayers, made("/plugins/examples/x /sdk-plugins/go /abi/v1", "/sdk-plugins/go /abi/v1"), ""},
		{"guest with the host", CheckLayers, made("/plugins/examples/x /session"), "the guest plugins/examples/x imports session"},
		{"builtin package is no guest", CheckLayers, made("/cmd/host /plugins/builtin", "/plugins/builtin embed"), ""},

		{"library at home", CheckLibraries, made("/host/server github.com/gorilla/websocket github.com/danielgtaylor/huma/v2"), ""},
		{"wazero elsewhere", CheckLibraries, made("/host/bridge github.com/tetratelabs/wazero"), "host/bridge imports github.com/tetratelabs/wazero"},
		{"extism elsewhere", CheckLibraries, made("/host/bridge github.com/extism/go-sdk"), "host/bridge imports github.com/extism/go-sdk"},
		{"the driver elsewhere", CheckLibraries, made("/store/sqllog github.com/mattn/go-sqlite3"), "only store/sqlite may import"},
		{"huma elsewhere", CheckLibraries, made("/client github.com/danielgtaylor/huma/v2/sse"), "only host/server may import"},
		{"another logger", CheckLibraries, made("/store/sqlite log"), "store/sqlite imports log, which no package may import"},
		{"a name that begins alike", CheckLibraries, made("/store/sqlite github.com/mattn/go-sqlite3-extra log/syslog"), ""},
		{"library in a test", CheckLibraries, Graph{
			Module + "/session": {ImportPath: Module + "/session", XTestImports: []string{"github.com/mattn/go-sqlite3"}},
		}, "session imports github.com/mattn/go-sqlite3"},
		{"another logger in a test", CheckLibraries, Graph{
			Module + "/session": {ImportPath: Module + "/session", TestImports: []string{"log"}, XTestImports: []string{"log"}},
		}, ""},
		{"guests have their own", CheckLibraries, made("/plugins/builtin/x log"), ""},

		{"test package in a program", CheckTestPackages, made("/store/sqlite /store/storetest"), "store/sqlite imports store/storetest outside its tests"},
		{"folder tests in a program", CheckTestPackages, made("/cmd/host /tests/chat"), "cmd/host imports tests/chat outside its tests"},
		{"test package in a test package", CheckTestPackages, made("/store/storetest /session/sessiontest"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := test.check(test.graph)
			switch {
			case test.want == "" && len(found) > 0:
				t.Errorf("unexpected: %q", found)
			case test.want != "" && !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, test.want) }):
				t.Errorf("got %q, want one with %q", found, test.want)
			}
		})
	}
}

// allNamed is a graph in which every package that a rule names exists.
func allNamed() Graph {
	graph := Graph{}
	add := func(paths ...string) {
		for _, path := range paths {
			graph[Module+"/"+path] = &Package{ImportPath: Module + "/" + path}
		}
	}
	for _, layer := range Layers() {
		add(layer.Packages...)
	}
	for _, seal := range Seals() {
		add(seal.Importers...)
	}
	return graph
}

func TestStaleNameIsReported(t *testing.T) {
	graph := allNamed()
	if found := CheckNames(graph); len(found) > 0 {
		t.Fatalf("unexpected: %q", found)
	}
	delete(graph, Module+"/store/sqllog")
	found := CheckNames(graph)
	if len(found) != 1 || !strings.Contains(found[0], "store/sqllog (layer disk) does not exist") {
		t.Errorf("got %q", found)
	}
	graph = allNamed()
	for path := range graph {
		if strings.HasPrefix(path, Module+"/sdk-plugins") {
			delete(graph, path)
		}
	}
	found = CheckNames(graph)
	if len(found) != 1 || !strings.Contains(found[0], "sdk-plugins (importer of abi) does not exist") {
		t.Errorf("got %q", found)
	}
}

func TestTableNamesEachPackageOnce(t *testing.T) {
	seen := map[string]string{}
	for _, layer := range Layers() {
		for _, path := range layer.Packages {
			if before, ok := seen[path]; ok {
				t.Errorf("%s stands in %s and in %s", path, before, layer.Name)
			}
			seen[path] = layer.Name
		}
	}
}

func TestListingABrokenPackageFails(t *testing.T) {
	if _, err := Load(t.TempDir(), nil, "./none"); err == nil || !strings.Contains(err.Error(), "list packages in") {
		t.Errorf("got %v", err)
	}
}
