package extism

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// plugin answers the module that build made.
func plugin(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile("testdata/" + name + ".wasm.gz")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	module, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// pluginCase is a call that every plugin must answer alike.
type pluginCase struct {
	name, entry, input string
	want               outcome
}

func pluginCases() []pluginCase {
	long := strings.Repeat("0123456789abcde\xff", 20_001)[7:] // no multiple of 8
	message := string(abi.EncodeMessage([]byte(`{}`), nil))
	return []pluginCase{
		{"echo", "echo", "some bytes", outcome{Output: "some bytes"}},
		{"echo nothing", "echo", "", outcome{}},
		{"echo much", "echo", long, outcome{Output: long}},
		{"text", "vowels", "The quick brown fox", outcome{Output: "5"}},
		{"configuration", "setting", "", outcome{Output: "green, no flavour"}},
		{"variables", "variable", "a value", outcome{Output: "0 a value 0"}},
		{"log", "logs", "this", outcome{Log: []string{"info: about this", "warn: careful", "error: broken"}}},
		{"error", "fail", "this", outcome{Kind: wasm.KindExit, Exit: 1, Message: "cannot do this"}},
		{"crash", "crash", "", outcome{Kind: wasm.KindTrap}},
		{"operations", "operate", "request", outcome{Output: "<request>", Asked: []string{"echo request", "nothing "}}},
		{"fetch", "fetch", "", outcome{Kind: wasm.KindTrap}},
		{"tool", "plinth_tool_execute", message, outcome{
			Output: string(abi.EncodeMessage([]byte(`{"ok":{"content":[{"type":"text","text":"done by Extism"}]}}`), nil)),
			Asked:  []string{"log " + string(abi.EncodeMessage([]byte(`{"level":"info","message":"the tool runs"}`), nil))},
		}},
		{"tool without a message", "plinth_tool_execute", "x", outcome{Kind: wasm.KindExit, Exit: 1, Message: "this is no message"}},
	}
}

// TestPDKs compares plugins that the public PDKs build, and what they answer.
func TestPDKs(t *testing.T) {
	for _, name := range built() {
		t.Run(name, func(t *testing.T) {
			module := plugin(t, name)
			engine, oracle := hosts(t, wasm.Spec{
				Wasm: module, Entries: entries(t, module), Config: map[string]string{"colour": "green"},
			})
			for _, test := range pluginCases() {
				t.Run(test.name, func(t *testing.T) {
					got := compare(t, engine, oracle, test.entry, test.input)
					if test.entry == "crash" {
						got.Log = nil // some print why
					}
					if difference := cmp.Diff(test.want, got); difference != "" {
						t.Errorf("the answer (-want +got):\n%s", difference)
					}
				})
			}
			t.Run("bridge", func(t *testing.T) { asTool(t, engine, oracle) })
		})
	}
}
