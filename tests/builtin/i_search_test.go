package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The case of the tools glob and grep.
func TestCasesOfSearching(t *testing.T) {
	sessiontest.Cases(t, "I", []sessiontest.Case{
		{Number: 257, Text: "What glob and grep ask for is their pattern; without a hit they say \"No files found\".",
			Ours: "The walk asks for read too: on its folder, and a file whose reading would ask or is denied is not looked at, and counted.", Run: searching},
	})
}

// wood is a world with something to find.
func wood(t *testing.T, rules ...session.Rule) *world {
	t.Helper()
	w := newWorld(t, options{Plugins: []string{"core/files"}, Rules: rules, Files: map[string]string{
		"main.go": "package main\n\nfunc main() { needle() }\n", "go.mod": "module m\n", ".gitignore": "build/\n", ".github/ci.yml": "on: needle\n",
		"src/a.go": "package src\n\n// a needle\nvar a = 1\n// end\n", "src/deep/b.go": "package deep\n", "build/out.go": "needle\n", ".env": "KEY=needle\n",
		".git/config": "needle\n", "src/empty/": "",
	}})
	old := time.Unix(1_000_000, 0)
	if err := os.Chtimes(w.at("src/a.go"), old, old); err != nil {
		t.Fatal(err)
	}
	return w
}

func searching(t *testing.T) {
	w := wood(t, rule("glob", "*", session.Ask), rule("grep", "*", session.Ask), rule("read", ".", session.Ask))
	for _, c := range []struct {
		tool, input, text string
		asked             []string
	}{
		{"glob", `{"pattern":"**/*.zig"}`, "No files found", []string{"glob **/*.zig", "read ."}},
		{"grep", `{"pattern":"no(thing)+"}`, "No files found\n\n(left out: 1 file whose reading needs approval; read one by its path to ask for it)", []string{"grep no(thing)+", "read ."}},
		{"grep", `{"pattern":"nothing","path":"src"}`, "No files found", []string{"grep nothing"}},
		{"glob", `{"pattern":"*.mod"}`, "go.mod", []string{"glob *.mod", "read ."}},
	} {
		r := w.ok(c.tool, c.input)
		if diff := cmp.Diff(c.asked, asks(r.Asked)); diff != "" || r.Text != c.text {
			t.Errorf("%s %s: %q %s", c.tool, c.input, r.Text, diff)
		}
	}
	// Without an answer there is nothing: neither where the pattern is refused, nor where the folder is.
	for _, action := range []string{"glob", "read"} {
		w.Reply = func(request session.PermissionRequest) session.Reply {
			if request.Action == action {
				return session.ReplyReject
			}
			return session.ReplyOnce
		}
		if r := w.call("glob", `{"pattern":"**/*.go"}`); r.Error == nil || r.Text != "" {
			t.Errorf("%s is refused: %+v %q", action, r.Error, r.Text)
		}
	}
}

func TestGlobOverARealFolder(t *testing.T) {
	w := wood(t)
	for input, want := range map[string]string{
		`{"pattern":"src/**/*.go"}`:                    "src/deep/b.go\nsrc/a.go", // the latest changed first
		`{"pattern":"*.go","path":"src"}`:              "src/a.go",
		`{"pattern":"**/*.yml"}`:                       ".github/ci.yml",
		`{"pattern":"build/*.go"}`:                     "build/out.go", // it is named
		`{"pattern":"**/out.go"}`:                      "No files found",
		`{"pattern":"**/out.go","ignored":true}`:       "build/out.go",
		`{"pattern":"**/config","ignored":true}`:       "No files found", // not git's own
		`{"pattern":"{main,none}.{go,rs}","limit":1}`:  "main.go",
		`{"pattern":"**/*.go","path":"src","limit":1}`: "src/deep/b.go\n\n(showing 1 of 2 files, the newest first; narrow pattern or path, or raise limit)",
	} {
		if r := w.ok("glob", input); r.Text != want {
			t.Errorf("%s: %q, want %q", input, r.Text, want)
		}
	}
	w.write(w.Outside+"/x.go", "")
	if r := w.ok("glob", input(map[string]any{"pattern": "*.go", "path": w.Outside})); r.Text != w.Outside+"/x.go" || len(r.Asked) != 1 || r.Asked[0].Action != "external_directory" {
		t.Errorf("%q, asked %q", r.Text, asks(r.Asked))
	}
	w.fails("glob", `{"pattern":"*","path":"none"}`, "none does not exist")
	w.fails("glob", `{"pattern":"*","path":"main.go"}`, "a glob needs a folder")
	w.fails("glob", `{"pattern":"[a"}`, "open bracket")
	w.fails("glob", `{"pattern":"/etc/*"}`, "name the folder in path")
}

func TestGrepOverARealFolder(t *testing.T) {
	w := wood(t, rule("read", "go.mod", session.Deny))
	asked := "\n\n(left out: 1 file whose reading needs approval; read one by its path to ask for it)"
	denied := "\n\n(left out: 1 file that may not be read)"
	for input, want := range map[string]string{
		`{"pattern":"needle"}`: "Found 3 matches in 3 files\n\n.github/ci.yml\n  1: on: needle\n\nmain.go\n  3: func main() { needle() }\n\nsrc/a.go\n  3: // a needle" + asked + denied,
		`{"pattern":"(?i)NEEDLE","include":"*.go","path":"src"}`: "Found 1 match in 1 file\n\nsrc/a.go\n  3: // a needle",
		`{"pattern":"needle","path":"src/a.go","context":1}`:     "Found 1 match in 1 file\n\nsrc/a.go\n  2- \n  3: // a needle\n  4- var a = 1",
		`{"pattern":"^package","limit":1,"include":"*.go"}`:      "Found 1 match in 1 file, and there are more; narrow pattern, path or include, or raise limit\n\nmain.go\n  1: package main",
		`{"pattern":"needle","path":"build","ignored":true}`:     "Found 1 match in 1 file\n\nbuild/out.go\n  1: needle",
	} {
		if r := w.ok("grep", input); r.Text != want {
			t.Errorf("%s:\n got %q\nwant %q", input, r.Text, want)
		}
	}
	w.fails("grep", `{"pattern":"a(b"}`, "missing closing )")
	w.fails("grep", `{"pattern":"a","path":"none"}`, "none does not exist")
}

func TestListOverARealFolder(t *testing.T) {
	w := wood(t, rule("read", "src/deep*", session.Deny))
	w.link("alias", "src")
	want := ".github/\n  ci.yml\nsrc/\n  empty/\n  a.go\n.env\n.gitignore\ngo.mod\nmain.go\n\n(left out: 2 files that may not be read)"
	if r := w.ok("list", `{}`); r.Text != want || len(r.Asked) != 0 {
		t.Errorf("got %q\nwant %q, asked %q", r.Text, want, asks(r.Asked))
	}
	if r := w.ok("list", `{"path":"alias","depth":1}`); !strings.HasPrefix(r.Text, "empty/\na.go\n\n(showing 1 level;") {
		t.Errorf("%q", r.Text)
	}
	if r := w.ok("list", `{"path":"src/empty"}`); r.Text != "(the directory is empty, or git ignores what is in it)" {
		t.Errorf("%q", r.Text)
	}
	w.fails("list", `{"path":"main.go"}`, "main.go is a file; read shows it")
	w.fails("list", `{"path":"none"}`, "none does not exist")
	w.fails("list", `{"path":"../x"}`, "outside")
	w.fails("list", `{"depth":11}`, "10")
	for i := range 300 {
		w.write(fmt.Sprintf("many/a/%03d", i), "")
		w.write(fmt.Sprintf("many/b/%03d", i), "")
	}
	if r := w.ok("list", `{"path":"many"}`); r.Text != "a/\nb/\n\n(showing 1 level; the next has 600 entries: list a folder to see what is in it)" {
		t.Errorf("%q", r.Text)
	}
	w.write(w.Outside+"/sub/x", "")
	if r := w.ok("list", input(map[string]any{"path": w.Outside})); r.Text != "sub/\n  x" || len(r.Asked) != 1 {
		t.Errorf("%q, asked %q", r.Text, asks(r.Asked))
	}
}

// What a tool shows stays within 2,000 lines and 51,200 bytes, so that nothing of it is
// kept apart.
func TestSearchesStayWithinWhatIsShown(t *testing.T) {
	w := newWorld(t, options{Plugins: []string{"core/files"}})
	long := strings.Repeat("n", 200)
	for i := range 600 {
		w.write(fmt.Sprintf("%s/%s%04d", long, long, i), strings.Repeat(strings.Repeat("needle ", 70)+"\n", 3))
	}
	for _, c := range []struct{ tool, input string }{
		{"glob", `{"pattern":"**/*","limit":1000}`}, {"grep", `{"pattern":"needle","limit":1000}`}, {"grep", `{"pattern":"needle","limit":1000,"context":20}`},
		{"list", `{"depth":2}`}, {"list", input(map[string]any{"path": long})}, {"read", input(map[string]any{"path": long})},
	} {
		r := w.ok(c.tool, c.input)
		if lines := strings.Count(r.Text, "\n") + 1; lines > 2000 || len(r.Text) > 51_200 || len(r.Part.Outputs) > 0 || !strings.Contains(string(r.Part.Structured), `"truncated":true`) {
			t.Errorf("%s %.50s: %d lines, %d bytes, kept %q, %s", c.tool, c.input, lines, len(r.Text), r.Part.Outputs, r.Part.Structured)
		}
	}
}
