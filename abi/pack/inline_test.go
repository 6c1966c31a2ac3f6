package pack

import (
	"fmt"
	"strings"
	"testing"
)

// reader reads from a map.
func reader(files map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		content, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("there is no file")
		}
		return []byte(content), nil
	}
}

const head = "id = 'a/b'\nversion = '1'\n"

func TestSchemasGoIntoTheManifest(t *testing.T) {
	text := head + `
[config]
schema = "c.json"
[[tool]]
name = "t"
input = "i.json"
output = '{ "type": "object" }'
[[context]]
key = "a/b/c"
schema = "c.json"
[dev]
build = "make"
[[golden]]
export = "tool"
input = "in.json"
output = "out.json"
`
	read := reader(map[string]string{"c.json": "{\n  \"c\": true\n}\n", "i.json": `{ "i": "it's" }`})
	got, err := Inlined([]byte(text), read, "dev", "golden")
	if err != nil {
		t.Fatal(err)
	}
	want := `id = 'a/b'
version = '1'

[config]
schema = '{"c":true}'

[[context]]
key = 'a/b/c'
schema = '{"c":true}'

[[tool]]
input = "{\"i\":\"it's\"}"
name = 't'
output = '{"type":"object"}'
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again, err := Inlined(got, reader(nil)); err != nil || string(again) != want {
		t.Errorf("what was inlined is not its own form: %v\n%s", err, again)
	}
	if whole, err := Inlined([]byte(text), read); err != nil || !strings.Contains(string(whole), "[[golden]]") || !strings.Contains(string(whole), "[dev]") {
		t.Errorf("%v\n%s", err, whole)
	}
}

func TestOneTableStandsForAList(t *testing.T) {
	got, err := Inlined([]byte(head+"[tool]\ninput = 'i.json'\n"), reader(map[string]string{"i.json": "{ }"}))
	if err != nil || !strings.Contains(string(got), "input = '{}'") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ manifest, says string }{
		"not TOML": {head + "id =", "toml: "},
		"no file":  {head + "[[tool]]\nname = 't'\n[[tool]]\ninput = 'none.json'", "tool.input: none.json: there is no file"},
		"not JSON": {head + "[config]\nschema = 'c.json'", "config.schema: c.json is not JSON: "},
	} {
		_, err := Inlined([]byte(c.manifest), reader(map[string]string{"c.json": "x"}))
		if err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
