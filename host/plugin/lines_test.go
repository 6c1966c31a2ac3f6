package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeysStandOnLines(t *testing.T) {
	got := linesOf([]byte(`# a comment
schema = 1
description = """
[[tool]]
name = "not a key"
"""
requires = [
  "fs.stat",
]

[[tool]]
name = "a"
permission = { action = "x" }

[[tool]]
"name" = "b"
[tool.permission]
action = "y"

[[request.fs]]
root = "location"

[[request.fs]]
a.b = 1
`))
	want := lines{
		"schema": 2, "description": 3, "requires": 7, "tool[0]": 11, "tool[0].name": 12, "tool[0].permission": 13,
		"tool[1]": 15, "tool[1].name": 16, "tool[1].permission": 17, "tool[1].permission.action": 18,
		"request.fs[0]": 20, "request.fs[0].root": 21, "request.fs[1]": 23, "request.fs[1].a.b": 24,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for path, line := range map[string]int{"tool[1].name": 16, "tool[1].input": 15, "tool[1].permission.resource": 17, "transform[0].name": 0, "": 0, "id": 0} {
		if got.of(path) != line {
			t.Errorf("%s stands on line %d, not %d", path, got.of(path), line)
		}
	}
}
