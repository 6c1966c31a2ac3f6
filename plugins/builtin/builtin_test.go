package builtin_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/plinthhost/plinth/abi/pack"
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/plugins/builtin"
)

// manifestOf decodes the manifest inside a packed module, strictly.
func manifestOf(t *testing.T, module []byte) abi.Manifest {
	t.Helper()
	text, err := pack.Manifest(module)
	if err != nil {
		t.Fatal(err)
	}
	var manifest abi.Manifest
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&manifest); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return manifest
}

func TestEveryModuleIsAWholePlugin(t *testing.T) {
	previous := ""
	for _, plugin := range builtin.All() {
		manifest := manifestOf(t, plugin.Wasm)
		if manifest.ID != plugin.ID || manifest.ID <= previous {
			t.Errorf("%s carries the manifest of %s", plugin.ID, manifest.ID)
		}
		previous = plugin.ID
		if manifest.Schema != 1 || len(manifest.Tools)+len(manifest.Contexts)+len(manifest.Providers)+len(manifest.Transforms) == 0 {
			t.Errorf("%s: %+v", plugin.ID, manifest)
		}
		// What edits requests serves only where somebody asked for it.
		if plugin.Off != (len(manifest.Transforms) > 0) {
			t.Errorf("%s is off: %v", plugin.ID, plugin.Off)
		}
		if manifest.Dev != nil || manifest.Goldens != nil {
			t.Errorf("%s names files that it does not carry", plugin.ID)
		}
		for _, tool := range manifest.Tools {
			checkSchema(t, tool.Input)
			checkSchema(t, tool.Output)
		}
		for _, source := range manifest.Contexts {
			checkSchema(t, source.Schema)
		}
	}
}

func TestTheExampleIsPacked(t *testing.T) {
	module, err := os.ReadFile("../examples/house-rules/house-rules.wasm")
	if err != nil {
		t.Fatal(err)
	}
	manifest := manifestOf(t, module)
	if manifest.ID != "example/house-rules" || len(manifest.Transforms) != 1 || manifest.Config == nil {
		t.Fatalf("%+v", manifest)
	}
	checkSchema(t, manifest.Config.Schema)
}

func checkSchema(t *testing.T, schema string) {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(schema), &decoded); err != nil || decoded["type"] == nil {
		t.Errorf("the schema %q: %v", schema, err)
	}
}
