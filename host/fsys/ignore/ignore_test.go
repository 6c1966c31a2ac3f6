package ignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/fsys/ignore"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		lines, path string
		want        ignore.Verdict // a path ending in "/" is a directory
	}{
		{"", "a", ignore.Unknown},
		{"# comment\n\n", "# comment", ignore.Unknown},
		{"\\#a", "#a", ignore.Ignored},
		{"\\!a", "!a", ignore.Ignored},
		{"\xef\xbb\xbfa", "a", ignore.Ignored},
		{"a\r\nb", "a", ignore.Ignored},
		{"a", "x/y/a", ignore.Ignored},
		{"a", "x/a/y", ignore.Unknown}, // nobody enters x/a
		{"/a", "x/a", ignore.Unknown},
		{"/a", "a", ignore.Ignored},
		{"x/a", "x/a", ignore.Ignored},
		{"x/a", "y/x/a", ignore.Unknown},
		{"a/", "a", ignore.Unknown},
		{"a/", "x/a/", ignore.Ignored},
		{"/", "a", ignore.Unknown},
		{"!", "a", ignore.Unknown},
		{"a  ", "a", ignore.Ignored},
		{"a\\ ", "a ", ignore.Ignored},
		{"a\\ ", "a", ignore.Unknown},
		{"a\t", "a", ignore.Unknown},
		{"*.log\n!keep.log", "x/a.log", ignore.Ignored},
		{"*.log\n!keep.log", "x/keep.log", ignore.Kept},
		{"!keep.log\n*.log", "keep.log", ignore.Ignored},
		{"x/*.log", "x/a.log", ignore.Ignored},
		{"x/*.log", "x/y/a.log", ignore.Unknown},
		{"x/**/a", "x/a", ignore.Ignored},
		{"x/**/a", "x/y/z/a", ignore.Ignored},
		{"**/a", "a", ignore.Ignored},
		{"**/x/a", "y/x/a", ignore.Ignored},
		{"x/**", "x/", ignore.Unknown},
		{"x/**", "x/y/z", ignore.Ignored},
		{"x/a**b", "x/a/b", ignore.Unknown},
		{"x/a**b", "x/acb", ignore.Ignored},
		{"[a-c]?", "bz", ignore.Ignored},
		{"[!a-c]", "d", ignore.Ignored},
		{"[^a-c]", "b", ignore.Unknown},
		{"[]a]", "]", ignore.Ignored},
		{"[a-]", "-", ignore.Ignored},
		{"[[:digit:]x]", "7", ignore.Ignored},
		{"[[:digit:]x]", "x", ignore.Ignored},
		{"[[:nonsense:]]", "n", ignore.Unknown},
		{"[[:di]", "d", ignore.Ignored},
		{"[a", "[a", ignore.Unknown},
		{"a\\", "a\\", ignore.Unknown},
		{"x[/]y", "x/y", ignore.Unknown},
		{"?", "é", ignore.Unknown}, // two bytes
		{"??", "é", ignore.Ignored},
		{"/x/?", "x/é", ignore.Unknown},
	} {
		path, directory := strings.CutSuffix(test.path, "/")
		if got := ignore.Parse([]byte(test.lines)).Match(path, directory); got != test.want {
			t.Errorf("%q on %q: %d, want %d", test.lines, test.path, got, test.want)
		}
	}
}

// TestGitAgrees asks git the same questions, over rules and paths made at random
// of what is hard about them.
func TestGitAgrees(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is a prerequisite: ", err)
	}
	folder := t.TempDir()
	git(t, folder, nil, "init", "-q")
	random := rand.New(rand.NewPCG(11, 4))
	paths := somePaths(random)
	found := 0
	for range 400 {
		lines := someLines(random)
		if err := os.WriteFile(filepath.Join(folder, ".gitignore"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		rules := ignore.Parse([]byte(lines))
		ignored := make(map[string]bool)
		asked := strings.Join(paths, "\x00") + "\x00"
		for path := range strings.SplitSeq(git(t, folder, []byte(asked), "check-ignore", "--no-index", "-z", "--stdin"), "\x00") {
			ignored[path] = true
		}
		found += len(ignored)
		for _, path := range paths {
			if got := leavesOut(rules, path); got != ignored[path] {
				t.Errorf("%q on %q: %v, git says %v", lines, path, got, ignored[path])
			}
		}
	}
	if found < 2000 {
		t.Errorf("git ignored %d paths in all, too few to have compared anything", found)
	}
}

// leavesOut is what a walk from the top would do: it does not enter what is ignored.
func leavesOut(rules ignore.Rules, path string) bool {
	for i := range len(path) {
		if path[i] == '/' && rules.Match(path[:i], true) == ignore.Ignored {
			return true
		}
	}
	return rules.Match(path, false) == ignore.Ignored
}

func somePaths(random *rand.Rand) []string {
	names := []string{"a", "b", "ab", "aab", "abc", "a.b", "-", "]", "a b", "!a", "#a", "\\", "b ", "[a"}
	var paths []string
	for range 120 {
		var parts []string
		for range 1 + random.IntN(4) {
			parts = append(parts, names[random.IntN(len(names))])
		}
		paths = append(paths, strings.Join(parts, "/"))
	}
	return paths
}

func someLines(random *rand.Rand) string {
	pieces := []string{"a", "a", "b", "b", "c", "*", "*", "**", "**/", "/**", "?", "/", "/", "!", "#", ".", "[ab]", "[!a]", "[^b-]", "[]]",
		"[a-c]", "[\\]]", "[[:alpha:]]", "[[:punct:]b]", "[", "]", "\\", "\\ ", " ", "-"}
	var lines strings.Builder
	for range 1 + random.IntN(4) {
		if random.IntN(4) == 0 {
			lines.WriteByte('!')
		}
		for range 1 + random.IntN(6) {
			lines.WriteString(pieces[random.IntN(len(pieces))])
		}
		lines.WriteByte('\n')
	}
	return lines.String()
}

// git answers what a git command writes; it ends with 1 when nothing is ignored.
func git(t *testing.T, folder string, input []byte, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, arguments...)...)
	command.Env = []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	command.Stdin = bytes.NewReader(input)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil && command.ProcessState.ExitCode() != 1 {
		t.Fatalf("git %v: %v\n%s", arguments, err, complaint.String())
	}
	return string(out)
}

// TestPatternsThatBacktrack: a project's ignore file is a stranger's text.
func TestPatternsThatBacktrack(t *testing.T) {
	text := strings.Repeat("a", 4000)
	for _, line := range []string{strings.Repeat("*a", 500) + "b", strings.Repeat("**/a*", 300) + "/b", strings.Repeat("?", 3999) + "b"} {
		rules := ignore.Parse([]byte(line))
		for _, path := range []string{text, strings.Repeat("a/", 2000) + "a"} {
			if rules.Match(path, false) != ignore.Unknown {
				t.Errorf("%.20q matched", line)
			}
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "*.ext%d\nname%d/\n/path/%d\n", i, i, i)
	}
	rules := ignore.Parse([]byte(lines.String()))
	for b.Loop() {
		rules.Match("host/fsys/ignore/ignore_test.go", false)
	}
}
