package plugin

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

const (
	asksKV      = "[request.kv]\nreason = \"to remember\"\n"
	asksProcess = "[request.process]\nreason = \"to run git\"\n"
)

func (w *world) offer(candidate Candidate, source, location string) error {
	w.t.Helper()
	_, err := w.Offer(w.t.Context(), Offer{Candidate: candidate, Source: source, Location: location, By: session.System()})
	return err
}

// asking is a version of acme/a with requests.
func asking(t *testing.T, version, tables string) Candidate {
	t.Helper()
	return versioned(t, saying(version), "acme/a", version, toolTable("greet")+tables)
}

// What asks for something waits until somebody approves; a later version that asks for no
// more does not, and one that asks for more does while the one before serves on.
func TestApproval(t *testing.T) {
	w := newWorld(t, Options{})
	first := asking(t, "1.0.0", asksKV+asksProcess)
	if err := w.offer(first, SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	status := w.show("acme/a")
	if status.State != session.PluginStateHeld || status.Held == nil || status.Held.Digest != first.Digest ||
		status.Held.Reason != "it asks for kv (to remember), process (to run git)" || len(status.Requests) != 2 || len(w.names()) != 0 {
		t.Fatalf("%+v %q", status, w.names())
	}
	if err := w.offer(first, SourceUpload, ""); err != nil { // again: nothing new
		t.Fatal(err)
	}
	w.wantHistory("held acme/a")
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{Digest: "ffff"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("another version: %v", err)
	}
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{Grants: []string{"kv", "fs:project:read"}}); err == nil || !strings.Contains(err.Error(), "fs:project:read") {
		t.Errorf("a key that it does not have: %v", err)
	}
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/b"}, Approval{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("another plugin: %v", err)
	}
	// Some of it.
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{Digest: first.Digest[:8], Grants: []string{"kv"}}); err != nil {
		t.Fatal(err)
	}
	status = w.show("acme/a")
	if !cmp.Equal(status.Terms.Grants, []string{"kv"}) || status.Held != nil || status.State != session.PluginStateActive {
		t.Errorf("%+v", status)
	}
	w.says("greet", "1.0.0")
	if approved := w.last(session.PluginApproved{}.EventType()); approved["digest"] != first.Digest {
		t.Errorf("%v", approved)
	}
	// All of it: other grants are another revision.
	before := status.Revision
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{}); err != nil {
		t.Fatal(err)
	}
	if status = w.show("acme/a"); !cmp.Equal(status.Terms.Grants, []string{"kv", "process"}) || status.Revision == before {
		t.Errorf("%+v", status)
	}
	// No more than before: the same grants.
	if err := w.offer(asking(t, "1.1.0", asksKV), SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	w.says("greet", "1.1.0")
	if status = w.show("acme/a"); !cmp.Equal(status.Terms.Grants, []string{"kv"}) {
		t.Errorf("%+v", status.Terms)
	}
	// More than before.
	more := asking(t, "2.0.0", asksKV+asksProcess+"[[request.fs]]\nroot = \"project\"\naccess = \"write\"\nreason = \"to format\"\n")
	if err := w.offer(more, SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	w.says("greet", "1.1.0")
	status = w.show("acme/a")
	if status.State != session.PluginStateActive || status.Held == nil || status.Held.Reason != "it asks for more than was approved: fs:project:write (to format)" ||
		status.Change == nil || status.Change.From != "1.1.0" || status.Change.To != "2.0.0" || !strings.Contains(status.Change.String(), "fs project write: to format") {
		t.Errorf("%+v", status)
	}
	// Other settings are for what serves; the next version waits on.
	if err := w.Configure(t.Context(), ann, map[string]Settings{"acme/a": {Limits: map[string]int64{"instances": 2}}}, nil); err != nil {
		t.Fatal(err)
	}
	w.says("greet", "1.1.0")
	if status = w.show("acme/a"); status.Held == nil || status.Held.Digest != more.Digest || status.Terms.Limits["instances"] != 2 {
		t.Errorf("%+v", status)
	}
	// It waits over a restart, with its bytes.
	w.restart(nil)
	if status = w.show("acme/a"); status.Held == nil || status.Held.Digest != more.Digest {
		t.Errorf("%+v", status)
	}
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{}); err != nil {
		t.Fatal(err)
	}
	w.says("greet", "2.0.0")
}

// A first version that waits still waits after it was disabled and enabled.
func TestDisabledWhileItWaits(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.offer(asking(t, "1.0.0", asksKV), SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Disable(t.Context(), ann, Ref{ID: "acme/a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{}); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if plugin, err := w.Enable(t.Context(), ann, Ref{ID: "acme/a"}); err != nil || plugin.State != session.PluginStateHeld || plugin.Held == nil {
		t.Errorf("%+v %v", plugin, err)
	}
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{}); err != nil {
		t.Error(err)
	}
	w.says("greet", "1.0.0")
}

// Who offers a plugin reads in the answer that it waits; what the host found by itself
// it warns of.
func TestWhatWaitsIsWarnedOf(t *testing.T) {
	for want, by := range map[bool]session.Origin{true: session.System(), false: ann} {
		var logged strings.Builder
		w := newWorld(t, Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &logged, Level: hclog.Info})})
		if _, err := w.Offer(t.Context(), Offer{Candidate: asking(t, "1.0.0", asksKV), Source: SourceUpload, By: by}); err != nil {
			t.Fatal(err)
		}
		w.shut()
		if waits := strings.Contains(logged.String(), "a plugin waits for approval"); !waits || strings.Contains(logged.String(), "[WARN]") != want {
			t.Errorf("%s:\n%s", by.Actor, logged.String())
		}
	}
}

// A first version that waits still waits after the configuration disabled it for a while.
func TestDisabledByTheConfigurationWhileItWaits(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.offer(asking(t, "1.0.0", asksKV), SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	w.options.Settings = map[string]Settings{"acme/a": {Disabled: true}, "acme/unknown": {Disabled: true}}
	if err := w.Configure(t.Context(), ann, w.options.Settings, nil); err != nil {
		t.Fatal(err)
	}
	if status := w.show("acme/a"); status.State != session.PluginStateDisabled || !status.Configured {
		t.Errorf("%+v", status)
	}
	w.options.Settings = nil
	w.restart(nil)
	w.eventually(func() bool { return w.show("acme/a").State == session.PluginStateHeld })
	if _, err := w.Approve(t.Context(), ann, Ref{ID: "acme/a"}, Approval{}); err != nil {
		t.Error(err)
	}
	w.says("greet", "1.0.0")
}

// In development what the configured folders hold is granted all it asks for, and nothing
// else is.
func TestDevelopment(t *testing.T) {
	w := newWorld(t, Options{Development: true})
	folder := t.TempDir()
	deposit(t, folder, "a.wasm", asking(t, "1.0.0", asksKV))
	w.start(nil, folder)
	w.says("greet", "1.0.0")
	if status := w.show("acme/a"); !cmp.Equal(status.Terms.Grants, []string{"kv"}) {
		t.Errorf("%+v", status.Terms)
	}
	if err := w.offer(versioned(t, saying("x"), "acme/up", "1.0.0", toolTable("up")+asksKV), SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	if state := w.show("acme/up").State; state != session.PluginStateHeld {
		t.Error(state)
	}
}

// A project's plugins are looked at when its folder is trusted, and each version serves
// when it is approved by itself, whatever it asks for.
func TestProjects(t *testing.T) {
	w := newWorld(t, Options{Development: true})
	root := t.TempDir()
	plugins := filepath.Join(root, filepath.FromSlash(ProjectFolder))
	first := greeter(t, "acme/a", "1.0.0", "one")
	deposit(t, plugins, "a.wasm", first)
	w.start(nil)
	if all := w.List(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	ref := Ref{"acme/a", root}
	if err := w.Distrust(t.Context(), ann, root); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	for range 2 { // the second time nothing is new
		if err := w.Trust(t.Context(), ann, root); err != nil {
			t.Fatal(err)
		}
	}
	w.wantHistory("trusted "+root, "held acme/a")
	if diff := cmp.Diff([]string{root}, w.Trusted()); diff != "" {
		t.Error(diff)
	}
	status, err := w.Show(ref)
	if err != nil || status.State != session.PluginStateHeld || status.Held.Reason != "a project's plugin serves when this very version is approved" {
		t.Fatalf("%+v %v", status, err)
	}
	if _, err := w.Approve(t.Context(), ann, ref, Approval{}); err != nil {
		t.Fatal(err)
	}
	inside := w.registries.Pin(root)
	turn{w, inside}.says("greet", "one")
	inside.Release()
	if names := w.names(); names != nil {
		t.Errorf("elsewhere: %q", names)
	}
	// Another version waits, although it asks for nothing, also over a restart.
	deposit(t, plugins, "a.wasm", greeter(t, "acme/a", "2.0.0", "two"))
	w.await("held acme/a", 2)
	w.restart(nil)
	inside = w.registries.Pin(root)
	turn{w, inside}.says("greet", "one")
	inside.Release()
	if _, err := w.Approve(t.Context(), ann, ref, Approval{}); err != nil {
		t.Fatal(err)
	}
	inside = w.registries.Pin(root)
	turn{w, inside}.says("greet", "two")
	inside.Release()
	// Without trust all of it is gone.
	if err := w.Distrust(t.Context(), ann, root); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Show(ref); !errors.Is(err, ErrUnknown) || len(w.Trusted()) != 0 {
		t.Errorf("%v %q", err, w.Trusted())
	}
	deposit(t, plugins, "a.wasm", first)
	w.restart(nil)
	if all := w.List(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	// Trusted again, what was approved before is not approved any more.
	if err := w.Trust(t.Context(), ann, root); err != nil {
		t.Fatal(err)
	}
	if status, err := w.Show(ref); err != nil || status.State != session.PluginStateHeld {
		t.Errorf("%+v %v", status, err)
	}
}

// Disabled by hand it is back by hand, disabled by the configuration only by that.
func TestDisabling(t *testing.T) {
	w := newWorld(t, Options{})
	folder := t.TempDir()
	deposit(t, folder, "a.wasm", greeter(t, "acme/a", "1.0.0", "one"))
	w.start(nil, folder)
	old := w.turn()
	ref := Ref{ID: "acme/a"}
	for range 2 {
		if plugin, err := w.Disable(t.Context(), ann, ref); err != nil || plugin.State != session.PluginStateDisabled || plugin.Configured {
			t.Fatalf("%+v %v", plugin, err)
		}
	}
	if names := w.names(); names != nil {
		t.Errorf("%q", names)
	}
	old.says("greet", "one")
	old.pin.Release()
	deposit(t, folder, "a.wasm", greeter(t, "acme/a", "2.0.0", "two"))
	w.restart(nil, folder)
	if names, status := w.names(), w.show("acme/a"); names != nil || status.State != session.PluginStateDisabled || status.Serving {
		t.Errorf("%q %+v", names, status)
	}
	if plugin, err := w.Enable(t.Context(), ann, ref); err != nil || plugin.State != session.PluginStateActive {
		t.Fatalf("%+v %v", plugin, err)
	}
	w.await("activated acme/a", 3) // the version that came meanwhile
	w.eventually(func() bool { status := w.show("acme/a"); return status.Current().Version == "2.0.0" && status.Serving })
	w.says("greet", "two")

	configure := func(settings Settings) {
		t.Helper()
		if err := w.Configure(t.Context(), ann, map[string]Settings{"acme/a": settings}, nil); err != nil {
			t.Fatal(err)
		}
	}
	configure(Settings{Disabled: true})
	if status := w.show("acme/a"); status.State != session.PluginStateDisabled || !status.Configured || len(w.names()) != 0 {
		t.Errorf("%+v", status)
	}
	if _, err := w.Enable(t.Context(), ann, ref); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `[plugins."acme/a"]`) {
		t.Errorf("%v", err)
	}
	w.options.Settings = map[string]Settings{"acme/a": {Disabled: true}}
	w.restart(nil, folder)
	if status := w.show("acme/a"); status.State != session.PluginStateDisabled || !status.Configured {
		t.Errorf("%+v", status)
	}
	configure(Settings{})
	w.says("greet", "two")
	// By hand it stays so, whatever the configuration says.
	if _, err := w.Disable(t.Context(), ann, ref); err != nil {
		t.Fatal(err)
	}
	configure(Settings{Disabled: true})
	configure(Settings{})
	if status := w.show("acme/a"); status.State != session.PluginStateDisabled || status.Configured {
		t.Errorf("%+v", status)
	}
}
