package main

import (
	"encoding/json"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func TestThePolicyIsSet(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                `"auto"`,
		`{"policy":"none"}`: `"none"`,
		`{"policy":{"tools":true,"messages":{"tail":2},"ttl_seconds":3600}}`: `{"tools":true,"messages":{"tail":2},"ttl_seconds":3600}`,
	} {
		if err := plinthtest.Configure(t, json.RawMessage(config)); err != nil {
			t.Fatal(err)
		}
		for _, options := range []map[string]json.RawMessage{nil, {"openai": json.RawMessage(`{}`)}, {"cache": json.RawMessage(`"none"`)}} {
			got, err := plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform, abi.TransformApply{Transform: "cache-marks", Purpose: "turn", Options: options})
			if err != nil {
				t.Fatal(err)
			}
			if _, said := options["cache"]; said {
				if len(got.Edits) != 0 {
					t.Errorf("the model's own policy is overwritten: %+v", got)
				}
				continue
			}
			if len(got.Edits) != 1 || got.Edits[0].Part != "options" || got.Edits[0].Op != abi.EditSet || got.Edits[0].ID != "cache" || string(got.Edits[0].Value) != want {
				t.Errorf("%s: %+v, want %s", config, got, want)
			}
		}
	}
}
