package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// Figures of a guest end with the name of the toolchain that built it.
const (
	byGo     = "go"
	byTinyGo = "tinygo"
)

const guestPackage = "github.com/plinthhost/plinth/tests/bench/engine/testdata/guest"

// guest is a module of the package guest.
type guest struct {
	toolchain string
	wasm      []byte
}

// spec is how an engine loads the guest.
func (g guest) spec(isolation wasm.Isolation) wasm.Spec {
	return wasm.Spec{
		Name: g.toolchain, Wasm: g.wasm, Entries: []string{"noop", "echo", "document"},
		Isolation: isolation, Builtin: true, Limits: wasm.Limits{MemoryMiB: 64},
	}
}

// buildGuests builds the package with every toolchain there is, once.
func (b *bench) buildGuests() error {
	if len(b.guests) > 0 {
		return nil
	}
	file := filepath.Join(b.folder, "guest.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, guestPackage)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if err := b.build(byGo, build, file); err != nil {
		return err
	}
	program := os.Getenv("TINYGO")
	if program == "" {
		program = "tinygo"
	}
	if _, err := exec.LookPath(program); err != nil {
		note("no TinyGo, %q is not on PATH: install TinyGo 0.41.0 or set TINYGO to its program", program)
		return nil
	}
	return b.build(byTinyGo, exec.Command(program, "build", "-target=wasip1", "-buildmode=c-shared", "-no-debug", "-opt=2", "-o", file, guestPackage), file)
}

func (b *bench) build(toolchain string, command *exec.Cmd, file string) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the guest with %s: %w\n%s", toolchain, err, out)
	}
	module, err := os.ReadFile(file)
	b.guests = append(b.guests, guest{toolchain, module})
	return err
}

// lacks notes figures of a TinyGo guest that cannot be measured.
func (b *bench) lacks(figures ...string) {
	if len(b.guests) == 1 {
		b.missing = append(b.missing, figures...)
	}
}

// document is JSON for the entry of that name, a little over 250 KB: messages with
// a text of about a thousand bytes each, as codecs and tools have them.
func document() []byte {
	type record struct {
		ID     string            `json:"id"`
		Kind   string            `json:"kind"`
		Text   string            `json:"text"`
		Count  int64             `json:"count"`
		Ratio  float64           `json:"ratio"`
		Done   bool              `json:"done"`
		Labels []string          `json:"labels"`
		Extra  map[string]string `json:"extra"`
	}
	prose := strings.Repeat("plain words that somebody wrote, with nothing in them to escape. ", 13)
	var records []record
	for i := 0; ; i++ {
		records = append(records, record{
			ID: fmt.Sprintf("rec_%08x", i*2654435761), Kind: []string{"text", "tool", "note"}[i%3],
			Text:  fmt.Sprintf("line %d of a \"document\" with\tescapes, commas, and some words to read past\n", i) + prose,
			Count: int64(i) * 1001, Ratio: float64(i) / 7, Done: i%2 == 0,
			Labels: []string{"alpha", "beta", fmt.Sprint("label", i%17)},
			Extra:  map[string]string{"path": fmt.Sprintf("/a/b/%d", i), "mode": "rw"},
		})
		if i%10 != 9 {
			continue
		}
		if text, err := json.Marshal(records); err != nil || len(text) >= 250_000 {
			return text
		}
	}
}

// small is a guest of a few instructions: noop answers nothing, echo its input,
// for which it has room of 2 MiB.
func small() []byte {
	m := new(wasmtest.Module).Core()
	m.Memory(33, 0)
	m.Entry("noop", wasmtest.Const64(0))
	m.Entry("echo", wasmtest.Answer(wasmtest.Get(0), wasmtest.Get(1)))
	return m.Bytes()
}

func smallSpec(isolation wasm.Isolation) wasm.Spec {
	return wasm.Spec{Name: "small", Wasm: small(), Entries: []string{"noop", "echo"}, Isolation: isolation, Builtin: true}
}
