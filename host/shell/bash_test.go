package shell_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/shell"
)

// recorder stands for every program: it writes down how it was called, in a file
// of its own, since those of a pipeline run at once.
const recorder = `#!/bin/sh
printf '%s\000' "${0##*/}" "$@" > "$RECORD/$$"
`

// stage is a folder with nothing but recorders in PATH, beside the programs that
// run others, which are the real ones.
type stage struct {
	bash, programs, folder, record string // record is a folder
}

func newStage(t *testing.T) stage {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("bash is what runs the texts: ", err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := stage{bash: bash, programs: filepath.Join(root, "bin"), folder: filepath.Join(root, "work"), record: filepath.Join(root, "record")}
	for _, folder := range []string{s.programs, filepath.Join(s.folder, "sub")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"alpha", "beta", "gamma", "rm", "git", "cat"} {
		if err := os.WriteFile(filepath.Join(s.programs, name), []byte(recorder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "sh", "env", "nice", "xargs", "find", "true", "false"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(s.programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run answers the calls that bash makes when it runs a text.
func (s stage) run(t interface{ Fatal(...any) }, text string) [][]string {
	if err := errors.Join(os.RemoveAll(s.record), os.Mkdir(s.record, 0o700)); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(s.bash, "-c", text)
	command.Dir = s.folder
	command.Env = []string{"PATH=" + s.programs, "RECORD=" + s.record, "HOME=" + s.folder, "LANG=C.UTF-8"}
	output, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	// One inside a substitution can be a fault of bash, which prints and reads it anew.
	if bytes.Contains(output, []byte("-c: line")) && bytes.Contains(output, []byte("syntax error")) {
		t.Fatal(fmt.Sprintf("%q is no text for bash: %s", text, output))
	}
	files, err := os.ReadDir(s.record)
	if err != nil {
		t.Fatal(err)
	}
	var calls [][]string
	for _, file := range files {
		call, err := os.ReadFile(filepath.Join(s.record, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, strings.Split(strings.TrimSuffix(string(call), "\x00"), "\x00"))
	}
	return calls
}

// check holds that a text that was understood is one for bash, and that everything
// bash ran was found, unless the line says that it is not known.
func (s stage) check(t interface {
	Fatal(...any)
	Errorf(string, ...any)
}, text string,
) (called int) {
	line := shell.Parse(text, shell.Options{Directory: s.folder, Home: s.folder})
	if broken(line) {
		return 1
	}
	calls := s.run(t, text)
	if slices.ContainsFunc(line.Unknown, func(u shell.Unknown) bool { return u.Kind != shell.UnknownPath }) {
		return len(calls)
	}
	for _, call := range calls {
		if !slices.ContainsFunc(line.Commands, func(c shell.Command) bool {
			return c.Words[0] == call[0] && (!c.Exact || slices.Equal(c.Words, call))
		}) {
			t.Errorf("bash runs %q for\n%s\nfound are %q", call, text, texts(line))
		}
	}
	return len(calls)
}

// TestWhatBashRuns compares with bash itself: no program runs that was not found.
func TestWhatBashRuns(t *testing.T) {
	s := newStage(t)
	for _, text := range []string{
		`alpha x y`, `al''pha "x y" 'z'`, `\alpha a\ b`, `$'\x61lpha' $'a\tb'`, `{alpha,beta,gamma}`, `alpha {1..3} a{b,c{d,e}}f {x} {}`,
		`alpha && beta || gamma; rm x & wait`, `alpha | beta |& gamma`, `(alpha; (beta)); { gamma; }`, `! alpha`,
		`if alpha; then beta; else gamma; fi`, `if ! alpha; then beta; elif beta; then rm x; fi`, `for i in a b; do alpha $i; done`,
		`i=0; while ((i++ < 2)); do alpha; done`, `until alpha; do beta; done`, `case x in y) alpha;; x) beta;& z) gamma;; esac`,
		`f() { alpha "$@"; }; f x y`, `function git { beta; }; git status`, `alpha "$(beta)"`, "alpha `beta \\`gamma\\``", `alpha ${x:-$(beta)} ${x/a/$(gamma)}`,
		`echo $(( $(alpha) + 1 ))`, `a[$(alpha)]=1`, `x=$(alpha) beta`, "cat <<X\n$(alpha)\nX", "cat <<'X'\n$(alpha)\nX", "cat <<-X\n\t$(alpha)\n\tX", `cat <<< "$(alpha)"`,
		`alpha <(beta) >(gamma)`, `env A=1 alpha x`, `env -u A -- alpha`, `nice -n 3 alpha`, `command alpha`, `(exec alpha x)`, `time alpha`,
		`env env nice env alpha`, `bash -c 'alpha; beta "$1"' _ x`, `bash -c "bash -c 'alpha'"`, `sh -c 'alpha x'`, `eval alpha "'x y'"`, `eval 'alpha && beta'`, `eval "eval alpha"`,
		`trap alpha EXIT`, `trap 'alpha; beta' EXIT INT`, `echo x y | xargs alpha -n`, `echo x | xargs -I% alpha a%b`, `echo x | xargs -n1 env alpha`,
		`find sub -maxdepth 0 -exec alpha {} \;`, `find sub -maxdepth 0 -exec alpha {} + -o -exec beta {} \;`, `find sub -maxdepth 0 -execdir sh -c 'alpha "$1"' _ {} \;`,
		`[[ x == $(alpha) ]]`, `[[ -n "$(alpha)" && x =~ $(beta) ]]`, `select i in a; do alpha; break; done < /dev/null`, `coproc alpha; wait`,
		`x='a[$(alpha)]'; echo $((x))`, `x='a[$(alpha)]'; [[ $x -eq 0 ]]`, `test -v 'a[$(alpha)]'`, `printf -v 'a[$(alpha)]' x`, `x='$(alpha)'; echo "${x@P}"`,
		`x='a[$(alpha)]'; echo ${!x}`, `declare -i x='a[$(alpha)]'`, `a=(1); unset 'a[$(alpha)]'`, `read 'a[$(alpha)]' <<< 1`, `x=alpha; $x`, `x='alpha y'; eval $x`,
		"shopt -s expand_aliases\nalias beta=alpha\nbeta", `set -- alpha; "$@"`, `. /dev/stdin <<< alpha`, `mapfile -C alpha -c 1 <<< x`,
		`declare -n r='a[$(alpha)]'; echo $r`, `f() { beta; }; export -f f; bash -c f`, `x=1 y=2 alpha`, `: ${x:=$(alpha)}`, `((x = 1, y = x)); alpha $y`,
		`alpha # beta`, `alpha "#" beta`, "alpha \\\nbeta", "alpha\nbeta", `alpha '
beta'`, `alpha $'a\'b' "c\"d"`, `alpha "a$(beta "c$(gamma)")"`, `alpha ~ ~/x "$HOME"`, `alpha * s?b [s]ub`, `alpha ""  ''`, `alpha $nothing x`,
	} {
		if s.check(t, text) == 0 && strings.Contains(text, "alpha") && !strings.Contains(text, "until") && !strings.Contains(text, "select") && !strings.Contains(text, "'X'") {
			t.Errorf("bash ran nothing for %s", text)
		}
	}
}

// TestWhatBashRunsAtRandom does the same with texts put together at random.
func TestWhatBashRunsAtRandom(t *testing.T) {
	s := newStage(t)
	rapid.Check(t, func(t *rapid.T) { s.check(t, listOf(t, 3)) })
}

// listOf draws a list of commands, nested up to depth.
func listOf(t *rapid.T, depth int) string {
	var parts []string
	for range rapid.IntRange(1, 2).Draw(t, "count") {
		parts = append(parts, commandOf(t, depth))
	}
	return strings.Join(parts, rapid.SampledFrom([]string{"; ", " && ", " || ", " | ", "\n"}).Draw(t, "separator"))
}

func commandOf(t *rapid.T, depth int) string {
	if depth == 0 {
		return simpleOf(t, depth)
	}
	inner := func() string { return listOf(t, depth-1) }
	switch rapid.IntRange(0, 13).Draw(t, "form") {
	case 0:
		return "( " + inner() + "\n)"
	case 1:
		return "{ " + inner() + "\n}"
	case 2:
		return "if " + inner() + "\nthen " + inner() + "\nelse " + inner() + "\nfi"
	case 3:
		return "for i in a b; do " + inner() + "\ndone"
	case 4:
		name := fmt.Sprintf("f%d", depth) // one of its own, or it could call itself
		return name + "() { " + inner() + "\n}; " + name
	case 5:
		return "eval " + quoted(inner())
	case 6:
		return "bash -c " + quoted(inner())
	case 7:
		return "case x in y) " + inner() + "\n;; *) " + inner() + "\n;; esac"
	case 8:
		return "{ cat <<END\n$(" + inner() + "\n)\nEND\n}"
	case 9:
		return "x=\"$(" + inner() + "\n)\" " + simpleOf(t, depth)
	case 10:
		return rapid.SampledFrom([]string{"env ", "env A=1 ", "nice -n 1 ", "command ", "! ", "time "}).Draw(t, "wrapper") + simpleOf(t, depth)
	case 11:
		return "echo x | xargs -n 1 " + simpleOf(t, 0)
	default:
		return simpleOf(t, depth)
	}
}

// simpleOf draws a program with arguments in any quotes.
func simpleOf(t *rapid.T, depth int) string {
	words := []string{disguised(t, rapid.SampledFrom([]string{"alpha", "beta", "gamma", "rm"}).Draw(t, "program"))}
	for range rapid.IntRange(0, 2).Draw(t, "arguments") {
		switch kind := rapid.IntRange(0, 5).Draw(t, "argument"); {
		case kind == 0 && depth > 0:
			words = append(words, "\"$("+listOf(t, depth-1)+"\n)\"")
		case kind == 1:
			words = append(words, rapid.SampledFrom([]string{"$x", "\"$1\"", "a{b,c}", "sub*", "~/x", "{1..3}", "$'\\x41'", "''"}).Draw(t, "expansion"))
		default:
			words = append(words, quoted(rapid.StringMatching(`[a-c '"$;&|#*{},~-]{0,5}`).Draw(t, "text")))
		}
	}
	return strings.Join(words, " ")
}

// disguised writes a name in one of the ways that mean the same.
func disguised(t *rapid.T, name string) string {
	head, tail := name[:1], name[1:]
	return rapid.SampledFrom([]string{name, "\\" + name, head + "''" + tail, "\"" + name + "\"", "'" + head + "'" + tail, fmt.Sprintf("$'\\x%02x'%s", head, tail), head + "\\\n" + tail}).Draw(t, "disguise")
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
