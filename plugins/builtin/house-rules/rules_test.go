package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func rules(rules ...string) any { return settings{Rules: rules} }

func TestRulesAreAdded(t *testing.T) {
	for _, c := range []struct {
		name   string
		config any
		want   string // the added text
	}{
		{"no settings", settings{}, ""},
		{"no rules", rules(), ""},
		{"trimmed", rules(" One.\n", "Two."), "Rules of this house, which hold for all work here:\n- One.\n- Two."},
		{"several lines", rules("One:\nits second line"), "Rules of this house, which hold for all work here:\n- One:\n  its second line"},
	} {
		if err := plinthtest.Configure(t, c.config); err != nil {
			t.Fatal(err)
		}
		got, err := plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform, abi.TransformApply{Transform: "house-rules", Purpose: "turn"})
		if err != nil {
			t.Fatal(err)
		}
		added := ""
		for _, edit := range got.Edits {
			var value string
			if err := json.Unmarshal(edit.Value, &value); err != nil || edit.Op != abi.EditAppend || edit.ID != partID {
				t.Errorf("%s: %+v, %v", c.name, edit, err)
			}
			added += value
		}
		if added != c.want {
			t.Errorf("%s: %q, want %q", c.name, added, c.want)
		}
	}
}

func TestBadRulesAreNamed(t *testing.T) {
	for _, c := range []struct {
		config any
		want   string
	}{
		{rules("a", " "), "rules[1] is empty"},
		{rules(strings.Split(strings.Repeat("a,", maxRules+1), ",")...), "rules has 102 entries, the limit is 100"},
		{rules(strings.Repeat("x", maxBytes)), "rules have 8195 bytes together, the limit is 8192"},
		{map[string]any{"rule": 1}, `unknown field "rule"`},
	} {
		if err := plinthtest.Configure(t, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if err := plinthtest.Configure(t, rules(strings.Repeat("x", maxBytes-3))); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}
