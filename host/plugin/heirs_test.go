package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// What a plugin kept from serving, by its id or by a name, is tried again when the plugin
// is removed: the message said to remove one of the two.
func TestWhatWasInTheWayIsGone(t *testing.T) {
	w := newWorld(t, Options{})
	folder := t.TempDir()
	w.start(nil, folder)
	first := deposit(t, folder, "1.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	w.await("activated acme/a", 1)
	deposit(t, folder, "2.wasm", greeter(t, "acme/a", "2.0.0", "two"))
	w.await("failed acme/a", 1)
	third := deposit(t, folder, "3.wasm", greeter(t, "acme/b", "1.0.0", "three"))
	w.await("failed acme/b", 1)
	w.eventually(func() bool {
		failed := w.show("acme/b").Failed
		return failed != nil && failed.Stage == string(stageContribute)
	})
	if err := os.Remove(first); err != nil { // then one of the two others has the name
		t.Fatal(err)
	}
	w.eventually(func() bool { return len(w.names()) == 1 && w.count("removed acme/a") == 1 })
	if err := os.Remove(third); err != nil {
		t.Fatal(err)
	}
	w.await("activated acme/a", 2)
	w.says("greet", "two")

	// One that was added by hand made way for none; now it does.
	if err := os.Remove(folder + "/2.wasm"); err != nil {
		t.Fatal(err)
	}
	w.await("removed acme/a", 2)
	w.must(greeter(t, "acme/a", "3.0.0", "three"))
	deposit(t, folder, "4.wasm", greeter(t, "acme/a", "4.0.0", "four"))
	w.eventually(func() bool { return strings.Contains(w.show("acme/a").Error, "has this id; remove one") })
	if err := w.Remove(t.Context(), ann, Ref{ID: "acme/a"}, Removal{}); err != nil {
		t.Fatal(err)
	}
	w.await("activated acme/a", 4)
	w.says("greet", "four")
}

// What was sent and not proved when the host died is tried again as it is kept, by reload
// and by enable.
func TestWhatACrashLeftIsTriedAgain(t *testing.T) {
	for name, again := range map[string]func(w *world, ref Ref) error{
		"reload": func(w *world, ref Ref) error {
			_, err := w.Reload(w.t.Context(), ann, ref)
			return err
		},
		"reload after a crash of enable": func(w *world, ref Ref) error {
			err := w.options.Ledger.Record(w.t.Context(), ann, session.PluginDisabled{Plugin: ref.ID}, session.PluginEnabled{Plugin: ref.ID})
			w.restart(nil)
			_, reloaded := w.Reload(w.t.Context(), ann, ref)
			return errors.Join(err, reloaded)
		},
		"enable": func(w *world, ref Ref) error {
			_, disabled := w.Disable(w.t.Context(), ann, ref)
			_, enabled := w.Enable(w.t.Context(), ann, ref)
			return errors.Join(disabled, enabled)
		},
		"enable without its bytes": func(w *world, ref Ref) error {
			_, disabled := w.Disable(w.t.Context(), ann, ref)
			sent := greeter(w.t, ref.ID, "1.0.0", "sent")
			removed := os.Remove(filepath.Join(w.dir, "plugins", sent.Digest+".wasm"))
			if _, err := w.Enable(w.t.Context(), ann, ref); err == nil || w.show(ref.ID).State != session.PluginStateFailed {
				w.t.Errorf("%v, %+v", err, w.show(ref.ID).Plugin)
			}
			return errors.Join(disabled, removed, w.add(sent))
		},
	} {
		t.Run(name, func(t *testing.T) { triedAgain(t, again) })
	}
}

func triedAgain(t *testing.T, again func(w *world, ref Ref) error) {
	w := newWorld(t, Options{})
	sent := greeter(t, "acme/b", "1.0.0", "sent")
	if _, err := w.options.Depot.Put(sent.Wasm); err != nil {
		t.Fatal(err)
	}
	terms := []byte(`{"grants":[]}`)
	staged := session.PluginStaged{Plugin: "acme/b", Revision: revisionOf(sent.Digest, terms), Digest: sent.Digest, Version: "1.0.0",
		Source: SourceUpload, Origin: "b.wasm", Terms: terms}
	if err := w.options.Ledger.Record(t.Context(), ann, staged); err != nil {
		t.Fatal(err)
	}
	w.restart(nil)
	if b := w.show("acme/b"); b.State != session.PluginStateFailed || !strings.HasSuffix(b.Error, "plinth plugin reload acme/b") {
		t.Fatalf("%+v", b.Plugin)
	}
	if err := again(w, Ref{ID: "acme/b"}); err != nil {
		t.Fatal(err)
	}
	w.says("greet", "sent")
}

// A builtin has all that it asks for: to grant it part is refused, not ignored.
func TestBuiltinsAreNotApproved(t *testing.T) {
	w := newWorld(t, Options{})
	builtin, err := Packed("core/a", saying("one").Packed(manifest("core/a", toolTable("greet"))), true)
	if err != nil {
		t.Fatal(err)
	}
	w.start([]Candidate{builtin})
	_, err = w.Approve(t.Context(), ann, Ref{ID: "core/a"}, Approval{Grants: []string{}})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "is part of plinth and has all that it asks for") {
		t.Errorf("%v", err)
	}
}

// The command that a message tells names the project, without which it finds nothing.
func TestTheFixOfAProjectsPluginNamesTheProject(t *testing.T) {
	var logged strings.Builder
	w := newWorld(t, Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &logged})})
	w.start(nil)
	root := t.TempDir()
	deposit(t, projectFolder(root), "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	if err := w.Trust(t.Context(), ann, root); err != nil {
		t.Fatal(err)
	}
	if want := "plinth plugin approve acme/a --project " + clip(root); !strings.Contains(logged.String(), want) {
		t.Errorf("%q is not in %s", want, logged.String())
	}
}

// To look at everything again is no failure because of what somebody rolled back; to ask
// for that very plugin is.
func TestARolledBackVersionIsNoFailureOfTheOthers(t *testing.T) {
	w := newWorld(t, Options{})
	folder := t.TempDir()
	w.start(nil, folder)
	deposit(t, folder, "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	w.await("activated acme/a", 1)
	deposit(t, folder, "a.wasm", greeter(t, "acme/a", "2.0.0", "two"))
	w.await("activated acme/a", 2)
	if _, err := w.Rollback(t.Context(), ann, Ref{ID: "acme/a"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Configure(t.Context(), ann, nil, nil); err != nil {
		t.Errorf("%v", err)
	}
	w.says("greet", "one")
	if _, err := w.Reload(t.Context(), ann, Ref{ID: "acme/a"}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "this version was rolled back") {
		t.Errorf("%v", err)
	}
}
