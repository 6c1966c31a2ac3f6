package wire

import (
	"encoding/json"
	"testing"
)

func TestSchemasBecomeOneObject(t *testing.T) {
	for in, want := range map[string]string{
		``: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`: `{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		`{}`:                              `{"properties":{},"type":"object"}`,
		` {"t\u0079pe" : "object"}`:       ` {"t\u0079pe" : "object"}`,
		`{"type":"object","type":"null"}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{},"anyOf":[{}]}`:   `{"properties":{},"type":"object"}`,
		`{"type":["object","null"],"properties":{"a":{}}}`: `{"properties":{"a":{}},"type":"object"}`,
		`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"type":"null"},{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}],"description":"d"}`: `{"description":"d","properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]},"b":{}},"required":["a"],"type":"object"}`,
		`{"oneOf":[{"required":["x"]}],"properties":{"y":{}},"required":["y"]}`: `{"properties":{"y":{}},"required":["y","x"],"type":"object"}`,
	} {
		got, err := ObjectSchema(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
	for _, in := range []string{`null`, `[]`, `{"anyOf":1}`, `{"anyOf":[{"properties":1}]}`, `{"anyOf":[{"required":"a"}]}`} {
		if got, err := ObjectSchema(json.RawMessage(in)); err == nil {
			t.Errorf("%s is taken: %s", in, got)
		}
	}
}
