package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/shell"
	"github.com/plinthhost/plinth/session"
)

// TestSpelledAnew holds that the text of a command is a spelling of it: it parses
// to the same words, and to the same text again.
func TestSpelledAnew(t *testing.T) {
	for _, text := range corpus(t) {
		for _, command := range shell.Parse(text, options).Commands {
			if !command.Exact {
				continue
			}
			checkSpelling(t, command)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z$"'\\ ~=*{},;&|<>\n\x{200e}é#!-]{1,6}`), 1, 4).Draw(t, "words")
		var quoted []string
		for _, word := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
		}
		line := shell.Parse("/opt/tool "+strings.Join(quoted, " "), options)
		if len(line.Commands) != 1 {
			t.Fatalf("%q gives %d commands", quoted, len(line.Commands))
		}
		if diff := cmp.Diff(append([]string{"/opt/tool"}, words...), line.Commands[0].Words); diff != "" {
			t.Fatal(diff)
		}
		checkSpelling(t, line.Commands[0])
	})
}

// checkSpelling parses the text of an exact command.
func checkSpelling(t interface{ Errorf(string, ...any) }, command shell.Command) {
	for _, again := range shell.Parse(command.Text, options).Commands {
		if again.Text == command.Text && slices.Equal(again.Words, command.Words) {
			return
		}
	}
	if !transparent(command.Words[0]) {
		t.Errorf("the text %q does not parse to the words %q", command.Text, command.Words)
	}
}

// transparent are the commands that are listed only with options that are not
// understood: their text is a command again, but not always one of them.
func transparent(name string) bool { return name == "eval" }

// TestBothTogether holds that a list of two texts has the commands of both.
func TestBothTogether(t *testing.T) {
	lines := corpus(t)
	for _, a := range lines {
		for _, b := range []string{"git push", "cd /tmp && rm x", "f() { rm y; }; f", "X=1; echo $((X))"} {
			checkTogether(t, a, b)
			checkTogether(t, b, a)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		checkTogether(t, rapid.SampledFrom(lines).Draw(t, "a"), rapid.SampledFrom(lines).Draw(t, "b"))
	})
}

// checkTogether compares "a; b" with a and b. A line break stands for the
// semicolon where a comment or a heredoc would swallow it.
func checkTogether(t interface{ Errorf(string, ...any) }, a, b string) {
	separator := "\n"
	if !strings.ContainsAny(a, "#<\\&") {
		separator = "; "
	}
	first, second := shell.Parse(a, options), shell.Parse(b, options)
	if broken(first) || broken(second) || strings.HasSuffix(a, `\`) || moves(first) {
		return
	}
	both := shell.Parse(a+separator+b, options)
	if diff := cmp.Diff(append(texts(first), texts(second)...), texts(both)); diff != "" {
		t.Errorf("the commands of %q are not those of its parts:\n%s", a+separator+b, diff)
	}
}

func texts(line *shell.Line) []string {
	found := []string{}
	for _, command := range line.Commands {
		found = append(found, command.Text)
	}
	return found
}

// broken reports a text that is not understood, so that it is none behind another
// either.
func broken(line *shell.Line) bool {
	return slices.ContainsFunc(line.Unknown, func(u shell.Unknown) bool { return u.Kind == shell.UnknownText })
}

// moves reports a line that changes the directory or HOME: the names of programs
// and files behind it are others.
func moves(line *shell.Line) bool {
	return slices.ContainsFunc(line.Commands, func(c shell.Command) bool {
		return slices.Contains([]string{"cd", "pushd", "popd", "source", ".", "trap", "eval", "f"}, c.Words[0])
	}) || slices.ContainsFunc(line.Unknown, func(u shell.Unknown) bool { return u.Kind != shell.UnknownPath })
}

// TestPatterns holds that what an approval for always saves allows the command it
// was given for, and nothing by a wildcard but what stands behind the words that
// say what runs.
func TestPatterns(t *testing.T) {
	for _, text := range corpus(t) {
		for _, command := range shell.Parse(text, options).Commands {
			if command.Pattern == "" {
				continue
			}
			if !session.Match(command.Pattern, command.Text) {
				t.Errorf("%q saves %q, which does not allow it", command.Text, command.Pattern)
			}
			prefix, open := strings.CutSuffix(command.Pattern, " *")
			if strings.ContainsAny(prefix, `*?\`) {
				t.Errorf("%q saves %q: a pattern inside a pattern", command.Text, command.Pattern)
			}
			if !open && prefix != command.Text {
				t.Errorf("%q saves %q, another command", command.Text, command.Pattern)
			}
			if !open && !command.Exact {
				t.Errorf("%q is not known and saves %q", command.Text, command.Pattern)
			}
		}
	}
}

// TestPatternNotWidened holds that an approval for one command does not allow
// another program, however it is hidden.
func TestPatternNotWidened(t *testing.T) {
	for _, c := range []struct{ approved, tried string }{
		{"git push origin", "git push; rm x"},
		{"git push origin", "git push $(rm x)"},
		{"git push origin", "git push > ../x"},
		{"git push origin", "git 'push x'"},
		{"git push origin", "'git push' x"},
		{"git push origin", "./git push x"},
		{"git push origin", "git -c x push y"},
		{"git push origin", "gitk push x"},
		{"git push origin", "sudo git push x"},
		{"git push origin", "GIT_SSH_COMMAND=x git push y"},
		{"git push origin", "git pus*"},
		{"python3 script.py", "python3 -c 'evil()'"},
		{"python3 script.py", "python3 < x"},
		{"python3 -c 'a'", "python3 -c 'b'"},
		{"bash x.sh", "bash -c 'rm x'"},
		{"timeout 5 ls", "timeout 5 rm x"},
		{"timeout --odd 5 ls", "timeout --odd 5 rm x"},
		{"find . -name x", "find . -delete"},
		{"xargs ls", "xargs rm"},
		{"npx eslint x", "npx tsx -e 'evil()'"},
		{"docker ps", "docker run -v /:/x alpine"},
		{"./run.sh", "cd /tmp && ./run.sh"},
		{"./bash -c ls", "./bash -c rm"},
		{"ls", "/tmp/ls"},
		{"ls", "env PATH=/x ls"},
	} {
		var rules []session.Rule
		for _, pattern := range shell.Parse(c.approved, options).Patterns() {
			rules = append(rules, session.Rule{Action: "bash", Resource: pattern, Effect: session.Allow})
		}
		tried := shell.Parse(c.tried, options)
		effect, _ := session.Decide(nil, rules, "bash", tried.Resources())
		outside := slices.ContainsFunc(tried.Paths, func(p shell.Path) bool { return !strings.HasPrefix(p.Path, options.Directory) })
		if effect == session.Allow && len(tried.Unknown) == 0 && !outside {
			t.Errorf("after an approval of %q, which saved %v, %q is allowed", c.approved, rules, c.tried)
		}
	}
}

// TestLimits holds every bound on a text, with what is said of it.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"bytes", "echo " + strings.Repeat("x", 64<<10), "it has 65541 bytes, more than 65536; put it into a file"},
		{"brackets", "echo '" + strings.Repeat("(", 4097) + "'", "it has 4097 opening brackets, more than 4096; put it into a file"},
		{"commands", strings.Repeat("ls;", 512), "it has more than 511 commands; run it in parts"},
		{"paths", "rm " + numbered("f", 2100), "it names more paths than are looked at; run it in parts"},
		{"nesting", nest("rm x", 6), "it is nested more than 6 deep"},
		{"NUL", "rm \x00x", "it has a NUL character or a carriage return in it, which shells do not agree about"},
		{"carriage return", "rm x\r\n", "it has a NUL character or a carriage return in it, which shells do not agree about"},
		{"UTF-8", "rm \xff", "it is not valid UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := shell.Parse(c.text, options)
			if !slices.ContainsFunc(line.Unknown, func(u shell.Unknown) bool { return u.Kind == shell.UnknownText && u.Reason == c.want }) {
				t.Errorf("unknown is %+v, want %q", line.Unknown, c.want)
			}
			if len(line.Commands) > 512 || len(line.Paths) > 2048 {
				t.Errorf("%d commands and %d paths", len(line.Commands), len(line.Paths))
			}
		})
	}
	t.Run("within", func(t *testing.T) {
		for _, text := range []string{
			"echo " + strings.Repeat("x", 64<<10-5), strings.Repeat("ls;", 511), nest("rm x", 5), "rm " + numbered("f", 2000),
		} {
			if line := shell.Parse(text, options); len(line.Unknown) > 0 || len(line.Commands) == 0 {
				t.Errorf("%.40q… is refused: %+v", text, line.Unknown)
			}
		}
	})
	t.Run("excerpt", func(t *testing.T) {
		line := shell.Parse("$X "+strings.Repeat("é", 300), options)
		if len(line.Unknown) != 1 || len(line.Unknown[0].Text) > 210 {
			t.Errorf("%d bytes are shown", len(line.Unknown[0].Text))
		}
	})
}

func numbered(name string, count int) string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprint(name, i))
	}
	return strings.Join(names, " ")
}

// nest wraps a text into bash -c so many times.
func nest(text string, depth int) string {
	for range depth {
		text = "bash -c '" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// TestBoundedTime gives the parser what makes it recurse, at every limit.
func TestBoundedTime(t *testing.T) {
	start := time.Now()
	for _, piece := range []string{
		"(", "$(", "${a:-", "\"$(", "{ ", "if ", "while ", "! ", "$((", "$((-", "((1?", "((a[", "<(", "`", "a|", "a&&", "a;", "f(){ ", "case x in x) ",
		"for a do ", "((~", "[[ ! ", "[[ (", "a=(", "{a,", "{1..9}", "<<a\n", "$'", "@(", "~", "cd ..;", "cd a;", "a b ", "time ", "coproc ", "eval ", "x=$x ",
	} {
		shell.Parse(strings.Repeat(piece, 64<<10/len(piece)), options)
		shell.Parse(strings.Repeat(piece, 4000), options)
	}
	for _, text := range []string{nest("sh -c 'rm x'", 4), strings.Repeat("sh -c '", 6) + strings.Repeat("'", 6)} {
		shell.Parse(text, options)
	}
	// A second for all of them; a bound that is missing is not a matter of seconds, or
	// the stack is exhausted.
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestShellOfTheOptions holds that a text for another shell is judged as such.
func TestShellOfTheOptions(t *testing.T) {
	for _, c := range []struct {
		program, text string
		unknown       bool
	}{
		{"", "echo {a,b}", false},
		{"/bin/bash", "echo {a,b}", false},
		{"sh", "echo a b", false},
		{"sh", "echo {a,b}", true},
		{"dash", "((rm x))", true},
		{"zsh", "echo a", true},
	} {
		line := shell.Parse(c.text, shell.Options{Directory: "/p", Shell: c.program})
		if got := len(line.Unknown) > 0; got != c.unknown {
			t.Errorf("%s with %q: unknown is %+v", c.text, c.program, line.Unknown)
		}
	}
	line := shell.Parse("GREETING=x", shell.Options{Directory: "/p", Exported: []string{"GREETING"}})
	if len(line.Unknown) != 1 || line.Unknown[0].Kind != shell.UnknownEnvironment {
		t.Errorf("to assign an exported variable is %+v", line.Unknown)
	}
}

// FuzzParse holds for any text that Parse ends, stays within its limits, says the
// same again, and hides no command of a text behind another.
func FuzzParse(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := shell.Parse(text, options)
		if diff := cmp.Diff(line, shell.Parse(text, options)); diff != "" {
			t.Fatal("Parse says something else the second time", diff)
		}
		if len(line.Commands) > 512 || len(line.Paths) > 2048 {
			t.Fatalf("%d commands and %d paths", len(line.Commands), len(line.Paths))
		}
		for _, command := range line.Commands {
			if len(command.Words) == 0 || command.Text == "" {
				t.Fatalf("an empty command: %+v", command)
			}
			if command.Pattern != "" && !session.Match(command.Pattern, command.Text) {
				t.Fatalf("%q saves %q, which does not allow it", command.Text, command.Pattern)
			}
		}
		for _, path := range line.Paths {
			if !strings.HasPrefix(path.Path, "/") {
				t.Fatalf("the path %q is not absolute", path.Path)
			}
		}
		checkTogether(t, "git push", text)
	})
}
