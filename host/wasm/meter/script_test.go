package meter_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The specification's test scripts in the form of wast2json, compiled, as the
// archive of the wazero module carries them.

// script is one file of commands.
type script struct {
	Source   string    `json:"source_filename"`
	Commands []command `json:"commands"`

	folder string
}

// command is one step. Type says which of the fields count.
type command struct {
	Type       string   `json:"type"`
	Line       int      `json:"line"`
	Name       string   `json:"name"`        // module
	Filename   string   `json:"filename"`    // module and the asserts about modules
	As         string   `json:"as"`          // register
	Action     action   `json:"action"`      // action, assert_return, assert_trap, assert_exhaustion
	Expected   []expect `json:"expected"`    // assert_return
	ModuleType string   `json:"module_type"` // "text" is not for us
	Text       string   `json:"text"`        // what the failure is called
}

type action struct {
	Type   string   `json:"type"` // invoke or get
	Module string   `json:"module"`
	Field  string   `json:"field"`
	Args   []expect `json:"args"`
}

// expect is a value, or a pattern of values. Value is a decimal text, "null", a
// kind of NaN, a list of lanes, or absent for any reference.
type expect struct {
	Type     string `json:"type"`
	LaneType string `json:"lane_type"`
	Value    any    `json:"value"`
}

// scripts answers the folder of the scripts and their files.
func scripts(t testing.TB) (spectest string, files []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("find the wazero module: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	files, err = filepath.Glob(filepath.Join(root, "v2", "testdata", "*.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d scripts in %s, %v", len(files), root, err)
	}
	return filepath.Join(root, "testdata", "spectest.wasm"), files
}

func readScript(t testing.TB, file string) script {
	t.Helper()
	s := script{folder: filepath.Dir(file)}
	if err := json.Unmarshal(readFile(t, file), &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// lanes says how a value is laid out: lanes and the bits of each.
func (e expect) lanes() (n, bits int) {
	switch e.Type {
	case "i32", "f32":
		return 1, 32
	case "v128":
	default:
		return 1, 64
	}
	switch e.LaneType {
	case "i8":
		return 16, 8
	case "i16":
		return 8, 16
	case "i32", "f32":
		return 4, 32
	}
	return 2, 64
}

// texts are the lanes of the value.
func (e expect) texts() []string {
	list, ok := e.Value.([]any)
	if !ok {
		return []string{e.Value.(string)}
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].(string)
	}
	return texts
}

// words is the value as wazero takes it. An external reference is the text's
// number plus one, since 0 is null.
func (e expect) words(t testing.TB) []uint64 {
	t.Helper()
	if e.Value == "null" {
		return []uint64{0}
	}
	n, bits := e.lanes()
	words := make([]uint64, (n*bits+63)/64)
	for i, text := range e.texts() {
		value, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			signed, err := strconv.ParseInt(text, 10, bits)
			if err != nil {
				t.Fatalf("value %q: %v", text, err)
			}
			value = uint64(signed) & (1<<bits - 1)
		}
		if e.Type == "externref" {
			value++
		}
		words[i*bits/64] |= value << (i * bits % 64)
	}
	return words
}

// width is how many words the value takes.
func (e expect) width() int {
	if e.Type == "v128" {
		return 2
	}
	return 1
}

// matches says whether the words are what is expected.
func (e expect) matches(t testing.TB, words []uint64) bool {
	t.Helper()
	if e.Value == nil {
		return true
	}
	if e.Value == "null" {
		return words[0] == 0
	}
	_, bits := e.lanes()
	for i, text := range e.texts() {
		lane := words[i*bits/64] >> (i * bits % 64)
		if bits < 64 {
			lane &= 1<<bits - 1
		}
		if strings.HasPrefix(text, "nan:") {
			if !isNaN(text, lane, bits) {
				return false
			}
			continue
		}
		one := expect{Type: e.Type, Value: text}
		if e.Type == "v128" {
			one = expect{Type: "i" + strconv.Itoa(bits), Value: text}
		}
		if want := one.words(t)[0]; lane != want {
			return false
		}
	}
	return true
}

// isNaN says whether the bits are a canonical NaN, or for nan:arithmetic any
// quiet one.
func isNaN(kind string, lane uint64, bits int) bool {
	canonical, sign := uint64(math.Float64bits(math.Inf(1))|1<<51), uint64(1)<<63
	if bits == 32 {
		canonical, sign = uint64(math.Float32bits(float32(math.Inf(1)))|1<<22), 1<<31
	}
	if kind == "nan:canonical" {
		return lane&^sign == canonical
	}
	return lane&canonical == canonical
}
