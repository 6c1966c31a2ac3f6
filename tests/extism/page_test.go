package extism

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePageNamesWhatIsTested holds the table of PDKs to what the guests here and in
// tests/conformance are built with, and the templates and examples.
func TestThePageNamesWhatIsTested(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/pdks.md")
	if err != nil {
		t.Fatal(err)
	}
	assemblyScript := []string{"guests/assemblyscript/package.json", "../conformance/guests/assemblyscript/package.json"}
	for _, folder := range []string{"templates", "examples"} {
		files, err := filepath.Glob("../../plugins/" + folder + "/*/package.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s with a package.json: %v", folder, err)
		}
		assemblyScript = append(assemblyScript, files...)
	}
	tests := []struct {
		files   []string
		version *regexp.Regexp // finds it in each of the files
		row     string         // is in the lines that must have it
	}{
		{[]string{"guests/rust/Cargo.toml", "../conformance/guests/rust/extism/plinth/Cargo.toml"},
			regexp.MustCompile(`extism-pdk = "=([^"]+)"`), "| Rust | crate `extism-pdk` "},
		{[]string{"guests/go/go.mod", "../conformance/guests/go/extism/go.mod"},
			regexp.MustCompile(`github.com/extism/go-pdk v(\S+)`), "| Go | `github.com/extism/go-pdk` "},
		{assemblyScript,
			regexp.MustCompile(`"@extism/as-pdk": "([^"]+)"`), "| AssemblyScript | npm `@extism/as-pdk` "},
		{assemblyScript,
			regexp.MustCompile(`"assemblyscript": "([^"]+)"`), "| AssemblyScript |"},
		{[]string{"../../go.mod"}, regexp.MustCompile(`github.com/extism/go-sdk v(\S+)`), "`extism/go-sdk` 1."},
	}
	for _, test := range tests {
		for _, file := range test.files {
			text, err := os.ReadFile(filepath.FromSlash(file))
			if err != nil {
				t.Fatal(err)
			}
			found := test.version.FindSubmatch(text)
			if found == nil {
				t.Errorf("%s: nothing fits %s", file, test.version)
				continue
			}
			rows := 0
			for line := range strings.Lines(string(page)) {
				if !strings.Contains(line, test.row) {
					continue
				}
				if rows++; !regexp.MustCompile(`\b` + regexp.QuoteMeta(string(found[1])) + `\b`).MatchString(line) {
					t.Errorf("%s has %s; docs/reference/pdks.md says: %s", file, found[1], line)
				}
			}
			if rows == 0 {
				t.Errorf("docs/reference/pdks.md has no line with %q", test.row)
			}
		}
	}
}
