package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// What a tool is told: its input as the model wrote it, and everything around it.
func TestAToolSeesItsCall(t *testing.T) {
	inputs := map[string]string{
		"nothing":        `{}`,
		"an array":       `[]`,
		"a text":         `"text"`,
		"null":           `null`,
		"empty values":   `{"":"","a":[],"b":{},"c":null,"d":false,"e":0}`,
		"unicode":        `{"kéy ✓":"äöü 漢字 🙂 e\u0301 \ud83d\ude00 עברית \u2028 \u0000 \u001f \"\\\/\b\f\n\r\t <>&"}`,
		"integers":       `[9007199254740993,-9223372036854775808,9223372036854775807,18446744073709551615,123456789012345678901234567890]`,
		"floats":         `[0.1,1.0,-0.0,1e400,1E+2,5e-324,2.2250738585072014e-308,1.7976931348623157e308,0.30000000000000004]`,
		"deep":           strings.Repeat("[", 90) + strings.Repeat("]", 90),
		"wide":           `[` + strings.Repeat(`{"a":[1,"b"]},`, 5_000) + `0]`,
		"1 MiB":          `{"text":"` + strings.Repeat("0123456789abcde\\n", 1<<16) + `"}`,
		"1 MiB of emoji": `{"text":"` + strings.Repeat("🙂", 1<<18) + `"}`,
	}
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		for name, input := range inputs {
			t.Run(name, func(t *testing.T) {
				output, err := p.tool(t, "echo", nothing()).Execute(t.Context(), session.ToolCall{
					ID: "call_1", Message: "msg_1", Session: "ses_1", Agent: "build", Input: []byte(input), Timeout: 9_876 * time.Millisecond,
					Location: session.Location{Directory: "/a/b", Root: "/a", Git: true}, Host: &toolHost{rules: everything()},
				})
				if err != nil {
					t.Fatal(err)
				}
				meta := fmt.Sprintf(`,"meta":{"plugin":%q,"revision":%q}`, id, revision)
				sameJSON(t, "echo", output.Structured, fmt.Appendf(nil, `{"input":%s,"call":{"id":"call_1","message":"msg_1"},
					"session":{"id":"ses_1","agent":"build"},"deadline_ms":9876,
					"location":{"directory":"/a/b","root":"/a","git":true,"platform":%q,"utc_offset":60}%s}`, input, runtime.GOOS, meta))
			})
		}
	})
}

func TestErrorsOfEveryKind(t *testing.T) {
	kinds := []abi.Kind{
		abi.KindInvalidInput, abi.KindNotFound, abi.KindDenied, abi.KindUnavailable, abi.KindConflict,
		abi.KindLimit, abi.KindCancelled, abi.KindTimeout, abi.KindFailed,
	}
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		fail := func(kind abi.Kind, message string) error {
			input, err := json.Marshal(abi.Error{Kind: kind, Message: message})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.execute(t, "fail", string(input))
			return err
		}
		for _, kind := range kinds {
			message := "because of \"" + string(kind) + "\" – ünïcödé 🙂\n\u0000"
			wantTold(t, fail(kind, message), kind, message)
		}
		wantTold(t, fail("of a later version", "why"), abi.KindFailed, "why")
		wantTold(t, fail(abi.KindConflict, ""), abi.KindConflict, "")
		_, err := p.execute(t, "other", `{}`)
		wantTold(t, err, abi.KindNotFound, `this plugin has no tool "other"`)
	})
}

// A guest that breaks ends its call and no other.
func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		_, err := p.execute(t, "trap", `{}`)
		wantTold(t, err, abi.KindFailed, "The tool trap broke and gave no answer (failed); the host's log has the reason")
		_, err = p.tool(t, "spin", nothing()).Execute(t.Context(), session.ToolCall{
			Input: []byte(`{}`), Timeout: 20 * time.Millisecond, Host: &toolHost{rules: everything()},
		})
		wantTold(t, err, abi.KindTimeout, "The tool spin did not answer within 20ms")
		sameJSON(t, "after the faults", p.structured(t, "settings", `{}`), []byte(`{"greeting":"`+greeting+`"}`))
	})
}

// A guest's panic is in the host's error, so that its author need not search the log.
func TestAPanicIsTold(t *testing.T) {
	message, err := json.Marshal(abi.Call[abi.ToolExecute]{Body: abi.ToolExecute{Tool: "trap", Input: json.RawMessage(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"core-go": "panic: ", "core-tinygo": "panic: ", "core-rust": "panicked at tools/src/tools.rs:",
	}
	told := 0
	each(t, func(t *testing.T, g guest) {
		start, ok := want[g.name]
		if !ok {
			return
		}
		told++
		_, err := toolsOf(t, g).Caller.Call(t.Context(), bridge.Call{
			Entry: abi.ExportTool, Message: abi.EncodeMessage(message, nil), Deadline: 10 * time.Second, Log: func(string) {},
		})
		trap, ok := errors.AsType[*wasm.TrapError](err)
		if !ok || !strings.HasPrefix(trap.Panic, start) || !strings.Contains(trap.Panic, "the guest breaks") || !strings.Contains(err.Error(), trap.Panic) {
			t.Errorf("got %v with the panic %+v", err, trap)
		}
	})
	if told != len(want) {
		t.Errorf("%d of %d guests were asked", told, len(want))
	}
}

// What one call leaves in memory, the next does not find.
func TestCallsDoNotShareMemory(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		for range 3 {
			sameJSON(t, "count", p.structured(t, "count", `{}`), []byte(`{"calls":1}`))
		}
	})
}

func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		sameJSON(t, "settings", p.structured(t, "settings", `{}`), []byte(`{"greeting":"`+greeting+`"}`))
	})
}

// Settings that keep a plugin from starting, and those that may be left out.
func TestOtherSettings(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		for _, config := range []string{`{"greeting":7}`, `{"other":"x"}`} {
			_, err := g.restart(config)
			refusal, ok := errors.AsType[*wasm.AdmissionError](err)
			if !ok || !strings.Contains(refusal.Error(), string(abi.KindInvalidInput)) {
				t.Errorf("%s: %v", config, err)
			}
		}
		for _, config := range []string{"", `{}`, `{"greeting":""}`} {
			l, err := g.restart(config)
			if err != nil {
				t.Fatalf("%s: %v", config, err)
			}
			p := newPlugin(t, func() (loaded, error) { return l, nil })
			sameJSON(t, "settings "+config, p.structured(t, "settings", `{}`), []byte(`{"greeting":""}`))
			if err := l.module.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Content reaches the kernel's port as the guest ordered it.
func TestOutputBehindThePort(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		output, err := p.execute(t, "files", `{"sizes":[]}`)
		if err != nil {
			t.Fatal(err)
		}
		if len(output.Content) != 1 || output.Content[0].Text != "0 files" || output.Title != "files" || output.Structured != nil {
			t.Errorf("output %+v", output)
		}
		sameJSON(t, "metadata", output.Metadata, []byte(`{"bytes":0}`))
	})
}
