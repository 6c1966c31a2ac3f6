package plugin

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// hello is a native plugin with a tool that answers the text.
func hello(w *sessiontest.World, version, text string) Native {
	tool := sessiontest.Tool{Define: session.ToolDefinition{Name: "hello"},
		Run: func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			return sessiontest.Output(text), nil
		}}
	return Native{ID: "core/hello", Version: version, Description: "Says hello", Contributions: []registry.Contribution{w.Kinds.Tools.Contribute("hello", 0, session.Tool(tool))}}
}

// begun starts a manager over the world's log; natives are those of the program.
func begun(t *testing.T, w *sessiontest.World, options Options, natives ...Native) *Manager {
	t.Helper()
	w.Registries = w.Kinds.Registries()
	m := managerOver(t, w, options)
	for _, native := range natives {
		if err := m.Native(native); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Start(t.Context(), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// says is what the tool hello answers, "" when there is none.
func says(t *testing.T, w *sessiontest.World) string {
	t.Helper()
	pin := w.Registries.Pin("")
	defer pin.Release()
	entry, ok := registry.Lookup(pin, w.Kinds.Tools, "hello")
	if !ok {
		return ""
	}
	output, err := entry.Value.Execute(t.Context(), session.ToolCall{})
	if err != nil {
		t.Fatal(err)
	}
	return output.Content[0].Text
}

func hostEvents(t *testing.T, w *sessiontest.World) (types []string) {
	t.Helper()
	page, err := w.Log.Read(t.Context(), session.Host, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page.Events {
		types = append(types, strings.TrimPrefix(event.Type, "host.plugin."))
	}
	return types
}

func TestNativePluginsArePlugins(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	by, ref := session.Origin{Actor: "test"}, Ref{ID: "core/hello"}
	expect := func(what, text string, events ...string) {
		t.Helper()
		if got := says(t, w); got != text {
			t.Errorf("%s: it says %q, not %q", what, got, text)
		}
		if got := hostEvents(t, w); !slices.Equal(got, events) {
			t.Errorf("%s: the log has %q", what, got)
		}
	}
	m := begun(t, w, Options{}, hello(w, "1.0.0", "one"))
	expect("at first", "one", "staged", "activated")
	status, err := m.Show(ref)
	if err != nil || !status.Serving || status.Current().Source != SourceNative || status.Current().Version != "1.0.0" || status.Manifest.Description != "Says hello" {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := m.Disable(t.Context(), by, ref); err != nil {
		t.Fatal(err)
	}
	if got := says(t, w); got != "" {
		t.Errorf("disabled: it says %q", got)
	}
	closed(t, m)

	m = begun(t, w, Options{}, hello(w, "1.0.0", "one"))
	if got := says(t, w); got != "" {
		t.Errorf("disabled, after a restart: it says %q", got)
	}
	if _, err := m.Enable(t.Context(), by, ref); err != nil {
		t.Fatal(err)
	}
	expect("enabled", "one", "staged", "activated", "disabled", "retired", "enabled", "activated")
	if err := m.Remove(t.Context(), by, ref, Removal{}); err == nil || !strings.Contains(err.Error(), "disable it instead") {
		t.Errorf("removed: %v", err)
	}
	closed(t, m)

	before := hostEvents(t, w)
	m = begun(t, w, Options{}, hello(w, "1.0.0", "one"))
	expect("after a restart", "one", before...) // which has nothing to say
	closed(t, m)

	m = begun(t, w, Options{}, hello(w, "2.0.0", "two"))
	if got := says(t, w); got != "two" {
		t.Errorf("another version: it says %q", got)
	}
	closed(t, m)
	if got := hostEvents(t, w); !slices.Equal(got[:min(len(got), len(before)+2)], append(slices.Clone(before), "staged", "activated")) {
		t.Errorf("another version: the log has %q", got)
	}

	m = begun(t, w, Options{Settings: map[string]Settings{"core/hello": {Disabled: true}}}, hello(w, "2.0.0", "two"))
	if got := says(t, w); got != "" {
		t.Errorf("disabled by the configuration: it says %q", got)
	}
	closed(t, m)
	m = begun(t, w, Options{}, hello(w, "2.0.0", "two"))
	if got := says(t, w); got != "two" {
		t.Errorf("enabled by the configuration: it says %q", got)
	}
	closed(t, m)

	m = begun(t, w, Options{})
	if all := m.List(); len(all) != 0 || says(t, w) != "" {
		t.Errorf("the program has it no more: %+v", all)
	}
	if got := hostEvents(t, w); got[len(got)-1] != "removed" {
		t.Errorf("%q", got)
	}
}

// A turn that pinned a native revision goes on with it.
func TestANativePluginServesItsPins(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	m := begun(t, w, Options{}, hello(w, "1.0.0", "one"))
	pin := w.Registries.Pin("")
	if _, err := m.Disable(t.Context(), session.Origin{Actor: "test"}, Ref{ID: "core/hello"}); err != nil {
		t.Fatal(err)
	}
	entry, ok := registry.Lookup(pin, w.Kinds.Tools, "hello")
	if !ok || entry.Revision == "" {
		t.Fatalf("%+v", entry)
	}
	if output, err := entry.Value.Execute(t.Context(), session.ToolCall{}); err != nil || output.Content[0].Text != "one" {
		t.Errorf("%+v, %v", output, err)
	}
	pin.Release()
}

func TestNativePluginsThatAreNotTaken(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	m := managerOver(t, w, Options{})
	good := hello(w, "1.0.0", "one")
	if err := m.Native(good); err != nil {
		t.Fatal(err)
	}
	for want, bad := range map[string]Native{
		"must begin with core/": {ID: "acme/hello", Version: "1", Contributions: good.Contributions},
		"version is missing":    {ID: "core/b", Contributions: good.Contributions},
		"contributes nothing":   {ID: "core/b", Version: "1"},
		"there is one":          good,
	} {
		if err := m.Native(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
