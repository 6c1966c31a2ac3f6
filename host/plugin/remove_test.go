package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
)

// storing is a plugin that keeps a value with each call.
func storing(t *testing.T, version string) Candidate {
	t.Helper()
	guest := bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpKVSet, `{"key":"k","value":7}`, `{"ok":{"content":[{"type":"text","text":"`+version+`"}],"structured":`, `}}`)
	return versioned(t, guest, "acme/a", version, toolTable("greet")+asksKV)
}

// values are the keys that the plugin stored.
func (w *world) values() []string {
	w.t.Helper()
	keys, err := w.log.KV().List(w.t.Context(), "plugin:acme/a", "", "", 10)
	if err != nil {
		w.t.Fatal(err)
	}
	return keys
}

// What is removed is gone with its revisions, approvals and bytes; its values stay for 30
// days, and are there again when it comes back.
func TestRemoval(t *testing.T) {
	w := newWorld(t, Options{})
	ref := Ref{ID: "acme/a"}
	w.must(storing(t, "1.0.0"))
	w.must(storing(t, "2.0.0"))
	w.says("greet", "2.0.0")
	if diff := cmp.Diff([]string{"k"}, w.values()); diff != "" {
		t.Fatal(diff)
	}
	old := w.turn()
	if err := w.Remove(t.Context(), ann, ref, Removal{}); err != nil {
		t.Fatal(err)
	}
	if names := w.names(); names != nil || len(w.List()) != 0 {
		t.Errorf("%q %+v", names, w.List())
	}
	if err := w.Remove(t.Context(), ann, ref, Removal{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	old.says("greet", "2.0.0")
	old.pin.Release()
	w.await("retired acme/a", 2)
	w.eventually(func() bool { kept, err := w.options.Depot.List(); return err == nil && len(kept) == 0 })
	if swept, err := w.options.Services.Store.Sweep(t.Context(), time.Now().Add(bridge.BuriedFor-time.Hour)); err != nil || len(swept) != 0 || len(w.values()) != 1 {
		t.Errorf("%q %v %q", swept, err, w.values())
	}
	// It comes back: what it stored is its own again, what was approved is not.
	if err := w.offer(storing(t, "2.0.0"), SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	if state := w.show("acme/a").State; state != session.PluginStateHeld {
		t.Error(state)
	}
	w.must(storing(t, "2.0.0"))
	if swept, err := w.options.Services.Store.Sweep(t.Context(), time.Now().Add(2*bridge.BuriedFor)); err != nil || len(swept) != 0 || len(w.values()) != 1 {
		t.Errorf("%q %v %q", swept, err, w.values())
	}
	// Removed and not back in 30 days, they go.
	if err := w.Remove(t.Context(), ann, ref, Removal{}); err != nil {
		t.Fatal(err)
	}
	if swept, err := w.options.Services.Store.Sweep(t.Context(), time.Now().Add(bridge.BuriedFor+time.Hour)); err != nil || !cmp.Equal(swept, []string{"acme/a"}) || len(w.values()) != 0 {
		t.Errorf("%q %v %q", swept, err, w.values())
	}
	w.restart(nil)
	if len(w.List()) != 0 {
		t.Errorf("%+v", w.List())
	}
}

// With a purge the values go at once, and what the last turn stores goes with its end.
func TestPurge(t *testing.T) {
	w := newWorld(t, Options{})
	w.must(storing(t, "1.0.0"))
	w.says("greet", "1.0.0")
	old := w.turn()
	if err := w.Remove(t.Context(), ann, Ref{ID: "acme/a"}, Removal{Purge: true}); err != nil {
		t.Fatal(err)
	}
	if values := w.values(); len(values) != 0 {
		t.Errorf("%q", values)
	}
	old.says("greet", "1.0.0")
	old.pin.Release()
	w.eventually(func() bool { return len(w.values()) == 0 })
	if removed := w.last(session.PluginRemoved{}.EventType()); removed["purged"] != true {
		t.Errorf("%v", removed)
	}
}

// Who does not want to wait says for how long turns may go on.
func TestPatience(t *testing.T) {
	w := newWorld(t, Options{})
	w.must(greeter(t, "acme/a", "1.0.0", "hello"))
	old := w.turn()
	if err := w.Remove(t.Context(), ann, Ref{ID: "acme/a"}, Removal{Patience: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	w.await("retired acme/a", 1)
	var told *session.ToolError
	if _, err := old.call("greet", ""); !errors.As(err, &told) || told.Kind != "unavailable" {
		t.Errorf("%v", err)
	}
}

// A configured folder is followed: what comes serves, what changes replaces, what cannot
// be read leaves what serves, what goes is removed.
func TestAFolderIsFollowed(t *testing.T) {
	w := newWorld(t, Options{})
	folder := t.TempDir()
	w.start(nil, folder)
	path := deposit(t, folder, "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	w.await("activated acme/a", 1)
	w.says("greet", "one")
	if err := w.Remove(t.Context(), ann, Ref{ID: "acme/a"}, Removal{}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	deposit(t, folder, "a.wasm", greeter(t, "acme/a", "2.0.0", "two"))
	w.await("activated acme/a", 2)
	w.says("greet", "two")
	deposit(t, folder, "a.wasm", Candidate{Wasm: []byte("no module at all, and long enough")})
	w.await("failed acme/a", 1)
	w.says("greet", "two")
	if failed := w.last(session.PluginFailed{}.EventType()); failed["stage"] != "read" || !strings.HasPrefix(failed["message"].(string), path+": ") {
		t.Errorf("%v", failed)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.await("removed acme/a", 1)
	w.eventually(func() bool { return w.names() == nil })
}

// Another plugin of the id is refused while the first is there.
func TestTwoFilesOfOneID(t *testing.T) {
	w := newWorld(t, Options{})
	folder := t.TempDir()
	path := deposit(t, folder, "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	twin := deposit(t, folder, "b.wasm", greeter(t, "acme/a", "2.0.0", "two"))
	w.start(nil, folder)
	status := w.show("acme/a")
	served := status.Current().Origin
	if want := "plugin acme/a from " + twin + ": the plugin from " + path + " has this id; remove one, or give it an id of its own"; served != path || status.Error != want {
		t.Errorf("%+v", status.Plugin)
	}
	if n := w.count("activated acme/a"); n != 1 {
		t.Errorf("%d activations", n)
	}
}

// A file that has another name, or another folder, is the plugin that it was, whether the
// host sees it or is away.
func TestAPluginThatMoves(t *testing.T) {
	w := newWorld(t, Options{})
	folder, other := t.TempDir(), t.TempDir()
	path := deposit(t, folder, "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	w.start(nil, folder)
	revision := w.show("acme/a").Revision
	at := func(want string) {
		t.Helper()
		w.eventually(func() bool {
			var status Status
			for _, one := range w.List() {
				status = one
			}
			return status.Revision == revision && status.Current().Origin == want && status.Serving
		})
		w.says("greet", "one")
	}
	move := func(from, to string) string {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		return to
	}
	path = move(path, filepath.Join(folder, "b.wasm"))
	at(path)
	w.shut()
	path = move(path, filepath.Join(folder, "c.wasm"))
	w.open()
	w.start(nil, folder)
	at(path)
	w.shut() // the configuration names another folder, and the old one still has the file
	deposit(t, other, "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	w.open()
	w.start(nil, other)
	at(filepath.Join(other, "a.wasm"))
	w.restart(nil) // and then none
	if all := w.List(); len(all) != 0 || w.names() != nil {
		t.Errorf("%+v", all)
	}
}
