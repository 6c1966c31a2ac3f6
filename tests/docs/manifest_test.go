package docs

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
)

const manifestPage = "docs/reference/manifest.md"

// TestManifest holds docs/reference/manifest.md to the manifest's keys, and its
// example to what the host accepts.
func TestManifest(t *testing.T) {
	w := table{head: []string{"key", "type", "meaning"}, written: 1}
	manifestKeys(&w, "", reflect.TypeFor[abi.Manifest]())
	hold(t, manifestPage, map[string]table{"keys": w, "requests": requestsOfOperations(), "mistakes": requestMistakes(t)})
	for _, b := range readPage(t, manifestPage).blocks {
		if b.language != "toml" {
			continue
		}
		if _, err := plugin.DecodeManifest(manifestPage, []byte(b.text), nil); err != nil {
			t.Errorf("the block at line %d: %v", b.line, err)
		}
	}
}

// requestMistakes makes the table of wrong requests from its own first column: what is
// said of each, behind a manifest that is right.
func requestMistakes(t *testing.T) table {
	t.Helper()
	w := table{head: []string{"wrong", "is answered with"}}
	right := "schema = 1\nid = \"acme/x\"\nversion = \"1.0.0\"\ndescription = \"d\"\n[[context]]\nkey = \"acme/x\"\n"
	line := regexp.MustCompile(`^FILE:\d+: `)
	for _, match := range marked.FindAllStringSubmatch(readPage(t, manifestPage).text, -1) {
		if match[1] != "mistakes" {
			continue
		}
		for _, row := range rowsOf(match[2]) {
			_, err := plugin.DecodeManifest("FILE", []byte(right+strings.ReplaceAll(strings.Trim(row[0], "`"), "⏎ ", "\n")+"\n"), nil)
			if err == nil || !line.MatchString(err.Error()) {
				t.Errorf("%s: nothing is wrong with %s, or it has no line: %v", manifestPage, row[0], err)
				continue
			}
			w.rows = append(w.rows, []string{row[0], code(line.ReplaceAllString(err.Error(), "FILE:…: "))})
		}
	}
	return w
}

// requestsOfOperations has a row of each grant with the operations that need it.
func requestsOfOperations() table {
	w := table{head: []string{"request", "operations", "what they give, and what is asked all the same"}, written: 1}
	needing := map[string][]string{}
	for _, operation := range bridge.Table() {
		needing[operation.Grant] = append(needing[operation.Grant], code(operation.Name))
	}
	for _, grant := range slices.Sorted(maps.Keys(needing)) {
		request := code(grant)
		if grant == "" {
			request = "nothing"
		}
		w.rows = append(w.rows, []string{request, strings.Join(needing[grant], ", ")})
	}
	return w
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
		case inner.Kind() == reflect.Map:
			kind = "table of strings"
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
