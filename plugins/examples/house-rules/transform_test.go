package main

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func run(t *testing.T, name string) (abi.TransformEdits, error) {
	t.Helper()
	return plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform, abi.TransformApply{Transform: name, Purpose: "turn"})
}

func TestWithoutRulesNothingIsAdded(t *testing.T) {
	for _, config := range []any{map[string]any{}, map[string]any{"rules": []string{}}} {
		if err := plinthtest.Configure(t, config); err != nil {
			t.Fatal(err)
		}
		got, err := run(t, "house-rules")
		if err != nil || got.Edits == nil || len(got.Edits) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestRulesAreTrimmed(t *testing.T) {
	if err := plinthtest.Configure(t, map[string]any{"rules": []string{" One.\n", "Two."}}); err != nil {
		t.Fatal(err)
	}
	got, err := run(t, "house-rules")
	if err != nil || len(got.Edits) != 1 || string(got.Edits[0].Value) != `"House rules:\n- One.\n- Two."` {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	for config, want := range map[string]string{
		`{"rules":["a"," "]}`: "rules[1] is empty",
		`{"rule":["a"]}`:      `unknown field "rule"`,
		`{"rules":"a"}`:       "the plugin's configuration",
	} {
		err := plinthtest.Configure(t, raw(config))
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}

func TestAnUnknownTransformIsNotFound(t *testing.T) {
	if _, err := run(t, "other"); err == nil || !strings.HasPrefix(err.Error(), "not_found: ") {
		t.Errorf("%v", err)
	}
}

// raw is JSON as it is.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }
