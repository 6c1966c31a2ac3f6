package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

const root = "../.."

// host is the main module, loaded once for all tests.
var host = sync.OnceValues(func() (Graph, error) {
	return Load(root, nil, "./...")
})

// guests is what is built for the sandbox, as the sandbox's compiler sees it.
var guests = sync.OnceValues(func() (Graph, error) {
	return Load(root, wasip1, Module+"/sdk-plugins/...", Module+"/plugins/...")
})

var wasip1 = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}

func load(t *testing.T, graph func() (Graph, error)) Graph {
	t.Helper()
	loaded, err := graph()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, sentence := range found {
		t.Error(sentence)
	}
}

func TestLayers(t *testing.T) { report(t, CheckLayers(load(t, host))) }

func TestLibraries(t *testing.T) { report(t, CheckLibraries(load(t, host))) }

func TestTestPackages(t *testing.T) { report(t, CheckTestPackages(load(t, host))) }

func TestNames(t *testing.T) {
	all := load(t, host)
	for path, p := range load(t, guests) {
		if _, ok := all[path]; !ok {
			all[path] = p
		}
	}
	report(t, CheckNames(all))
}

func TestGuests(t *testing.T) {
	graph := load(t, guests)
	if len(graph) == 0 {
		t.Fatal("go.work ties in no guest, so none was checked")
	}
	report(t, CheckLayers(graph))
}

func TestState(t *testing.T) {
	arguments := []string{"-export"}
	for path, p := range ours(load(t, host)) {
		if holdsNoState(path) {
			arguments = append(arguments, p.ImportPath)
		}
	}
	compiled, err := Load(root, nil, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := CheckState(compiled)
	if err != nil {
		t.Fatal(err)
	}
	report(t, found)
}

func TestContractBuildsForTheSandbox(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "build", "./abi/v1")
	command.Dir = root
	command.Env = append(os.Environ(), wasip1...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestLinterNames holds the linter's copy of the rules to the packages that
// exist, so that a rename cannot switch a rule off there either.
func TestLinterNames(t *testing.T) {
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?:\*\*/|plinthhost/plinth/)([a-z][a-z0-9/-]*[a-z0-9])`).FindAllSubmatch(config, -1)
	if len(named) == 0 {
		t.Fatal("no package is named in .golangci.yml")
	}
	for _, match := range named {
		if _, err := os.Stat(filepath.Join(root, string(match[1]))); err != nil {
			t.Errorf(".golangci.yml names %s, which does not exist; remove or rename it there and in tests/arch", match[1])
		}
	}
}
