package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func compile(t *testing.T, text string) *Schema {
	t.Helper()
	schema, err := Compile([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	schema := compile(t, `{
		"type": "object", "required": ["path"], "additionalProperties": false,
		"properties": {
			"path": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]*$"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 10},
			"mode": {"enum": ["fast", "slow"]},
			"when": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["at"]}]},
			"list": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/item"}},
			"a/b": {"type": "null"}
		},
		"$defs": {"item": {"type": "object", "properties": {"x": {"type": "number"}}}}
	}`)
	tests := []struct{ document, want string }{
		{`{"path":"ab","limit":10,"mode":"fast","when":"now","list":[{"x":1.5},{}],"a/b":null}`, ""},
		{`{}`, "missing property 'path'"},
		{`[]`, "got array, want object"},
		{`"x"`, "got string, want object"},
		{`{"path":""}`, "/path: minLength: got 0, want 1"},
		{`{"path":"abcdef"}`, "/path: maxLength: got 6, want 5"},
		{`{"path":"A"}`, "/path: 'A' does not match pattern '^[a-z]*$'"},
		{`{"path":"a","limit":0}`, "/limit: minimum: got 0, want 1"},
		{`{"path":"a","limit":1.5}`, "/limit: got number, want integer"},
		{`{"path":"a","limit":1e99999}`, "/limit: maximum: got ∞, want 10"},
		{`{"path":"a","mode":"odd"}`, "/mode: value must be one of 'fast', 'slow'"},
		{`{"path":"a","when":3}`, "/when: no alternative fits: /when: got number, want object, or /when: got number, want string"},
		{`{"path":"a","list":[{"x":"y"}]}`, "/list/0/x: got string, want number"},
		{`{"path":"a","list":[{},{},{}]}`, "/list: maxItems: got 3, want 2"},
		{`{"path":"a","a/b":1}`, "/a~1b: got number, want null"},
		{`{"path":"a","Path":"b"}`, "additional properties 'Path' not allowed"},
		{`{"path":"a","path":"b"}`, "/path: the key is there twice"},
		{`{"path":"a","list":[{},{"x":1,"y":{"z":1,"z":1}}]}`, "/list/1/y/z: the key is there twice"},
		{`{"path":`, "it is not JSON: unexpected EOF"},
		{`{"path":"a"} {}`, "it is not JSON: invalid character after top-level value"},
		{``, "it is not JSON: EOF"},
	}
	for _, test := range tests {
		err := schema.Check([]byte(test.document))
		var mismatch *MismatchError
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.document, err)
		case test.want != "" && (!errors.As(err, &mismatch) || !strings.HasPrefix(err.Error(), test.want)):
			t.Errorf("%s:\ngot  %v\nwant %s", test.document, err, test.want)
		}
	}
}

func TestManyProblemsAreBounded(t *testing.T) {
	schema := compile(t, `{"items":{"type":"string"},"propertyNames":{"maxLength":3}}`)
	err := schema.Check([]byte("[" + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + "]"))
	want := "/0: got number, want string; /10: got number, want string; /11: got number, want string; /12: got number, want string; " +
		"/13: got number, want string; /14: got number, want string; /15: got number, want string; /16: got number, want string; and 92 more"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	err = schema.Check(fmt.Appendf(nil, `{%q:1}`, strings.Repeat("ä", 100_000)))
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	tests := []struct{ schema, want string }{
		{``, "it is not JSON: EOF"},
		{`{"type":`, "it is not JSON: unexpected EOF"},
		{`{} {}`, "it is not JSON: invalid character after top-level value"},
		{`[]`, "got array, want boolean or object"},
		{`{"type":"strin"}`, "/type: no alternative fits: /type: got string, want array, or /type: value must be one of 'array', 'boolean', "},
		{`{"properties":{"a":{"minimum":"1"}}}`, "/properties/a/minimum: got string, want number"},
		{`{"properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a/pattern: '(?=x)' is not valid regex: "},
		{`{"$ref":"#/$defs/none"}`, "it refers to #/$defs/none, which is not in it"},
		{`{"$ref":"other.json"}`, "it refers to plinth:///other.json; put what it needs under $defs"},
		{`{"$ref":"../../etc/passwd"}`, "it refers to plinth:///etc/passwd; put what it needs under $defs"},
		{`{"$ref":"file:///etc/passwd"}`, "it refers to file:///etc/passwd; put what it needs under $defs"},
		{`{"$ref":"https://schema.example/x"}`, "it refers to https://schema.example/x; put what it needs under $defs"},
		{`{"$id":"https://schema.example/a/b","$ref":"c"}`, "it refers to https://schema.example/a/c; put what it needs under $defs"},
		{`{"$schema":"https://schema.example/draft"}`, "it refers to https://schema.example/draft; put what it needs under $defs"},
	}
	for _, test := range tests {
		if _, err := Compile([]byte(test.schema)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.schema, err, test.want)
		}
	}
}

func TestSchemasMayReferToThemselves(t *testing.T) {
	for _, text := range []string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/tree","definitions":{"tree":{"type":"object","additionalProperties":{"$ref":"#/definitions/tree"}}}}`,
		`{"$id":"https://schema.example/tree","type":"object","additionalProperties":{"$ref":"#"}}`,
		`{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"},"$defs":{"tree":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}}}`,
	} {
		schema := compile(t, text)
		if err := schema.Check([]byte(`{"a":{"b":{"c":{}}}}`)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := schema.Check([]byte(`{"a":{"b":{"c":1}}}`)); err == nil || err.Error() != "/a/b/c: got number, want object" {
			t.Errorf("%s: %v", text, err)
		}
	}
}
