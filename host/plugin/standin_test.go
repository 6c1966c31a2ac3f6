package plugin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

const sourceTables = "[[context]]\nkey = \"acme/facts/b\"\nschema = '{\"type\":\"integer\"}'\n[[context]]\nkey = \"acme/facts/a\"\n"

// contexts answers what is registered of context sources, by name.
func (w *world) contexts() map[string]session.ContextSource {
	pin := w.registries.Pin("")
	defer pin.Release()
	all := map[string]session.ContextSource{}
	for _, entry := range registry.All(pin, w.kinds.Contexts) {
		all[entry.Name] = entry.Value
	}
	return all
}

// unavailable holds the source to answering that all of its keys are.
func isUnavailable(t *testing.T, source session.ContextSource, keys ...string) {
	t.Helper()
	if source == nil {
		t.Fatalf("nothing is registered for %q", keys)
	}
	states, err := source.Observe(t.Context(), session.Observation{})
	var got []string
	for _, state := range states {
		if state.State == session.SourceUnavailable {
			got = append(got, state.Key)
		}
	}
	if diff := cmp.Diff(keys, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	if diff := cmp.Diff(keys, source.Keys()); diff != "" {
		t.Error(diff)
	}
}

func TestTheSourcesOfAPluginThatFailsAreUnavailable(t *testing.T) {
	w := newWorld(t, Options{Settings: map[string]Settings{"acme/facts": {Required: true}, "acme/off": {Disabled: true}}})
	broken := packed(t, saying("x").Answers(abi.ExportContext, `{}`), manifest("acme/facts", sourceTables+"[limits]\nmemory_mib = 1\n"))
	if err := w.add(broken); err == nil {
		t.Fatal("it was added")
	}
	isUnavailable(t, w.contexts()["acme/facts"], "acme/facts/a", "acme/facts/b")
	spec := w.contexts()["acme/facts"].(session.SourceSpecifier).Spec()
	if !spec.Required || string(spec.Schemas["acme/facts/b"]) != `{"type":"integer"}` || len(spec.Schemas) != 1 {
		t.Errorf("spec %+v", spec)
	}
	if diff := cmp.Diff([]string{"context acme/facts of acme/facts"}, w.names()); diff != "" {
		t.Errorf("of other kinds nothing is registered: %s", diff)
	}
	// A disabled one is absent.
	off := packed(t, saying("x").Answers(abi.ExportContext, `{}`), manifest("acme/off", "[[context]]\nkey = \"acme/off/a\"\n"))
	if err := w.add(off); err != nil || len(w.contexts()) != 1 {
		t.Errorf("%v, sources %v", err, w.contexts())
	}
	// One that runs takes the place of what stands in, and says the same of itself.
	good := packed(t, saying("x").Answers(abi.ExportContext, `{"ok":{"sources":[]}}`), manifest("acme/facts", sourceTables))
	if err := w.add(good); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, w.contexts()["acme/facts"].(session.SourceSpecifier).Spec()); diff != "" {
		t.Error(diff)
	}
	if states, err := w.contexts()["acme/facts"].Observe(t.Context(), session.Observation{}); err != nil || len(states) != 0 {
		t.Errorf("the plugin is not asked: %v %v", states, err)
	}
	// One that fails beside one that runs changes nothing.
	if err := w.add(broken); err == nil {
		t.Error("a second one of the id was added")
	}
	if states, err := w.contexts()["acme/facts"].Observe(t.Context(), session.Observation{}); err != nil || len(states) != 0 {
		t.Errorf("the plugin is not asked any more: %v %v", states, err)
	}
}

func TestARequiredPluginThatIsNotThere(t *testing.T) {
	w := newWorld(t, Options{Settings: map[string]Settings{"acme/gone": {Required: true}, "acme/off": {Required: true, Disabled: true}, "acme/other": {}}})
	if err := w.requireMissing(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"context acme/gone of acme/gone"}, w.names()); diff != "" {
		t.Error(diff)
	}
	source := w.contexts()["acme/gone"]
	isUnavailable(t, source, "acme/gone")
	if !source.(session.SourceSpecifier).Spec().Required {
		t.Error("sessions begin without it")
	}
	configure := func(settings map[string]Settings) {
		t.Helper()
		if err := w.Configure(t.Context(), ann, settings, nil); err != nil {
			t.Fatal(err)
		}
	}
	configure(nil) // required no more
	if names := w.names(); names != nil {
		t.Errorf("%q", names)
	}
	configure(map[string]Settings{"acme/a": {Required: true}})
	isUnavailable(t, w.contexts()["acme/a"], "acme/a")
	if err := w.offer(greeter(t, "acme/a", "1.0.0", "one"), SourceUpload, ""); err != nil {
		t.Fatal(err)
	}
	if names := w.names(); slices.Contains(names, "context acme/a of acme/a") {
		t.Errorf("%q", names)
	}
	if err := w.Remove(t.Context(), ann, Ref{ID: "acme/a"}, Removal{}); err != nil {
		t.Fatal(err)
	}
	isUnavailable(t, w.contexts()["acme/a"], "acme/a")
}

// Nothing stands in for a plugin that asks for somebody else's key.
func TestAKeyOfSomebodyElse(t *testing.T) {
	w := newWorld(t, Options{})
	second := packed(t, saying("x").Answers(abi.ExportContext, `{"ok":{"sources":[]}}`), manifest("acme/two", "[[context]]\nkey = \"acme/two/x\"\n"))
	if _, err := w.registries.Replace(registry.Scope{ID: "core/one", Builtin: true, Contributions: []registry.Contribution{
		w.kinds.Contexts.Contribute("core/one", 0, session.ContextSource(standIn{keys: []string{"acme/two/x"}}))}}); err != nil {
		t.Fatal(err)
	}
	err := w.add(second)
	duplicate, ok := errors.AsType[*registry.DuplicateKeyError](err)
	if !ok || duplicate.Key != "acme/two/x" || duplicate.Scope != "acme/two" || duplicate.Holder != "core/one" {
		t.Errorf("%v", err)
	}
	reserved := packed(t, saying("x").Answers(abi.ExportContext, `{"ok":{"sources":[]}}`), manifest("host/agent", "[[context]]\nkey = \"host/agent\"\n"))
	if err := w.add(reserved); err == nil || !strings.HasSuffix(err.Error(), `cannot contribute the context source key "host/agent": it is the host's own; choose another`) {
		t.Errorf("the kernel's own key: %v", err)
	}
	if diff := cmp.Diff([]string{"context core/one of core/one"}, w.names()); diff != "" {
		t.Error(diff)
	}
}
