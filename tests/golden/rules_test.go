package golden

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
)

// rulesHead is the part of a codec's README that names the golden of each rule.
const rulesHead = "\n## Rules and their goldens\n"

// Every codec lists its rules, each with its golden, and no golden of a request stands
// in no list.
func TestRulesHaveTheirGoldens(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| .+ \\| `([a-z-]+)` \\|$")
	lists := 0
	for name, one := range plugins(t) {
		text, err := os.ReadFile(filepath.Join(one.folder, plugin.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := plugin.DecodeManifest(one.folder, text, os.DirFS(one.folder))
		if err != nil {
			t.Fatal(err)
		}
		if !one.builtin || len(manifest.Providers) == 0 {
			continue
		}
		readme, err := os.ReadFile(filepath.Join(one.folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		_, rules, found := strings.Cut(string(readme), rulesHead)
		if !found {
			t.Errorf("%s: its README has no %q", name, strings.TrimSpace(rulesHead))
		}
		lists++
		var named, recorded []string
		for _, match := range row.FindAllStringSubmatch(rules, -1) {
			named = append(named, match[1])
		}
		for _, golden := range manifest.Goldens {
			if golden.Export == "provider_encode" {
				recorded = append(recorded, strings.TrimSuffix(filepath.Base(golden.Input), ".json"))
			}
		}
		slices.Sort(named)
		slices.Sort(recorded)
		if diff := cmp.Diff(named, recorded); diff != "" {
			t.Errorf("%s: the README's rules (-) and the manifest's goldens (+): %s", name, diff)
		}
		left, err := unrecorded(one.folder, manifest)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: no golden of the manifest has %q: %v", name, left, err)
		}
	}
	if lists != 5 {
		t.Errorf("%d codecs", lists)
	}
}

// unrecorded are the files of testdata that no golden of the manifest has.
func unrecorded(folder string, manifest abi.Manifest) (left []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "testdata", "*.json"))
	for _, file := range files {
		name := "testdata/" + filepath.Base(file)
		if !slices.ContainsFunc(manifest.Goldens, func(g abi.ManifestGolden) bool { return g.Input == name || g.Output == name }) {
			left = append(left, name)
		}
	}
	return left, err
}
