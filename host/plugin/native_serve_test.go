package plugin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// lent is hello as a server's plugin.
func lent(w *sessiontest.World, version, text string) Native {
	native := hello(w, version, text)
	native.ID, native.Fingerprint = "mcp/hello", []byte(text)
	return native
}

func TestNativePluginsComeAndGoWhileTheHostRuns(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	by, ref := session.Origin{Actor: "test"}, Ref{ID: "mcp/hello"}
	m := begun(t, w, Options{})
	serve := func(text string) {
		t.Helper()
		if err := m.Serve(t.Context(), lent(w, "1", text)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what, text string, events ...string) {
		t.Helper()
		if got := says(t, w); got != text {
			t.Errorf("%s: it says %q, not %q", what, got, text)
		}
		got := slices.DeleteFunc(hostEvents(t, w), func(event string) bool { return event == "retired" }) // which comes when it comes
		if !slices.Equal(got, events) {
			t.Errorf("%s: the log has %q", what, got)
		}
	}
	serve("one")
	events := []string{"staged", "activated"}
	expect("at first", "one", events...)
	serve("one")
	expect("the same again", "one", events...)
	pin := w.Registries.Pin("")
	if entry, ok := registry.Lookup(pin, w.Kinds.Tools, "hello"); !ok || entry.Builtin || entry.Scope != "mcp/hello" {
		t.Errorf("it asks as the host does: %+v", entry)
	}
	pin.Release()
	serve("two") // another list under the same version
	events = append(events, "staged", "activated")
	expect("changed", "two", events...)

	if _, err := m.Disable(t.Context(), by, ref); err != nil || m.Wanted("mcp/hello") {
		t.Errorf("%v", err)
	}
	serve("three")
	events = append(events, "disabled")
	expect("disabled", "", events...)
	if _, err := m.Enable(t.Context(), by, ref); err != nil || !m.Wanted("mcp/hello") {
		t.Errorf("%v", err)
	}
	events = append(events, "enabled", "staged", "activated")
	expect("enabled", "three", events...)
	if err := m.Remove(t.Context(), by, ref, Removal{}); err == nil || !strings.Contains(err.Error(), "take its table out of the configuration") {
		t.Error(err)
	}
	closed(t, m)

	// After a restart nothing serves until it comes, and then nothing is recorded.
	m = awaiting(t, w)
	expect("awaited", "", events...)
	if status, err := m.Show(ref); err != nil || status.Serving {
		t.Errorf("%+v, %v", status, err)
	}
	if err := m.Configure(t.Context(), by, nil, nil); err != nil {
		t.Errorf("what is awaited is no failure: %v", err)
	}
	serve("three")
	expect("come back", "three", events...)
	if err := m.Leave(t.Context(), "mcp/hello"); err != nil {
		t.Fatal(err)
	}
	events = append(events, "removed")
	expect("left", "", events...)
	if err := m.Leave(t.Context(), "mcp/hello"); err != nil || len(m.List()) != 0 {
		t.Errorf("%v, %+v", err, m.List())
	}
	serve("four")
	closed(t, m)
	m = begun(t, w, Options{}) // and is not configured any more
	if all := m.List(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	closed(t, m)
}

func awaiting(t *testing.T, w *sessiontest.World) *Manager {
	t.Helper()
	w.Registries = w.Kinds.Registries()
	m := managerOver(t, w, Options{})
	m.Await("mcp/hello")
	if err := m.Start(t.Context(), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// One that is enabled while its server is not there comes with it.
func TestAnAwaitedPluginIsEnabled(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	by, ref := session.Origin{Actor: "test"}, Ref{ID: "mcp/hello"}
	m := begun(t, w, Options{})
	if err := m.Serve(t.Context(), lent(w, "1", "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Disable(t.Context(), by, ref); err != nil {
		t.Fatal(err)
	}
	closed(t, m)
	m = awaiting(t, w)
	if _, err := m.Enable(t.Context(), by, ref); err != nil {
		t.Fatal(err)
	}
	if err := m.Serve(t.Context(), lent(w, "1", "one")); err != nil || says(t, w) != "one" {
		t.Errorf("%v, it says %q", err, says(t, w))
	}
	closed(t, m)
}

func TestNativePluginsThatAreNotServed(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	m := begun(t, w, Options{}, hello(w, "1", "the program's"))
	core := hello(w, "1", "x")
	if err := m.Serve(t.Context(), core); err == nil || !strings.Contains(err.Error(), "must begin with mcp/") {
		t.Error(err)
	}
	if err := m.Serve(t.Context(), lent(w, "1", "another")); err == nil || says(t, w) != "the program's" {
		t.Errorf("a name of the program's was taken: %v, it says %q", err, says(t, w))
	}
	m.Unserved("mcp/away", errors.New("it does not start"))
	if refusals := m.Refusals(); len(refusals) != 1 || refusals[0].Origin != "mcp/away" {
		t.Errorf("%+v", refusals)
	}
	m.Unserved("mcp/away", nil)
	if refusals := m.Refusals(); len(refusals) != 0 {
		t.Errorf("%+v", refusals)
	}
	closed(t, m)
	if err := m.Serve(t.Context(), lent(w, "1", "late")); err == nil {
		t.Error("a closed manager serves")
	}
}
