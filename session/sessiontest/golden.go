package sessiontest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	idPattern     = regexp.MustCompile(`\b(ses|msg|evt|per|act)_[0-9a-f]{16}[0-9A-Za-z]{14}\b`)
	digestPattern = regexp.MustCompile(`"digest":"[0-9a-f]{64}"`)
)

// Text shows events for people: a line each, with sequence, type and data, and
// ids by the order they appear in.
func Text(events []store.Event) string {
	names := map[string]string{}
	count := map[string]int{}
	var text strings.Builder
	for _, event := range events {
		line := fmt.Sprintf("%3d %-28s %s\n", event.Seq, event.Type, event.Data)
		line = digestPattern.ReplaceAllString(line, `"digest":"…"`)
		text.WriteString(idPattern.ReplaceAllStringFunc(line, func(id string) string {
			if names[id] == "" {
				kind := id[:3]
				count[kind]++
				names[id] = fmt.Sprintf("%s%d", kind, count[kind])
			}
			return names[id]
		}))
	}
	return text.String()
}

// Golden compares text with testdata/NAME.golden, or writes it with -update.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if it is meant:\n%s", path, diff)
	}
}
