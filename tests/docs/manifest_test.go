package docs

import (
	"reflect"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
)

// TestManifest holds docs/reference/manifest.md to the manifest's keys, and its
// example to what the host accepts.
func TestManifest(t *testing.T) {
	w := table{head: []string{"key", "type", "meaning"}, written: 1}
	manifestKeys(&w, "", reflect.TypeFor[abi.Manifest]())
	hold(t, "docs/reference/manifest.md", map[string]table{"keys": w})
	for _, b := range readPage(t, "docs/reference/manifest.md").blocks {
		if b.language != "toml" {
			continue
		}
		if _, err := plugin.DecodeManifest("docs/reference/manifest.md", []byte(b.text), nil); err != nil {
			t.Errorf("the block at line %d: %v", b.line, err)
		}
	}
}

func manifestKeys(w *table, above string, t reflect.Type) {
	for field := range t.Fields() {
		key, kind, inner := above+field.Tag.Get("toml"), "", field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			w.rows = append(w.rows, []string{code("[[" + key + "]]"), "tables"})
			manifestKeys(w, key+".", inner.Elem())
			continue
		case inner.Kind() == reflect.Struct:
			w.rows = append(w.rows, []string{code("[" + key + "]"), "table"})
			manifestKeys(w, key+".", inner)
			continue
		case inner.Kind() == reflect.Slice:
			kind = "list of strings"
		case inner.Kind() == reflect.Interface:
			kind = "table or string"
		case inner.Kind() == reflect.Bool:
			kind = "true or false"
		case inner.Kind() == reflect.String:
			kind = "string"
		default:
			kind = "whole number"
		}
		w.rows = append(w.rows, []string{code(key), kind})
	}
}
