package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/wasm"
)

// Whoever watches a plugin is told what it logs, and of calls that failed with all that a
// replay needs, without secrets.
func TestAWatchedPlugin(t *testing.T) {
	scrubber := &secret.Scrubber{}
	scrubber.Add(secret.NewValue("hunter2hunter2"))
	w := newWorld(t, Options{Scrubber: scrubber})
	w.start(nil)
	var notices []Notice
	stop := w.Watch(Ref{ID: "acme/a"}, func(n Notice) { notices = append(notices, n) })
	elsewhere := w.Watch(Ref{ID: "acme/a", Location: "/p"}, func(n Notice) { t.Errorf("%+v", n) })
	defer elsewhere()

	guest := bridgetest.NewPrinting().Prints(abi.ExportTool, "the key is hunter2hunter2\n", `{"error":{"kind":"failed","message":"hunter2hunter2 is wrong"}}`)
	revision := w.must(packed(t, guest, manifest("acme/a", toolTable("greet"))))
	if _, err := w.call(t, "greet"); err == nil {
		t.Fatal("the call did not fail")
	}
	if len(notices) != 2 || notices[0].Line == nil || notices[1].Failed == nil {
		t.Fatalf("%+v", notices)
	}
	if diff := cmp.Diff(Notice{Revision: revision, Line: &LogLine{"info", "the key is [secret]"}}, notices[0]); diff != "" {
		t.Error(diff)
	}
	recording := notices[1].Failed
	text, err := recording.Encode()
	if err != nil || !recording.Scrubbed || notices[1].Revision != revision {
		t.Errorf("%s, %v", text, err)
	}
	again, err := replay.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	mended := packed(t, saying("hello"), manifest("acme/a", toolTable("greet")))
	report, err := replay.Replay(t.Context(), newEngine(t), wasm.Spec{Wasm: mended.Wasm}, again)
	if err != nil || report.Equal() {
		t.Errorf("%v, %v", report, err)
	}

	stop()
	stop() // is safe
	if _, err := w.call(t, "greet"); err == nil || len(notices) != 2 {
		t.Errorf("%v: told %d notices", err, len(notices))
	}
}

// Watching is no reason to look otherwise: the status of a plugin has the engine's figures.
func TestACallThatIsNotWatchedIsNotRecorded(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(nil)
	w.must(greeter(t, "acme/a", "1.0.0", "hello"))
	w.says("greet", "hello")
	var notices []Notice
	stop := w.Watch(Ref{ID: "acme/a"}, func(n Notice) { notices = append(notices, n) })
	defer stop()
	w.says("greet", "hello")
	if status := w.show("acme/a"); len(notices) > 0 || status.Report == nil || status.Stats == nil {
		t.Errorf("%+v, %+v", notices, status)
	}
}
