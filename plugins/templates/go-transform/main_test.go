package main

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/schema"
)

// The schema file is made of the type; plinth plugin test --update writes it.
func TestSchemas(t *testing.T) {
	plinthtest.Schemas(t, map[string][]byte{"config.schema.json": schema.Of[settings]()})
}

// edits applies the transform natively, under some settings.
func edits(t *testing.T, config settings, system ...abi.TextPart) []abi.Edit {
	t.Helper()
	if err := plinthtest.Configure(t, config); err != nil {
		t.Fatal(err)
	}
	answer, err := plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform,
		abi.TransformApply{Transform: "new-plugin", Purpose: "turn", System: system})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Edits
}

func TestWithoutRulesNothingIsAdded(t *testing.T) {
	if got := edits(t, settings{Title: "Rules"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestRulesAreAddedOnce(t *testing.T) {
	config := settings{Title: "House rules", Rules: []string{" Be brief.\n", "Cite."}}
	added := edits(t, config, abi.TextPart{ID: "core", Text: "You help."})
	if len(added) != 1 || added[0].Op != abi.EditAppend || string(added[0].Value) != `"House rules:\n- Be brief.\n- Cite."` {
		t.Errorf("%+v", added)
	}
	again := edits(t, config, abi.TextPart{ID: partID, Text: "older"})
	if len(again) != 1 || again[0].Op != abi.EditReplace || again[0].ID != partID {
		t.Errorf("%+v", again)
	}
}

func TestAnEmptyRuleIsNamed(t *testing.T) {
	err := plinthtest.Configure(t, settings{Rules: []string{"a", " "}})
	if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), "rules[1] is empty") {
		t.Errorf("%v", err)
	}
}
