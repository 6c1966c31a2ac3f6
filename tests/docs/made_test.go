package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made is a part of a page that follows from the code as a whole, tables and blocks
// among it. It stands between the lines "<!-- made NAME -->" and "<!-- end made -->".
var made = regexp.MustCompile(`(?s)<!-- made ([^\n]+?) -->\n(.*?)<!-- end made -->`)

// holdMade compares the made parts of a page with what they must be, or makes them so.
// The page has each of them once and no other.
func holdMade(t *testing.T, name string, parts map[string]string) {
	t.Helper()
	p := readPage(t, name)
	missing := maps.Clone(parts)
	text := made.ReplaceAllStringFunc(p.text, func(found string) string {
		part := made.FindStringSubmatch(found)[1]
		want, ok := missing[part]
		if !ok {
			t.Errorf("%s: the part %q is there twice, or the code has nothing of that name; remove it", name, part)
			return found
		}
		delete(missing, part)
		return "<!-- made " + part + " -->\n" + want + "<!-- end made -->"
	})
	for _, missed := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s: there is no part %q; write:\n<!-- made %s -->\n<!-- end made -->", name, missed, missed)
	}
	switch {
	case text == p.text:
	case !*update:
		t.Errorf("%s differs from the code; run: go test ./tests/docs -update\n%s", name, cmp.Diff(p.text, text))
	default:
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
