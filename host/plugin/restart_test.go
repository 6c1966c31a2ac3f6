package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/probation"
	"github.com/plinthhost/plinth/session"
)

// deposit puts a plugin into a folder under a name, whole or not at all, and answers where.
func deposit(t *testing.T, folder, name string, candidate Candidate) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	hidden, path := filepath.Join(folder, "."+name), filepath.Join(folder, name)
	if err := os.WriteFile(hidden, candidate.Wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// served is what the log says of plugins, the revisions aside that no one can see.
func (w *world) served() map[string]string {
	served := map[string]string{}
	for _, status := range w.List() {
		served[status.ID+"@"+status.Location] = string(status.State) + " " + status.Revision
	}
	return served
}

// After a restart the same revisions serve under the same terms, without that any guest
// ran, also those that somebody uploaded, disabled or rolled back.
func TestARestartBringsBackWhatTheLogSays(t *testing.T) {
	w := newWorld(t, Options{Settings: map[string]Settings{"acme/set": {Config: map[string]any{"city": "oslo"}}}})
	folder := t.TempDir()
	inFolder := deposit(t, folder, "a.wasm", greeter(t, "acme/a", "1.0.0", "from the folder"))
	w.start(nil, folder)
	set := packed(t, bridgetest.New().Answers(abi.ExportInit, `{"ok":{}}`).Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"set"}]}}`),
		manifest("acme/set", toolTable("set")+"[config]\nschema = '{\"type\":\"object\"}'\n"))
	w.must(set)
	w.must(versioned(t, saying("up one"), "acme/up", "1.0.0", toolTable("up")))
	w.must(versioned(t, saying("up two"), "acme/up", "2.0.0", toolTable("up")))
	w.must(packed(t, saying("off"), manifest("acme/off", toolTable("off"))))
	if _, err := w.Rollback(t.Context(), ann, Ref{ID: "acme/up"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Disable(t.Context(), ann, Ref{ID: "acme/off"}); err != nil {
		t.Fatal(err)
	}
	w.await("retired acme/off", 1)
	w.await("retired acme/up", 2)
	before, names, terms := w.served(), w.names(), w.show("acme/set").Terms
	w.restart(nil, folder)
	history := w.history()
	if diff := cmp.Diff(before, w.served()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(names, w.names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(terms, w.show("acme/set").Terms); diff != "" {
		t.Error(diff)
	}
	for _, status := range w.List() {
		if status.Stats != nil && status.Stats.Started != 0 {
			t.Errorf("%s ran", status.ID)
		}
	}
	w.says("greet", "from the folder")
	w.says("up", "up one")
	// A third start adds nothing to the log.
	w.restart(nil, folder)
	w.wantHistory(history...)
	// What was taken out of the folder while the host was away is gone.
	w.shut()
	if err := os.Remove(inFolder); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.start(nil, folder)
	if _, err := w.Show(Ref{ID: "acme/a"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	w.says("set", "set")
}

// plant has the log say that a plugin serves, as an earlier host left it.
func (w *world) plant(candidate Candidate, more ...session.Payload) string {
	w.t.Helper()
	if _, err := w.options.Depot.Put(candidate.Wasm); err != nil {
		w.t.Fatal(err)
	}
	terms := []byte(`{"grants":[]}`)
	id, revision := candidate.Manifest.ID, revisionOf(candidate.Digest, terms)
	payloads := append([]session.Payload{session.PluginStaged{Plugin: id, Revision: revision, Digest: candidate.Digest, Version: candidate.Manifest.Version,
		Source: SourceUpload, Origin: "test.wasm", Terms: terms}, session.PluginActivated{Plugin: id, Revision: revision}}, more...)
	if err := w.options.Ledger.Record(w.t.Context(), ann, payloads...); err != nil {
		w.t.Fatal(err)
	}
	return revision
}

// unstarting is a plugin whose start traps.
func unstarting(t *testing.T, version string) Candidate {
	t.Helper()
	return versioned(t, saying("x").Traps(abi.ExportInit).Answers(abi.ExportContext, `{"ok":{"sources":[]}}`), "acme/a", version, toolTable("greet")+"[[context]]\nkey = \"acme/a/x\"\n")
}

// A guest whose start traps is not asked to start by a restart, only by the first call;
// the starts that failed are counted over restarts, and the fifth quarantines it.
func TestStartsAreCountedOverRestarts(t *testing.T) {
	const attempts = 5
	w := newWorld(t, Options{Backoff: probation.Backoff{First: time.Hour, Attempts: attempts}})
	revision := w.plant(unstarting(t, "1.0.0"))
	refusals := 0
	for attempt := 1; attempt <= attempts; attempt++ {
		w.restart(nil)
		if status := w.show("acme/a"); !status.Serving || status.Attempts != attempt-1 || status.State != session.PluginStateActive {
			t.Fatalf("start %d: %+v", attempt, status.Plugin)
		}
		if _, err := w.call(t, "greet"); err == nil {
			t.Error("a guest that cannot start answers")
		}
		w.await("failed acme/a", attempt+refusals)
		w.eventually(func() bool { return !w.show("acme/a").Serving })
		if failed := w.last(session.PluginFailed{}.EventType()); failed["stage"] != "start" || failed["attempt"] != float64(attempt) || failed["revision"] != revision {
			t.Errorf("%v", failed)
		}
		isUnavailable(t, w.contexts()["acme/a"], "acme/a/x")
		// A new version that fails as well does not begin the count anew.
		if attempt == 2 {
			refusals++
			if err := w.add(unstarting(t, "2.0.0")); err == nil {
				t.Error("it serves")
			}
			if status := w.show("acme/a"); status.Attempts != attempt || status.Revision != revision {
				t.Errorf("%+v", status.Plugin)
			}
		}
	}
	w.await("quarantined acme/a", 1)
	w.restart(nil)
	status := w.show("acme/a")
	if status.State != session.PluginStateQuarantined || status.Serving || !strings.HasPrefix(status.Error, "it did not start in 5 attempts: ") || status.At(revision).State != session.RevisionRetired {
		t.Errorf("%+v", status.Plugin)
	}
	isUnavailable(t, w.contexts()["acme/a"], "acme/a/x")
	if err := w.add(unstarting(t, "1.0.0")); err == nil || !strings.Contains(err.Error(), "this version is quarantined: it did not start in 5 attempts") {
		t.Errorf("%v", err)
	}
	if _, err := w.Enable(t.Context(), ann, Ref{ID: "acme/a"}); err == nil {
		t.Error("it is enabled, and cannot start")
	}
	if state := w.show("acme/a").State; state != session.PluginStateFailed {
		t.Error(state)
	}
	w.must(greeter(t, "acme/a", "4.0.0", "mended"))
	w.says("greet", "mended")
}

// In one host a start that failed is tried again, later each time.
func TestStartsAreTriedAgain(t *testing.T) {
	w := newWorld(t, Options{Backoff: probation.Backoff{First: time.Millisecond, Most: 2 * time.Millisecond, Attempts: 4}})
	revision := w.plant(unstarting(t, "1.0.0"))
	w.restart(nil)
	if _, err := w.call(t, "greet"); err == nil {
		t.Error("a guest that cannot start answers")
	}
	w.await("quarantined acme/a", 1)
	if n := w.count("failed acme/a"); n != 4 {
		t.Errorf("%d attempts", n)
	}
	w.eventually(func() bool {
		status := w.show("acme/a")
		return status.State == session.PluginStateQuarantined && status.At(revision).State == session.RevisionRetired
	})
}

// A start that succeeds ends the count, also after a restart.
func TestAStartEndsTheCount(t *testing.T) {
	w := newWorld(t, Options{})
	candidate := greeter(t, "acme/a", "1.0.0", "hello")
	revision := w.plant(candidate)
	if err := w.options.Ledger.Record(t.Context(), ann, session.PluginFailed{Plugin: "acme/a", Revision: revision, Stage: "start", Message: "m", Attempt: 4}); err != nil {
		t.Fatal(err)
	}
	w.restart(nil)
	w.says("greet", "hello")
	w.await("started acme/a", 1)
	w.eventually(func() bool { status := w.show("acme/a"); return status.Attempts == 0 && status.Error == "" })
	w.says("greet", "hello")
	// Bytes that are lost count as a start that failed, and come back with the source.
	if err := w.options.Depot.Remove(candidate.Digest); err != nil {
		t.Fatal(err)
	}
	w.restart(nil)
	if failed := w.last(session.PluginFailed{}.EventType()); failed["attempt"] != float64(1) || !strings.Contains(failed["message"].(string), depot.ErrNotFound.Error()) {
		t.Errorf("%v", failed)
	}
	w.must(candidate)
	w.says("greet", "hello")
	if status := w.show("acme/a"); status.Attempts != 0 || status.Revision != revision {
		t.Errorf("%+v", status.Plugin)
	}
}

// What a crash left in the middle is settled by the next start: nothing is staged or
// retiring then, and the depot has nothing that the log does not name.
func TestAStartSettlesWhatACrashLeft(t *testing.T) {
	w := newWorld(t, Options{})
	old, now := greeter(t, "acme/a", "1.0.0", "old"), greeter(t, "acme/a", "2.0.0", "now")
	before, serving := w.plant(old), revisionOf(now.Digest, []byte(`{"grants":[]}`))
	w.plant(now)
	crashed := session.PluginStaged{Plugin: "acme/b", Revision: "0123456789abcdef", Digest: old.Digest, Version: "1.0.0", Source: SourceUpload, Origin: "b.wasm", Terms: []byte(`{"grants":[]}`)}
	if err := w.options.Ledger.Record(t.Context(), ann, session.PluginActivated{Plugin: "acme/a", Revision: serving, Replaces: before}, crashed); err != nil {
		t.Fatal(err)
	}
	if _, err := w.options.Depot.Put([]byte("it was kept, and the host crashed before the log named it")); err != nil {
		t.Fatal(err)
	}
	w.restart(nil)
	status := w.show("acme/a")
	if status.Revision != serving || status.At(before).State != session.RevisionRetired {
		t.Errorf("%+v", status.Plugin)
	}
	b := w.show("acme/b")
	if b.State != session.PluginStateFailed || b.At(crashed.Revision).State != session.RevisionFailed || !strings.Contains(b.Error, "the host ended before the version was proved") {
		t.Errorf("%+v", b.Plugin)
	}
	kept, err := w.options.Depot.List()
	want := []string{old.Digest, now.Digest}
	slices.Sort(want)
	if diff := cmp.Diff(want, kept); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	w.says("greet", "now")
}

// A builtin is what this build of the program has, whatever the log says.
func TestBuiltinsAreThoseOfTheProgram(t *testing.T) {
	builtin := func(text string) []Candidate {
		candidate, err := Packed("builtin", saying(text).Packed(manifest("core/hello", toolTable("greet"))), true)
		if err != nil {
			t.Fatal(err)
		}
		return []Candidate{candidate}
	}
	w := newWorld(t, Options{})
	w.start(builtin("one"))
	w.says("greet", "one")
	history := w.history()
	w.restart(builtin("one"))
	w.wantHistory(history...)
	w.restart(builtin("two"))
	w.says("greet", "two")
	if err := w.Remove(t.Context(), ann, Ref{ID: "core/hello"}, Removal{}); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if _, err := w.Disable(t.Context(), ann, Ref{ID: "core/hello"}); err != nil {
		t.Fatal(err)
	}
	w.restart(builtin("two"))
	if names := w.names(); names != nil {
		t.Errorf("%q", names)
	}
	if _, err := w.Enable(t.Context(), ann, Ref{ID: "core/hello"}); err != nil {
		t.Fatal(err)
	}
	w.says("greet", "two")
}
