package mcp

import (
	"slices"
	"strings"
	"testing"
)

func TestAHostileServer(t *testing.T) {
	r := newRig(t, stdio(t, "x", "hostile"))
	names := r.names()
	for i, prefix := range []string{"x_dot_ted_", "x_dot_ted_", "x_good", "x_long", "x_nnn"} {
		if len(names) != 5 || !strings.HasPrefix(names[i], prefix) || len(names[i]) > maxName {
			t.Fatalf("%q\n%s", names, r.log.String())
		}
	}
	good := r.tool("x_good").Definition()
	if good.Description != "Fine[31m, and hidden." || string(good.Input) != `{"title":"ab","type":"object"}` {
		t.Errorf("%q %s", good.Description, good.Input)
	}
	if n := len(r.tool("x_long").Definition().Description); n > maxDescription {
		t.Errorf("a description of %d bytes", n)
	}
	log := r.log.String()
	for tool, why := range map[string]string{
		"deep": "more than 24 levels deep", "bomb": "its references amount to more than 10000 parts",
		"elsewhere": "put what it needs under $defs", "wrong": "the schema of its input: ", "fat": "the limit is 16384",
	} {
		if !strings.Contains(log, tool) || !strings.Contains(log, why) {
			t.Errorf("nothing says why %s is left out: %s", tool, log)
		}
	}
}

// The names do not depend on the order in which a server has its tools.
func TestNames(t *testing.T) {
	tools := []string{"a.b", "a_b", "a b", "c", "find", strings.Repeat("y", 100), "directory"}
	got := names("s", tools)
	reversed := slices.Clone(tools)
	slices.Reverse(reversed)
	again := names("s", reversed)
	seen := map[string]bool{}
	for tool, name := range got {
		if again[tool] != name {
			t.Errorf("%s is %s or %s", tool, name, again[tool])
		}
		if seen[name] || len(name) > maxName {
			t.Errorf("%s: %s", tool, name)
		}
		seen[name] = true
	}
	if got["c"] != "s_c" || got["a_b"] == "s_a_b" {
		t.Errorf("%q", got)
	}
	if name := names("external", []string{"directory"})["directory"]; name == "external_directory" {
		t.Error(name)
	}
	if name := names("mcp", []string{"find"})["find"]; name == findName {
		t.Error(name)
	}
}

func TestPatternsOfTools(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"a*b*c", "aXbYc", true},
		{"a*b*c", "aXbY", false}, {"", "a", false}, {"abc", "abc", true}, {"ab", "abc", false}, {"*a*a*a*a*a*b", strings.Repeat("a", 200), false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("%q %q: %v", test.pattern, test.name, got)
		}
	}
}

// A schema that leads back to itself is fine, whatever way its references are written.
func TestSchemas(t *testing.T) {
	leaf := map[string]any{"type": "string"}
	for name, test := range map[string]struct {
		schema map[string]any
		want   string // of the error; "" for none
	}{
		"recursive": {map[string]any{"properties": map[string]any{"next": map[string]any{"$ref": "#"}}}, ""},
		"escaped":   {map[string]any{"$defs": map[string]any{"a/b": leaf}, "properties": map[string]any{"x": map[string]any{"$ref": "#/%24defs/a~1b"}}}, ""},
		"list":      {map[string]any{"anyOf": []any{map[string]any{"type": "object"}}, "properties": map[string]any{"x": map[string]any{"$ref": "#/anyOf/0"}}}, ""},
		"nowhere":   {map[string]any{"properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/no"}}}, "references"},
		"anchor":    {map[string]any{"properties": map[string]any{"x": map[string]any{"$ref": "#here"}}}, "put what it needs under $defs"},
		"dynamic":   {map[string]any{"$dynamicRef": "#x"}, "dynamic"},
		"inner id":  {map[string]any{"properties": map[string]any{"x": map[string]any{"$id": "y"}}}, "$id"},
		"no object": {map[string]any{"type": "string"}, "its type is not object"},
	} {
		_, err := taming(test.schema)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := taming("x"); err == nil {
		t.Error("a text is taken for a schema")
	}
	if got, err := taming(map[string]any{}); err != nil || string(got) != `{"type":"object"}` {
		t.Errorf("%s, %v", got, err)
	}
}

// A property that is called $id is a property.
func TestAPropertyNamedLikeAKeyword(t *testing.T) {
	if _, err := taming(map[string]any{"properties": map[string]any{"id": map[string]any{"type": "string"}, "$ref": map[string]any{"type": "string"}}}); err != nil {
		t.Error(err)
	}
}

func TestClean(t *testing.T) {
	if got := line("a\x00\n\tb\u202ec\xff", 100); got != "a bc\uFFFD" {
		t.Errorf("%q", got)
	}
	if got := cut("ääääää", 8); got != "ää…" {
		t.Errorf("%q", got)
	}
}
