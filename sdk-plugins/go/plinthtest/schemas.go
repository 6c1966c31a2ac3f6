package plinthtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"
)

// updateVariable is set to 1 by plinth plugin test --update.
const updateVariable = "PLINTH_UPDATE"

// Updating reports whether files that tests compare are to be written: with
// PLINTH_UPDATE=1, which plinth plugin test --update sets, or the test's flag -update.
func Updating() bool {
	if os.Getenv(updateVariable) == "1" {
		return true
	}
	given := flag.Lookup("update")
	return given != nil && given.Value.String() == "true"
}

// Schemas holds schema files to what the types give: a name relative to the package's
// folder, and the text of schema.Of. White space does not count. A file that differs or is
// missing fails the test; when Updating it is written instead.
func Schemas(t testing.TB, files map[string][]byte) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		want := files[name]
		got, err := os.ReadFile(name)
		if err == nil && sameText(got, want) {
			continue
		}
		if Updating() {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v; plinth plugin test --update writes it", err)
			continue
		}
		t.Errorf("%s is not what its type gives; plinth plugin test --update, or %s=1 go test, writes\n%s", name, updateVariable, want)
	}
}

// sameText compares JSON but for white space: the order of properties counts, because
// a model reads it.
func sameText(a, b []byte) bool {
	var left, right bytes.Buffer
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}
