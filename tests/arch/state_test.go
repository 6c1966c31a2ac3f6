package arch

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestStateOfVariables judges declarations, one a line, each with what is to be
// said of it; a line without a comment is fine.
func TestStateOfVariables(t *testing.T) {
	const source = `package p

import ("context"; "embed"; "errors"; "io"; "regexp"; "sync"; "sync/atomic"; "time")

var ErrSentinel = errors.New("x")
var errTyped error = &failure{}
var Limit = 3
var text = "x"
var expression = regexp.MustCompile("x")
var table = map[string][]int{"a": {1}}
var functions = map[string]func(){}
var list = [...]string{"a"}
var bytes = []byte("x")
var files embed.FS
var wait = time.Second
var start time.Time
var pair = struct{ a, b int }{}
var _ io.Reader = (*reader)(nil)
var Table = map[string]int{} // is a map that every importer can write
var List = []int{} // is a slice that every importer can write
var Open = struct{ List []int }{} // is a slice that every importer can write
var lock sync.Mutex // holds state (sync.Mutex)
var once = sync.OnceFunc(func() {}) // holds a function
var number atomic.Int64 // holds state (sync/atomic.Int64)
var locks = map[string]sync.Mutex{} // holds state (sync.Mutex)
var ctx context.Context // holds state (context.Context)
var now = time.Now // holds a function
var queue = make(chan int) // holds a channel
var current = &failure{} // points to something that can be written
var all = []*failure{} // points to something that can be written
var port io.Reader // holds an interface
var counter int // counter is written at
var assigned string // assigned is written at
var cache = map[string]int{} // cache is written at
var emptied = map[string]int{} // emptied is written at
var addressed int // addressed is written at
var field struct{ n int } // field is written at
var ranged int // ranged is written at
var method value // method is written at
var read value

type failure struct{ n int }
func (*failure) Error() string { return "" }
type reader struct{}
func (*reader) Read([]byte) (int, error) { return 0, nil }
type value struct{ n int }
func (v *value) set() { v.n = 1 }
func (v value) get() int { return v.n }

func use() int {
	counter++
	assigned = "y"
	cache["a"] = 1
	delete(emptied, "a")
	_ = &addressed
	field.n = 1
	for ranged = range 3 {}
	method.set()
	limit := Limit
	limit++
	shadow := func(text string) { text = "local" }
	shadow(text)
	return read.get() + limit
}
`
	found := surveyed(t, source)
	declared := regexp.MustCompile(`(?m)^var (\w+)[^/\n]*(?:// (.*))?$`).FindAllStringSubmatch(source, -1)
	if len(declared) < 30 {
		t.Fatalf("only %d declarations were read", len(declared))
	}
	for _, match := range declared {
		name, want := match[1], match[2]
		said := mention(found, "package variable "+name+" ")
		if want == "" && said != "" || !strings.Contains(said, want) || want != "" && said == "" {
			t.Errorf("of %s it is said %q, want %q", name, said, want)
		}
	}
	if mention(found, "init function") != "" {
		t.Error("an init function is reported where there is none")
	}
}

func TestInitFunctionIsReported(t *testing.T) {
	found := surveyed(t, "package p\ntype t struct{}\nfunc (t) init() {}\nfunc init() {}\n")
	if len(found) != 1 || !strings.HasPrefix(found[0], "p.go:4:1: init function") {
		t.Errorf("got %q", found)
	}
}

// TestWriteFromAnotherPackageIsReported has one package write another's variable.
func TestWriteFromAnotherPackageIsReported(t *testing.T) {
	s := &survey{fset: token.NewFileSet(), written: map[string]token.Position{}}
	owner := addSource(t, s, "example.com/owner", "package owner\nvar Limit = 1\n", nil)
	addSource(t, s, "example.com/other", "package other\nimport \"example.com/owner\"\nfunc f() { owner.Limit = 2 }\n", owner)
	found := s.report()
	if len(found) != 1 || !strings.Contains(found[0], "Limit is written at") {
		t.Errorf("got %q", found)
	}
}

func surveyed(t *testing.T, source string) []string {
	t.Helper()
	s := &survey{fset: token.NewFileSet(), written: map[string]token.Position{}}
	addSource(t, s, "example.com/p", source, nil)
	return s.report()
}

// addSource adds a package of one file; it may import known and the standard
// library.
func addSource(t *testing.T, s *survey, importPath, source string, known *types.Package) *types.Package {
	t.Helper()
	name := importPath[strings.LastIndex(importPath, "/")+1:] + ".go"
	file, err := parser.ParseFile(s.fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: withKnown{standardLibrary(t, s.fset), known}}
	if err := s.addFiles(importPath, []*ast.File{file}, config); err != nil {
		t.Fatal(err)
	}
	checked, err := config.Check(importPath, s.fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

type withKnown struct {
	types.Importer
	known *types.Package
}

func (w withKnown) Import(path string) (*types.Package, error) {
	if w.known != nil && w.known.Path() == path {
		return w.known, nil
	}
	return w.Importer.Import(path)
}

func mention(found []string, words string) string {
	for _, sentence := range found {
		if strings.Contains(sentence, words) {
			return sentence
		}
	}
	return ""
}

// standardLibrary imports from the sources of Go. A test that is built without paths of the
// machine does not know by itself where they are.
func standardLibrary(t *testing.T, fset *token.FileSet) types.Importer {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(folder))
	return importer.ForCompiler(fset, "source", nil)
}
