package e2e

import (
	"fmt"
	"strings"
)

// place is a step of the script: "p3-s07".
type place struct{ prompt, step int }

func (p place) String() string { return fmt.Sprintf("p%d-s%02d", p.prompt, p.step) }

func (p place) before(other place) bool {
	return p.prompt < other.prompt || p.prompt == other.prompt && p.step < other.step
}

// step is one turn of the model's.
type step struct {
	says string
	acts []act
}

// act is one call of a step.
type act struct {
	tool  string
	input object
	// parts are what it does for good, each with a way to see whether it is done; none
	// for a call that only looks.
	parts []part
	// wants is what its result must have in it.
	wants []string
}

// part is one thing that a call does.
type part struct {
	seen    string // a condition of the shell
	section string // of a patch
	// left is the condition that holds when a crash came in the middle of the part, and
	// finish the section that does the rest.
	left, finish string
}

// journal is where the commands with effects write that they ran.
const journal = ".git/task-journal"

func looks(tool string, input object, wants ...string) act {
	return act{tool: tool, input: input, wants: wants}
}

func see(path string, wants ...string) act { return looks("read", object{"path": path}, wants...) }

func page(path string, offset, limit int, wants ...string) act {
	return looks("read", object{"path": path, "offset": offset, "limit": limit}, wants...)
}

// shell is a command that the journal has once.
func shell(command string, wants ...string) act {
	return act{tool: "bash", input: object{"command": command}, parts: []part{{}}, wants: wants}
}

func edit(path, was, is, seen string, wants ...string) act {
	return act{tool: "edit", input: object{"path": path, "old_string": was, "new_string": is},
		parts: []part{{seen: holds(path, seen)}}, wants: append(wants, "Edited")}
}

func write(path, content string) act {
	return act{tool: "write", input: object{"path": path, "content": content}, parts: []part{{seen: holds(path, firstOf(content))}}, wants: []string{path}}
}

func patch(parts ...part) act {
	return act{tool: "apply_patch", input: object{}, parts: parts}
}

func todo(done int, items ...string) act {
	todos := make([]object, 0, len(items))
	for i, item := range items {
		todos = append(todos, object{"content": item, "status": map[bool]string{true: "completed", false: "pending"}[i < done]})
	}
	return looks("todowrite", object{"todos": todos}, fmt.Sprintf("%d of %d completed", done, len(items)))
}

func holds(path, text string) string { return fmt.Sprintf("grep -sqF '%s' %s", text, path) }

func firstOf(content string) string {
	line, _, _ := strings.Cut(content, "\n")
	return line
}

const (
	passes = "ok  \tgithub.com/mfridman/interpolate"
	well   = "Command exited with code 0."
)

var (
	vet   = shell("go vet ./...", well)
	check = shell("go test ./...", passes, well)
)

// prompts are what the user asks for.
var taskPrompts = [...]string{
	"[p1] Have a look at this module: what it does, how it is built, whether its tests pass. Change nothing yet.",
	"[p2] Set the comment of Identifiers right and add Uses, which says whether a string has a variable in it. Tidy the names in env.go.",
	"[p3] Add MustInterpolate with a test, and keep notes.",
	"[p4] Add Strict, which refuses variables that are not there, and give env.go a better name. The notes can go.",
	"[p5] Measure the parser's tests, tell of the new functions in the README, and test an escaped brace.",
	"[p6] Add tests of Uses and Strict and see that all is well.",
}

// taskScript is what the model does about each. outside is a file that it must not read.
func taskScript(outside string) [len(taskPrompts)][]step {
	return [...][]step{explore(outside), correct(), extend(), restructure(), document(), finish()}
}

func explore(outside string) []step {
	return []step{
		{"I look around.", []act{looks("list", object{}, "interpolate.go"), looks("glob", object{"pattern": "**/*.go"}, "parser_test.go")}},
		{"I plan.", []act{todo(0, "Explore", "Change", "Check")}},
		{"I read the first half.", []act{page("interpolate.go", 1, 110, "next offset 111")}},
		{"I read the second half.", []act{page("interpolate.go", 111, 200, "func (e Expression) Expand")}},
		{"I look for names.", []act{looks("grep", object{"pattern": `^func \(p \*Parser\)`, "include": "*.go"}, "parseBraceExpansion"), looks("grep", object{"pattern": "Indentifiers"}, "Found 1 match")}},
		{"I read the rest.", []act{see("parser.go", "package interpolate"), see("env.go", "normalizeKeyName"), see("parser_test.go", "TestParser")}},
		{"I run the tests.", []act{check}},
		{"I look next door.", []act{see("../outside/secret.txt", "leads outside"), see(outside, "denied")}},
		{"I ask.", []act{looks("question", object{"questions": []object{{"header": "First", "question": "What comes first?", "options": []object{{"label": "comments"}, {"label": "features"}}}}}, "comments")}},
		{"The tests pass, and comments come first.", nil},
	}
}

func correct() []step {
	return []step{
		{"I look for the comment.", []act{looks("grep", object{"pattern": "Indentifiers", "context": 2}, "interpolate.go")}},
		{"I set it right.", []act{edit("interpolate.go", "// Indentifiers parses the identifiers from any expansions in the provided string",
			"// Identifiers answers the names of the variables in the string, in their order.", "Identifiers answers")}},
		{"I add Uses, and misspell the place.", []act{looks("edit", object{"path": "interpolate.go", "old_string": "func Identifers(str string) {", "new_string": "func Uses() {"}, "not")}},
		{"I was wrong about the place.", []act{edit("interpolate.go", "\treturn expr.Identifiers(), nil\n}\n", `	return expr.Identifiers(), nil
}

// Uses reports whether the string has the variable in it.
func Uses(str, name string) (bool, error) {
	identifiers, err := Identifiers(str)
	if err != nil {
		return false, err
	}
	for _, identifier := range identifiers {
		if identifier == name {
			return true, nil
		}
	}
	return false, nil
}
`, "func Uses(")}},
		{"I tidy env.go.", []act{{tool: "edit", input: object{"path": "env.go", "old_string": "envMap", "new_string": "values", "replace_all": true},
			parts: []part{{seen: holds("env.go", "return values")}}, wants: []string{"4"}}}},
		{"I read it again.", []act{see("env.go", "values := mapEnv{}"), see("interpolate.go", "func Uses(")}},
		{"I vet.", []act{vet}},
		{"I test.", []act{check}},
		{"The tests pass; I tick it off.", []act{todo(1, "Comments", "MustInterpolate", "Strict")}},
		{"It is corrected, and the tests pass.", nil},
	}
}

const must = `package interpolate

// MustInterpolate is Interpolate of a string that is known to be good: it panics with
// the error.
func MustInterpolate(env Env, str string) string {
	result, err := Interpolate(env, str)
	if err != nil {
		panic(err)
	}
	return result
}
`

// aTest is a test of one equation.
func aTest(name, got, want string) string {
	return fmt.Sprintf(`package interpolate_test // %s

import (
	"testing"

	"github.com/mfridman/interpolate"
)

func Test%s(t *testing.T) {
	env := interpolate.NewMapEnv(map[string]string{"NAME": "James"})
	if got, want := %s, %s; got != want {
		t.Errorf("got %%v, want %%v", got, want)
	}
}
`, name, name, got, want)
}

func extend() []step {
	return []step{
		{"I see what is there.", []act{looks("glob", object{"pattern": "*.go"}, "interpolate.go"), looks("grep", object{"pattern": "panic"}, "No")}},
		{"I write it, and notes.", []act{
			{tool: "write", input: object{"path": "must.go", "content": must}, parts: []part{{seen: holds("must.go", "func MustInterpolate")}}, wants: []string{"must.go"}},
			write("notes/todo.md", "Tell of MustInterpolate.\n"),
		}},
		{"I write its test.", []act{write("must_test.go", aTest("Must", `interpolate.MustInterpolate(env, "Hello ${NAME}")`, `"Hello Joe"`))}},
		{"I vet.", []act{vet}},
		{"I test.", []act{shell("go test ./...", "FAIL", "got Hello James, want Hello Joe", "Command exited with code 1.")}},
		{"The test fails; I read it.", []act{see("must_test.go", "Hello Joe")}},
		{"The test was wrong.", []act{edit("must_test.go", "Hello Joe", "Hello James", "Hello James")}},
		{"I test again.", []act{check}},
		{"The tests pass; I look once more.", []act{see("must.go", "panic(err)"), looks("grep", object{"pattern": "MustInterpolate"}, "must_test.go"), see("interpolate_test.go", "package interpolate_test"), see("README.md", "## Usage")}},
		{"MustInterpolate is there, and the tests pass.", nil},
	}
}

const strict = `package interpolate

import "fmt"

// Strict is Interpolate of a string whose variables must all be set.
func Strict(env Env, str string) (string, error) {
	identifiers, err := Identifiers(str)
	if err != nil {
		return "", err
	}
	for _, identifier := range identifiers {
		if _, set := env.Get(identifier); !set {
			return "", fmt.Errorf("$%s: not set", identifier)
		}
	}
	return Interpolate(env, str)
}
`

// feedback is what the user says to the first patch.
const feedback = "Call it environ.go"

// moved is the patch of the fourth prompt, with env.go under another name.
func moved(to string) act {
	return patch(
		part{section: "*** Add File: strict.go\n+" + strings.ReplaceAll(strings.TrimSuffix(strict, "\n"), "\n", "\n+"), seen: holds("strict.go", "func Strict")},
		part{section: "*** Update File: parser.go\n@@\n // Below is an EBNF grammar for the language. The parser was built by basically turning this into\n" +
			"-// functions and structs named the same reading the string bite by bite (peekRune and nextRune)\n+// functions and structs named the same reading the string rune by rune (peekRune and nextRune)",
			seen: holds("parser.go", "rune by rune")},
		part{section: "*** Update File: env.go\n*** Move to: " + to + "\n@@ // Windows isn't case sensitive for env\n func normalizeKeyName(key string) string {\n-\tif runtime.GOOS == \"windows\" {\n+\tif runtime.GOOS == \"windows\" { // PATH is Path there\n \t\treturn strings.ToUpper(key)",
			seen: "test -e " + to + " && test ! -e env.go", left: "test -e " + to + " && test -e env.go", finish: "*** Delete File: env.go"},
		part{section: "*** Delete File: notes/todo.md", seen: "test ! -e notes/todo.md"},
	)
}

func (a act) wanting(wants ...string) act {
	a.wants = wants
	return a
}

func restructure() []step {
	return []step{
		{"I read the parser.", []act{page("parser.go", 1, 150, "EBNF"), page("parser.go", 151, 150, "scanIdentifier")}},
		{"I patch, and remember a line wrongly.", []act{looks("apply_patch", object{"patch": "*** Begin Patch\n*** Add File: strict.go\n+package interpolate\n*** Update File: parser.go\n@@\n-// This line is not there\n+// Nor this\n*** End Patch"}, "parser.go")}},
		{"I patch.", []act{moved("environment.go").wanting(feedback)}},
		{"It is to be environ.go; I look whether that is free.", []act{looks("glob", object{"pattern": "environ*"}, "No files found"), see("env.go", "package interpolate")}},
		{"I patch again.", []act{moved("environ.go").wanting("A strict.go", "M parser.go", "R env.go -> environ.go", "D notes/todo.md")}},
		{"I look at it.", []act{looks("list", object{}, "environ.go"), see("strict.go", "func Strict")}},
		{"I vet.", []act{vet}},
		{"I test.", []act{check}},
		{"The tests pass; I tick it off.", []act{todo(3, "Comments", "MustInterpolate", "Strict", "README")}},
		{"Strict is there, env.go is environ.go, and the tests pass.", nil},
	}
}

func document() []step {
	edited := func(was, is string) act { return edit("README.md", was, was+is, strings.TrimSpace(is)) }
	return []step{
		{"I count.", []act{shell("seq 1 20000", "left out", "whole output is in", well)}},
		{"I read a part of that.", []act{page(outputPlace, 15_000, 3, "15001\n15002")}},
		{"I run the parser's tests.", []act{shell("go test -v -run TestParser .", "--- PASS: TestParser", well)}},
		{"I tell of them.", []act{edited("## Prior work\n", "\n`Uses` tells whether a string has a variable.\n")}},
		{"I tell more.", []act{
			edited("## Usage\n", "\n`MustInterpolate` panics instead of failing.\n"),
			edited("## License\n", "\nThe licence holds for `Strict` as well.\n"),
		}},
		{"I test an escaped brace.", []act{edit("parser_test.go", "\t\t{\n\t\t\tString: `$`,\n",
			"\t\t{\n\t\t\tString: `\\\\`,\n\t\t\tExpected: []interpolate.ExpressionItem{\n\t\t\t\t{Text: `\\\\`},\n\t\t\t},\n\t\t},\n\t\t{\n\t\t\tString: `$`,\n", "String: `\\\\`,")}},
		{"I vet.", []act{vet}},
		{"I test.", []act{check}},
		{"The tests pass; I see what has changed.", []act{shell("git diff --stat", "README.md", "6 ++", well), see("README.md", "MustInterpolate")}},
		{"The README tells it, and the tests pass.", nil},
	}
}

func finish() []step {
	return []step{
		{"I read what there is to test.", []act{page("interpolate.go", 1, 60, "func Uses("), see("strict.go", "func Strict")}},
		{"I write both tests.", []act{
			write("uses_test.go", strings.Replace(aTest("Uses", "uses", "false"), "\tif got", "\tuses, _ := interpolate.Uses(`$NAME`+interpolate.MustInterpolate(env, ``), `NAME`)\n\tif got", 1)),
			write("strict_test.go", strings.Replace(aTest("Strict", "err != nil", "true"), "\tif got", "\t_, err := interpolate.Strict(env, `$NOBODY`)\n\tif got", 1)),
		}},
		{"I format.", []act{shell("gofmt -l .", "(no output)", well)}},
		{"I vet.", []act{vet}},
		{"I test.", []act{shell("go test ./...", "got true, want false", "Command exited with code 1.")}},
		{"A test fails; I look for it.", []act{looks("grep", object{"pattern": "want := uses", "include": "*_test.go"}, "uses_test.go")}},
		{"It wants the opposite.", []act{edit("uses_test.go", "uses, false;", "uses, true;", "uses, true;")}},
		{"I test again.", []act{shell("go test -count=1 ./...", passes, well)}},
		{"The tests pass; I tick all off.", []act{todo(5, "Comments", "MustInterpolate", "Strict", "README", "Tests"), looks("list", object{}, "uses_test.go")}},
		{"All is there, and the tests pass.", nil},
	}
}
