package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCatalog(t *testing.T, options catalog.Options) *catalog.Catalog {
	t.Helper()
	if options.Now == nil {
		options.Now = time.Now
	}
	options.Logger = hclog.New(&hclog.LoggerOptions{Output: t.Output()})
	c, err := catalog.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ref(text string) session.ModelRef {
	model, err := session.ParseModel(text)
	if err != nil {
		panic(err)
	}
	model.Model, model.Variant, _ = strings.Cut(model.Model, ":")
	return model
}

func model(t *testing.T, c *catalog.Catalog, of session.ModelRef) session.ModelInfo {
	t.Helper()
	info, err := c.Model(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestRefusedModels(t *testing.T) {
	c := newCatalog(t, catalog.Options{
		Providers: map[string]catalog.Provider{
			"any": {}, "some": {Models: []string{"b", "a"}}, "fixed": {Fixed: map[string]catalog.Override{"rules": {}}},
		},
		Configured: map[session.ModelRef]catalog.Override{
			ref("any/off"): {Disabled: true}, ref("any/plain"): {Context: 1},
			ref("any/varied"): {Variants: map[string]catalog.Request{"low": {}, "high": {}}},
		},
	})
	for text, want := range map[string]session.ModelError{
		"some/":         {Reason: session.ModelNotSelected, Message: `no model is chosen; set model = "provider/model" in the configuration, or name one with the session or the prompt`},
		"/a":            {Reason: session.ModelNotSelected, Message: `no model is chosen; set model = "provider/model" in the configuration, or name one with the session or the prompt`},
		"none/a":        {Reason: session.ModelUnavailable, Message: `there is no provider "none"; known are any, fixed, some; add a table [providers.none]`},
		"some/c":        {Reason: session.ModelUnavailable, Message: `the provider "some" has no model "c" to choose; there are b, a; add it to models in [providers.some]`},
		"fixed/c":       {Reason: session.ModelUnavailable, Message: `the provider "fixed" has no model "c" to choose; there are rules`},
		"any/off":       {Reason: session.ModelUnavailable, Message: `the model any/off is disabled in [models."any/off"]`},
		"any/off:x":     {Reason: session.ModelUnavailable, Message: `the model any/off is disabled in [models."any/off"]`},
		"any/varied:x":  {Reason: session.ModelVariant, Message: `the model any/varied has no variant "x"; there are high, low, and default for its own settings`},
		"any/plain:x":   {Reason: session.ModelVariant, Message: `the model any/plain has no variant "x"; it has none, add a table [models."any/plain".variants.x]`},
		"any/unknown:x": {Reason: session.ModelVariant, Message: `the model any/unknown has no variant "x"; it has none, add a table [models."any/unknown".variants.x]`},
	} {
		provider, name, _ := strings.Cut(text, "/")
		name, variant, _ := strings.Cut(name, ":")
		want.Ref = session.ModelRef{Provider: provider, Model: name, Variant: variant}
		info, err := c.Model(t.Context(), want.Ref)
		got, ok := errors.AsType[*session.ModelError](err)
		if !ok {
			t.Errorf("%s: %+v, %v", text, info, err)
			continue
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"any/unknown", "any/unknown:default", "some/a", "fixed/rules", "any/varied:low"} {
		if _, err := c.Model(t.Context(), ref(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLayers lays a configured model over a builtin one, and its variants over that.
func TestLayers(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	whole := func(n int64) *int64 { return &n }
	own := catalog.Request{
		Generation: session.Generation{MaxTokens: whole(100), Temperature: number(1), Stop: []string{"a"}},
		Options:    map[string]json.RawMessage{"effort": json.RawMessage(`"low"`), "store": json.RawMessage(`false`)},
		Headers:    map[string]string{"x-team": "one", "X-Plan": "a"},
		FirstEvent: time.Second, Idle: time.Minute,
	}
	c := newCatalog(t, catalog.Options{
		Providers: map[string]catalog.Provider{"p": {System: "You are p's."}, "q": {System: "You are q's."}},
		Configured: map[session.ModelRef]catalog.Override{
			ref("p/gpt-4o"): {Name: "Ours", System: "You are ours.", Output: 5, Request: own, Variants: map[string]catalog.Request{
				"high": {
					Generation: session.Generation{MaxTokens: whole(200), TopP: number(0), Seed: whole(0), Stop: []string{}},
					Options:    map[string]json.RawMessage{"effort": json.RawMessage(`{"level":"high"}`)},
					Headers:    map[string]string{"X-Team": "two"},
					Idle:       time.Hour,
				},
				"same": {},
			}},
			ref("q/gpt-4o"): {Price: &session.Price{Input: 1}, Capabilities: session.Capabilities{Known: true}, Context: 64000},
		},
	})
	builtin := session.ModelInfo{
		Name: "GPT-4o", Context: 128000, Output: 16384, Price: &session.Price{Input: 25e8, Output: 10e9, CacheRead: 125e7, CacheWrite: 25e8},
		Capabilities: session.Capabilities{Known: true, Tools: true, Images: true, Documents: true},
	}
	plain := builtin
	plain.Ref, plain.Name, plain.Output = ref("p/gpt-4o"), "Ours", 5
	plain.Generation, plain.Options, plain.FirstEvent, plain.Idle = own.Generation, own.Options, time.Second, time.Minute
	plain.System = "You are ours."
	plain.Headers = map[string]string{"X-Team": "one", "X-Plan": "a"}
	high := plain
	high.Ref = ref("p/gpt-4o:high")
	high.Generation = session.Generation{MaxTokens: whole(200), Temperature: number(1), TopP: number(0), Seed: whole(0), Stop: []string{}}
	high.Options = map[string]json.RawMessage{"effort": json.RawMessage(`{"level":"high"}`), "store": json.RawMessage(`false`)}
	high.Headers = map[string]string{"X-Team": "two", "X-Plan": "a"}
	high.Idle = time.Hour
	same := plain
	same.Ref = ref("p/gpt-4o:same")
	cheap := builtin
	cheap.System = "You are q's."
	cheap.Ref, cheap.Price, cheap.Capabilities, cheap.Context = ref("q/gpt-4o"), &session.Price{Input: 1}, session.Capabilities{Known: true}, 64000
	for text, want := range map[string]session.ModelInfo{
		"p/gpt-4o:high": high, "p/gpt-4o": plain, "p/gpt-4o:default": plain, "p/gpt-4o:same": same, "q/gpt-4o": cheap,
		"q/nothing": {Ref: ref("q/nothing"), System: "You are q's."},
	} {
		if diff := cmp.Diff(want, model(t, c, ref(text))); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestList(t *testing.T) {
	c := newCatalog(t, catalog.Options{
		Providers: map[string]catalog.Provider{
			"any": {}, "some": {Models: []string{"zeta", "gpt-4o"}}, "empty": {},
			"offline": {Fixed: map[string]catalog.Override{"rules": {Context: 128000, Price: &session.Price{}}}},
		},
		Configured: map[session.ModelRef]catalog.Override{
			ref("any/mine"): {Variants: map[string]catalog.Request{"b": {}, "a": {}}}, ref("any/off"): {Disabled: true},
			ref("some/gpt-4o"): {Output: 1}, ref("some/other"): {}, ref("gone/mine"): {},
		},
		Default: ref("any/usual"),
	})
	line := func(e catalog.Entry) string {
		parts := []string{e.Ref.String()}
		for _, source := range e.Sources {
			parts = append(parts, string(source))
		}
		return strings.Join(append(parts, e.Variants...), " ")
	}
	lines := func(selection catalog.Selection) (all []string) {
		entries, warnings := c.List(t.Context(), selection)
		if len(warnings) > 0 {
			t.Errorf("warnings: %q", warnings)
		}
		for _, entry := range entries {
			all = append(all, line(entry))
		}
		return all
	}
	want := []string{"any/mine configured a b", "any/usual", "offline/rules builtin", "some/gpt-4o builtin configured", "some/zeta"}
	if diff := cmp.Diff(want, lines(catalog.Selection{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[3:], lines(catalog.Selection{Provider: "some"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string(nil), lines(catalog.Selection{Provider: "empty"})); diff != "" {
		t.Error(diff)
	}
	if cost := model(t, c, ref("offline/rules")).Cost(session.Usage{Input: 5, Output: 5}); cost == nil || *cost != 0 {
		t.Errorf("the offline model costs %v, want 0", cost)
	}
}

func TestCapabilities(t *testing.T) {
	all := catalog.CapabilityNames()
	parsed, unknown := catalog.ParseCapabilities(all)
	want := session.Capabilities{Known: true, Tools: true, Reasoning: true, Images: true, Documents: true}
	if diff := cmp.Diff(want, parsed); diff != "" || unknown != "" {
		t.Error(diff, unknown)
	}
	if diff := cmp.Diff(all, catalog.FormatCapabilities(parsed)); diff != "" {
		t.Error(diff)
	}
	if got := catalog.FormatCapabilities(session.Capabilities{Tools: true}); got != nil {
		t.Errorf("capabilities that are not known are %q", got)
	}
	if none, _ := catalog.ParseCapabilities(nil); catalog.FormatCapabilities(none) == nil || !none.Known {
		t.Error("none is not told from unknown")
	}
	if got, unknown := catalog.ParseCapabilities([]string{"tools", "telepathy"}); unknown != "telepathy" || !cmp.Equal(got, session.Capabilities{}, cmpopts.EquateEmpty()) {
		t.Errorf("%+v, %q", got, unknown)
	}
}
