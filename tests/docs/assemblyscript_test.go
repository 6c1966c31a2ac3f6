package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const assemblyScript = "sdk-plugins/assemblyscript"

// script is the text of a file of the SDK for AssemblyScript.
func script(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, assemblyScript, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every name that index.ts gives to plugins has a comment where it is declared, and stands in the
// table of the README.
func TestAssemblyScriptIsDocumented(t *testing.T) {
	readme := script(t, "README.md")
	names := 0
	for _, line := range regexp.MustCompile(`(?m)^export \{ (.+) \} from "\./(\w+)";$`).FindAllStringSubmatch(script(t, "index.ts"), -1) {
		file := line[2] + ".ts"
		text := script(t, file)
		for name := range strings.SplitSeq(line[1], ", ") {
			names++
			if !regexp.MustCompile(`(?m)^// .*\nexport (function|class|enum|namespace) ` + name + `\b`).MatchString(text) {
				t.Errorf("%s/%s: %s has no comment above it", assemblyScript, file, name)
			}
			if !strings.Contains(readme, "`"+name) {
				t.Errorf("%s/README.md does not tell of %s", assemblyScript, name)
			}
		}
	}
	if names < 10 {
		t.Errorf("%s/index.ts exports only %d names", assemblyScript, names)
	}
}

// Its kinds of errors are those of the contract.
func TestKindsOfAssemblyScript(t *testing.T) {
	var want, got []string
	for _, c := range constants(t, "abi/v1") {
		if typed("Kind")(c) {
			want = append(want, strings.TrimPrefix(c.name, "Kind")+" "+c.value)
		}
	}
	for _, kind := range regexp.MustCompile(`(?m)^  export const (\w+): string = "(\w+)";`).FindAllStringSubmatch(script(t, "reply.ts"), -1) {
		got = append(got, kind[1]+" "+kind[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the kinds of the contract (-) and of %s/reply.ts (+): %s", assemblyScript, diff)
	}
}
