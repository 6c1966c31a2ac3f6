package plugin

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// greeter is a plugin whose tool greet answers a text.
func greeter(t *testing.T, id, version, text string) Candidate {
	t.Helper()
	return versioned(t, saying(text), id, version, toolTable("greet"))
}

// versioned is packed in another version than 1.0.0.
func versioned(t *testing.T, guest *bridgetest.Guest, id, version, tables string) Candidate {
	t.Helper()
	return packed(t, guest, strings.Replace(manifest(id, tables), "1.0.0", version, 1))
}

// turn is a turn under way: what it sees stays as it was at its begin.
type turn struct {
	w   *world
	pin *registry.Pin
}

func (w *world) turn() turn {
	pin := w.registries.Pin("")
	w.t.Cleanup(pin.Release)
	return turn{w, pin}
}

// call executes a tool in a turn and answers its text.
func (u turn) call(name, sessionID string) (string, error) {
	u.w.t.Helper()
	entry, ok := registry.Lookup(u.pin, u.w.kinds.Tools, name)
	if !ok {
		u.w.t.Fatalf("there is no tool %s in the turn", name)
	}
	output, err := entry.Value.Execute(context.WithoutCancel(u.w.t.Context()), session.ToolCall{Session: sessionID, Input: []byte("{}"), Host: struct{ session.ToolHost }{}})
	if err != nil {
		return "", err
	}
	return output.Content[0].Text, nil
}

func (u turn) says(name, want string) {
	u.w.t.Helper()
	if text, err := u.call(name, ""); text != want || err != nil {
		u.w.t.Errorf("%s says %q, %v; not %q", name, text, err, want)
	}
}

// says holds a new turn to a tool's answer.
func (w *world) says(name, want string) {
	w.t.Helper()
	u := w.turn()
	defer u.pin.Release()
	u.says(name, want)
}

func (w *world) wantHistory(lines ...string) {
	w.t.Helper()
	if diff := cmp.Diff(lines, w.history()); diff != "" {
		w.t.Error(diff)
	}
}

func TestAFirstActivation(t *testing.T) {
	w := newWorld(t, Options{})
	candidate := greeter(t, "acme/a", "1.0.0", "hello")
	revision := w.must(candidate)
	w.says("greet", "hello")
	w.wantHistory("approved acme/a", "staged acme/a", "activated acme/a")
	if bytes, err := w.options.Depot.Get(candidate.Digest); err != nil || len(bytes) != len(candidate.Wasm) {
		t.Errorf("the depot has %d bytes, %v", len(bytes), err)
	}
	// What serves already is not proved again.
	if again := w.must(candidate); again != revision {
		t.Errorf("%s, then %s", revision, again)
	}
	w.wantHistory("approved acme/a", "staged acme/a", "activated acme/a", "approved acme/a")
}

// The turn that is under way keeps the revision that it began with; the next gets the new
// one, and the old one retires when its last turn ends.
func TestAReplacementUnderATurn(t *testing.T) {
	w := newWorld(t, Options{})
	first := w.must(greeter(t, "acme/a", "1.0.0", "one"))
	old := w.turn()
	second := w.must(greeter(t, "acme/a", "2.0.0", "two"))
	old.says("greet", "one")
	w.says("greet", "two")
	status := w.show("acme/a")
	if diff := cmp.Diff([]string{first}, status.Retiring); diff != "" || status.Revision != second ||
		status.At(first).State != session.RevisionRetiring || status.At(second).State != session.RevisionActive {
		t.Errorf("%s %+v", diff, status.Plugin)
	}
	if slices.Contains(w.history(), "retired acme/a") {
		t.Error("it retired in the middle of a turn")
	}
	old.pin.Release()
	w.await("retired acme/a", 1)
	w.eventually(func() bool {
		status := w.show("acme/a")
		return len(status.Retiring) == 0 && status.At(first).State == session.RevisionRetired
	})
	w.says("greet", "two")
}

// A version that fails at any stage leaves the one that serves, with the reason in one
// sentence, and names the stage in the log.
func TestAFailureAtEachStage(t *testing.T) {
	const golden = "[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n"
	const config = "[config]\nschema = '{\"type\":\"object\",\"required\":[\"city\"],\"properties\":{\"city\":{\"type\":\"string\"}}}'\n"
	broken := new(wasmtest.Module)
	broken.Memory(64, 0)
	broken.Func(abi.ExportMarker, nil, nil, nil, wasmtest.Const(1)) // a value is left over
	broken.Func(abi.ExportAlloc, wasmtest.Types(wasmtest.I32), wasmtest.Types(wasmtest.I32), nil, wasmtest.Const(0))
	broken.Func(abi.ExportTool, wasmtest.Types(wasmtest.I32, wasmtest.I32), wasmtest.Types(0x7e), nil, wasmtest.Const64(0))
	tests := []struct {
		name, stage, want string
		files             map[string]string
	}{
		{"settings", "settings", `plugins."acme/a".config does not fit the plugin's schema`,
			map[string]string{ManifestName: manifest("acme/a", config+toolTable("greet")), "a.wasm": string(saying("x").Bytes())}},
		{"code that does not compile", "load", "module acme/a: ",
			map[string]string{ManifestName: manifest("acme/a", toolTable("greet")), "a.wasm": string(broken.Bytes())}},
		{"no such entry", "load", "exports: it must export plinth_tool_execute",
			map[string]string{ManifestName: manifest("acme/a", toolTable("greet")), "a.wasm": string(bridgetest.New().Bytes())}},
		{"a start that traps", "load", "start: an instance does not start",
			map[string]string{ManifestName: manifest("acme/a", toolTable("greet")), "a.wasm": string(saying("x").Traps(abi.ExportInit).Bytes())}},
		{"another answer than recorded", "golden", "out.json",
			map[string]string{ManifestName: manifest("acme/a", toolTable("greet")+golden), "a.wasm": string(saying("x").Bytes()),
				"in.json": `{"body":{"tool":"greet"}}`, "out.json": `{"ok":{"content":[{"type":"text","text":"y"}]}}`}},
		{"a name in use", "contribute", `acme/other`,
			map[string]string{ManifestName: manifest("acme/a", toolTable("taken")), "a.wasm": string(saying("x").Bytes())}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, Options{})
			serving := w.must(greeter(t, "acme/a", "0.9.0", "still here"))
			w.must(packed(t, saying("other"), manifest("acme/other", toolTable("taken"))))
			folder := t.TempDir()
			put(t, folder, test.files)
			candidate, err := Unpacked(folder)
			if err != nil {
				t.Fatal(err)
			}
			before := w.names()
			err = w.add(candidate)
			if err == nil || !strings.HasPrefix(err.Error(), "plugin acme/a from "+folder+": ") || !strings.Contains(err.Error(), test.want) || test.want != "out.json" && test.stage != "load" && strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			w.says("greet", "still here")
			if diff := cmp.Diff(before, w.names()); diff != "" {
				t.Error(diff)
			}
			status := w.show("acme/a")
			if status.State != session.PluginStateActive || status.Revision != serving || status.Error != err.Error() || !status.Serving {
				t.Errorf("%+v", status.Plugin)
			}
			if failed := w.last(session.PluginFailed{}.EventType()); failed["stage"] != test.stage || failed["message"] != err.Error() || failed["digest"] != candidate.Digest {
				t.Errorf("%v", failed)
			}
			// The next good version has nothing left of it.
			w.must(greeter(t, "acme/a", "1.1.0", "well"))
			w.says("greet", "well")
			if status := w.show("acme/a"); status.Error != "" || status.State != session.PluginStateActive {
				t.Errorf("%+v", status.Plugin)
			}
		})
	}
}

// What cannot be kept is not staged: the log never names bytes that are not there.
func TestBytesAreKeptBeforeTheLogNamesThem(t *testing.T) {
	w := newWorld(t, Options{})
	folder := filepath.Join(w.dir, "plugins")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.add(greeter(t, "acme/a", "1.0.0", "hello")); err == nil {
		t.Fatal("it serves without being kept")
	}
	w.wantHistory("failed acme/a")
	if names := w.names(); names != nil {
		t.Errorf("%q", names)
	}
}

// Settings, grants and order make another revision of the same bytes.
func TestOtherTermsAreAnotherRevision(t *testing.T) {
	w := newWorld(t, Options{})
	guest := bridgetest.New().Answers(abi.ExportContext, `{"ok":{"sources":[]}}`).Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"x"}]}}`)
	candidate := packed(t, guest, manifest("acme/a", toolTable("greet")+"[[context]]\nkey = \"acme/a/x\"\n[config]\nschema = '{\"type\":\"object\"}'\n"+
		"[request.kv]\nreason = \"r\"\n[request.process]\nreason = \"r\"\n"))
	seen := []string{w.must(candidate)}
	change := func(what string, settings Settings) {
		t.Helper()
		if err := w.Configure(t.Context(), ann, map[string]Settings{"acme/a": settings}, nil); err != nil {
			t.Fatal(what, err)
		}
		status := w.show("acme/a")
		if slices.Contains(seen, status.Revision) || status.Current().Digest != candidate.Digest {
			t.Errorf("%s: revision %s among %q", what, status.Revision, seen)
		}
		seen = append(seen, status.Revision)
	}
	change("config", Settings{Config: map[string]any{"a": "b"}})
	change("order", Settings{Config: map[string]any{"a": "b"}, Order: 3})
	change("limits", Settings{Config: map[string]any{"a": "b"}, Order: 3, Limits: map[string]int64{"instances": 2}})
	if status, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{Grants: []string{"kv"}}); err != nil || slices.Contains(seen, status.Revision) {
		t.Errorf("grants: %v %+v", err, status)
	}
	if terms := w.show("acme/a").Terms; !cmp.Equal(terms.Grants, []string{"kv"}) || terms.Order != 3 || string(terms.Config) != `{"a":"b"}` {
		t.Errorf("%+v", terms)
	}
	// The same again changes nothing.
	w.await("retired acme/a", 4)
	before := w.history()
	if err := w.Configure(t.Context(), ann, map[string]Settings{"acme/a": {Config: map[string]any{"a": "b"}, Order: 3, Limits: map[string]int64{"instances": 2}}}, nil); err != nil {
		t.Fatal(err)
	}
	w.wantHistory(before...)
}
