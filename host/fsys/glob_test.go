package fsys_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
)

// wood is a project to search in:
//
//	private/   barred
//	build/     ignored by .gitignore
func wood(t *testing.T) (*grove, *fsys.Roots) {
	t.Helper()
	g := newGrove(t)
	for name, text := range map[string]string{
		"outside/secret.go":         "package secret\n",
		"p/main.go":                 "package main\n\nfunc main() { needle() }\n",
		"p/readme.md":               "The needle.\n",
		"p/src/a.go":                "package src\n// Needle\n",
		"p/src/deep/er/b.go":        "package er\n\tneedle := 1\n",
		"p/src/deep/c.ts":           "let needle\n",
		"p/src/.hidden.go":          "needle\n",
		"p/.github/ci.yml":          "needle: 1\n",
		"p/.env":                    "NEEDLE=needle\n",
		"p/build/out.go":            "needle\n",
		"p/notes.log":               "needle\n",
		"p/keep.log":                "needle\n",
		"p/pic.png":                 "needle\x00",
		"p/.gitignore":              "/build/\n*.log\n!keep.log\n",
		"p/src/.ignore":             "*.ts\n",
		"p/private/plinth.go":       "needle\n",
		"p/vendored/.git/HEAD":      "",
		"p/vendored/x.log":          "needle in another work tree\n",
		"p/.git/info/exclude":       "scratch*\n",
		"p/scratch.go":              "needle\n",
		"p/.git/config":             "needle\n",
		"p/.plinth-commit-LEFTOVER": "needle\n",
	} {
		g.file(name, text)
	}
	g.link("p/link.go", "src/a.go")
	g.link("p/out.go", "../outside/secret.go")
	g.link("p/dir", "src")
	g.link("p/up", "..")
	g.link("p/to-private.go", "private/plinth.go")
	g.link("p/broken.go", "nowhere")
	must(t, syscall.Mkfifo(g.path("p/pipe.go"), 0o600))
	must(t, os.WriteFile(g.path("p/bad\xff.go"), []byte("needle\n"), 0o600))
	roots, err := fsys.New(map[string]string{"location": g.path("p")}, []string{g.path("p/private")})
	must(t, err)
	return g, roots
}

// names shows what a glob found, "link -> target" for links.
func names(files []fsys.GlobFile) []string {
	shown := []string{}
	for _, file := range files {
		if file.Link != "" {
			shown = append(shown, file.Link+" -> "+file.Path)
		} else {
			shown = append(shown, file.Path)
		}
	}
	return shown
}

func TestGlob(t *testing.T) {
	_, roots := wood(t)
	for _, test := range []struct {
		name  string
		query fsys.GlobQuery
		want  []string
	}{
		{"all", fsys.GlobQuery{Pattern: "**"}, []string{
			"keep.log", "link.go -> src/a.go", "main.go", "pic.png", "readme.md", "src/a.go", "src/deep/er/b.go", "vendored/x.log"}},
		{"names here", fsys.GlobQuery{Pattern: "*.go"}, []string{"link.go -> src/a.go", "main.go"}},
		{"names everywhere", fsys.GlobQuery{Pattern: "**/*.go"}, []string{"link.go -> src/a.go", "main.go", "src/a.go", "src/deep/er/b.go"}},
		{"choices", fsys.GlobQuery{Pattern: "{main,readme}.{go,md}"}, []string{"main.go", "readme.md"}},
		{"class", fsys.GlobQuery{Pattern: "src/[a-c].go"}, []string{"src/a.go"}},
		{"one name", fsys.GlobQuery{Pattern: "src/?.go"}, []string{"src/a.go"}},
		{"no wildcard", fsys.GlobQuery{Pattern: "src/deep/er/b.go"}, []string{"src/deep/er/b.go"}},
		{"untidy", fsys.GlobQuery{Pattern: "./src//deep/../*.go"}, []string{"src/a.go"}},
		{"by way of a link", fsys.GlobQuery{Pattern: "dir/**/*.go"}, []string{"src/a.go", "src/deep/er/b.go"}},
		{"below a folder", fsys.GlobQuery{Selection: fsys.Selection{Path: "src"}, Pattern: "deep/**"}, []string{"src/deep/er/b.go"}},
		{"below a link", fsys.GlobQuery{Selection: fsys.Selection{Path: "dir"}, Pattern: "*.go"}, []string{"src/a.go"}},
		{"a depth", fsys.GlobQuery{Pattern: "*/*/*/*.go"}, []string{"src/deep/er/b.go"}},
		{"hidden", fsys.GlobQuery{Selection: fsys.Selection{Hidden: true}, Pattern: "**/*.{go,yml}"}, []string{
			".github/ci.yml", "link.go -> src/a.go", "main.go", "src/.hidden.go", "src/a.go", "src/deep/er/b.go"}},
		{"a hidden name", fsys.GlobQuery{Pattern: "**/.hidden*"}, []string{"src/.hidden.go"}},
		{"a hidden folder", fsys.GlobQuery{Pattern: ".github/*"}, []string{".github/ci.yml"}},
		{"a hidden choice", fsys.GlobQuery{Pattern: "{x,.env}"}, []string{".env"}},
		{"ignored", fsys.GlobQuery{Selection: fsys.Selection{Ignored: true}, Pattern: "**/*.{log,ts}"}, []string{
			"keep.log", "notes.log", "src/deep/c.ts", "vendored/x.log"}},
		{"an ignored folder named", fsys.GlobQuery{Pattern: "build/*"}, []string{"build/out.go"}},
		{"hidden is not git's own", fsys.GlobQuery{Selection: fsys.Selection{Hidden: true}, Pattern: "**/config"}, []string{}},
		{"everything", fsys.GlobQuery{Selection: fsys.Selection{Hidden: true, Ignored: true}, Pattern: "**/config"}, []string{".git/config"}},
		{"nothing", fsys.GlobQuery{Pattern: "*.none"}, []string{}},
		{"a folder that is not there", fsys.GlobQuery{Pattern: "none/**"}, []string{}},
		{"below a file", fsys.GlobQuery{Pattern: "main.go/**"}, []string{}},
		{"a private folder", fsys.GlobQuery{Selection: fsys.Selection{Hidden: true, Ignored: true}, Pattern: "**/plinth*"}, []string{}},
		{"folders", fsys.GlobQuery{Pattern: "*", Folders: true}, []string{
			"keep.log", "link.go -> src/a.go", "main.go", "pic.png", "readme.md", "src", "vendored"}},
		{"folders further down", fsys.GlobQuery{Pattern: "src/**", Folders: true}, []string{"src/a.go", "src/deep", "src/deep/er", "src/deep/er/b.go"}},
		{"hidden folders", fsys.GlobQuery{Selection: fsys.Selection{Hidden: true}, Pattern: ".g*", Folders: true}, []string{".github", ".gitignore"}},
		{"ignored folders", fsys.GlobQuery{Selection: fsys.Selection{Ignored: true}, Pattern: "{build,private}", Folders: true}, []string{"build"}},
		{"half written files", fsys.GlobQuery{Selection: fsys.Selection{Hidden: true, Ignored: true}, Pattern: "**/.plinth*"}, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.query.Root = "location"
			result, err := roots.Glob(t.Context(), test.query)
			must(t, err)
			if diff := cmp.Diff(test.want, names(result.Files)); diff != "" {
				t.Error(diff)
			}
			if result.Matched != len(test.want) || result.Counts != (fsys.Counts{}) {
				t.Errorf("matched %d, %+v", result.Matched, result.Counts)
			}
		})
	}
}

func TestGlobRefuses(t *testing.T) {
	g, roots := wood(t)
	for name, test := range map[string]struct {
		query fsys.GlobQuery
		kind  fsys.Kind
		text  string
	}{
		"empty":              {fsys.GlobQuery{Pattern: ""}, fsys.KindInvalid, "empty"},
		"open bracket":       {fsys.GlobQuery{Pattern: "[a"}, fsys.KindInvalid, "open bracket"},
		"open brace":         {fsys.GlobQuery{Pattern: "{a,b"}, fsys.KindInvalid, "open bracket or brace"},
		"long":               {fsys.GlobQuery{Pattern: strings.Repeat("a", 1025)}, fsys.KindInvalid, "1025 bytes"},
		"explosive":          {fsys.GlobQuery{Pattern: strings.Repeat("{a,b}", 20)}, fsys.KindInvalid, "256 alternatives"},
		"nested":             {fsys.GlobQuery{Pattern: strings.Repeat("{a,", 10) + strings.Repeat("}", 10)}, fsys.KindInvalid, "alternatives"},
		"slash at the end":   {fsys.GlobQuery{Pattern: "src/"}, fsys.KindInvalid, "slash"},
		"NUL":                {fsys.GlobQuery{Pattern: "a\x00*"}, fsys.KindInvalid, "NUL"},
		"not UTF-8":          {fsys.GlobQuery{Pattern: "a\xff*"}, fsys.KindInvalid, "UTF-8"},
		"parent":             {fsys.GlobQuery{Pattern: "../**"}, fsys.KindDenied, "leads outside"},
		"absolute outside":   {fsys.GlobQuery{Pattern: g.path("outside") + "/*"}, fsys.KindDenied, "leads outside"},
		"a link outside":     {fsys.GlobQuery{Pattern: "up/outside/*"}, fsys.KindDenied, "leads outside"},
		"private":            {fsys.GlobQuery{Pattern: "private/*"}, fsys.KindDenied, "belongs to Plinth"},
		"no root":            {fsys.GlobQuery{Selection: fsys.Selection{Root: "elsewhere"}, Pattern: "*"}, fsys.KindDenied, "no root"},
		"no folder":          {fsys.GlobQuery{Selection: fsys.Selection{Path: "none"}, Pattern: "x/*"}, fsys.KindNotFound, `"none"`},
		"a file as a folder": {fsys.GlobQuery{Selection: fsys.Selection{Path: "main.go"}, Pattern: "*"}, fsys.KindInvalid, "it is a file"},
	} {
		if test.query.Root == "" {
			test.query.Root = "location"
		}
		_, err := roots.Glob(t.Context(), test.query)
		t.Run(name, func(t *testing.T) { wantError(t, err, test.kind, test.text) })
	}
	result, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location", Path: "src"}, Pattern: g.path("p") + "/*.md"})
	if diff := cmp.Diff([]string{"readme.md"}, names(result.Files)); diff != "" || err != nil {
		t.Errorf("an absolute pattern in the root: %v %s", err, diff)
	}
}

func TestGlobFilter(t *testing.T) {
	_, roots := wood(t)
	var mu sync.Mutex
	var asked []string
	filter := each(func(identity string) fsys.Access {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, identity)
		switch {
		case strings.HasPrefix(identity, "src/"):
			return fsys.Asks
		case identity == "readme.md":
			return fsys.Denied
		}
		return fsys.Allowed
	})
	result, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location", Filter: filter}, Pattern: "**/*.{go,md}"})
	must(t, err)
	if diff := cmp.Diff([]string{"main.go"}, names(result.Files)); diff != "" {
		t.Error(diff)
	}
	// link.go counts as the file it leads to.
	if want := (fsys.Counts{Asks: 3, Denied: 1}); result.Counts != want || result.Matched != 1 {
		t.Errorf("%+v, matched %d", result.Counts, result.Matched)
	}
	slices.Sort(asked)
	if diff := cmp.Diff([]string{"main.go", "readme.md", "src/a.go", "src/a.go", "src/deep/er/b.go"}, asked); diff != "" {
		t.Errorf("asked about: %s", diff)
	}
}

func TestGlobOrderAndLimit(t *testing.T) {
	g := newGrove(t)
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var byPath, byTime []string
	for i := range 3000 {
		name := fmt.Sprintf("d%d/f%04d", i%3, i)
		g.file(name, "x")
		must(t, os.Chtimes(g.path(name), when, when.Add(time.Duration(i%1500)*time.Hour)))
		byPath = append(byPath, name)
	}
	slices.Sort(byPath)
	byTime = slices.Clone(byPath)
	slices.SortStableFunc(byTime, func(a, b string) int {
		number := func(name string) (n int) { fmt.Sscanf(name[4:], "%d", &n); return n % 1500 }
		return number(b) - number(a)
	})
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	for _, limit := range []int{0, 1, 7, 2999, 3000} {
		for order, want := range map[fsys.Order][]string{fsys.ByPath: byPath, fsys.ByNewest: byTime} {
			result, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "**", Order: order, Bounds: fsys.Bounds{Limit: limit}})
			must(t, err)
			if limit > 0 {
				want = want[:limit]
			}
			if diff := cmp.Diff(want, names(result.Files)); diff != "" || result.Matched != 3000 {
				t.Fatalf("order %d, limit %d: matched %d\n%s", order, limit, result.Matched, diff)
			}
		}
	}
	first, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "d0/*", Bounds: fsys.Bounds{Limit: 1}})
	must(t, err)
	want := fsys.Info{Path: "d0/f0000", Name: "f0000", Size: 1, Modified: when}
	if diff := cmp.Diff(want, first.Files[0].Info, cmp.Transformer("utc", time.Time.UTC)); diff != "" {
		t.Error(diff)
	}
}

// TestGitAgreesOnTrees asks git which files it would add, in trees with ignore
// files in any folder.
func TestGitAgreesOnTrees(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	ignored := 0
	for range 40 {
		g := newGrove(t)
		g.folder("p")
		g.git("p", "init", "-q")
		folders := []string{"p"}
		for range 25 {
			folders = append(folders, folders[random.IntN(len(folders))]+"/"+string("abc"[random.IntN(3)]))
		}
		files := 0
		for i := range 60 {
			name := folders[random.IntN(len(folders))] + "/" + []string{"x", "y.log", ".h", "z.go"}[random.IntN(4)]
			if _, err := os.Lstat(g.path(name)); err == nil || os.MkdirAll(filepath.Dir(g.path(name)), 0o700) != nil {
				continue
			}
			g.file(name, fmt.Sprint(i))
			files++
		}
		rules := []string{"*.log", "!y.log", "/a", "a/", "b/c/", "**/c/z.go", "b/**", "!b/", "!b/**", "x", "/x", ".h", "!.h", "a/*", "!a/b", "*", "!*/", "!z.go"}
		for range 6 {
			folder := folders[random.IntN(len(folders))]
			g.file(folder+"/.gitignore", rules[random.IntN(len(rules))]+"\n"+rules[random.IntN(len(rules))]+"\n")
		}
		g.file("p/.git/info/exclude", rules[random.IntN(len(rules))]+"\n")

		command := exec.CommandContext(t.Context(), "git", "-C", g.path("p"), "ls-files", "-z", "--others", "--exclude-standard")
		command.Env = []string{"HOME=" + g.root, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := command.Output()
		must(t, err)
		want := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
		slices.Sort(want)
		ignored += max(0, files-len(want))

		roots, err := fsys.New(map[string]string{"location": g.path("p")}, nil)
		must(t, err)
		result, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location", Hidden: true}, Pattern: "**"})
		must(t, err)
		if diff := cmp.Diff(append([]string{}, want...), names(result.Files)); diff != "" {
			t.Errorf("%s: %s", g.root, diff)
		}
	}
	if ignored < 100 {
		t.Errorf("git ignored %d files in all, too few to have compared anything", ignored)
	}
}

func TestSearchesEndWithTheirContext(t *testing.T) {
	_, roots := wood(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the turn was interrupted")
	// The filter is where a test can stand in the middle of a search.
	filter := func(_ context.Context, identities []string) ([]fsys.Access, error) {
		cancel(reason)
		return make([]fsys.Access, len(identities)), nil
	}
	selection := fsys.Selection{Root: "location", Filter: filter}
	if _, err := roots.Glob(ctx, fsys.GlobQuery{Selection: selection, Pattern: "**"}); !errors.Is(err, reason) {
		t.Errorf("glob: %v", err)
	}
	for _, path := range []string{"", "main.go"} {
		selection.Path = path
		if _, err := roots.Grep(ctx, fsys.GrepQuery{Selection: selection, Pattern: "x"}); !errors.Is(err, reason) {
			t.Errorf("grep %q: %v", path, err)
		}
	}
}

// TestDeepAndWideFolders: what cannot be opened is not found either, and a folder
// larger than one batch is searched whole.
func TestDeepAndWideFolders(t *testing.T) {
	g := newGrove(t)
	t.Chdir(g.root)
	deep := strings.TrimSuffix(strings.Repeat("d/", 140), "/")
	must(t, os.MkdirAll(deep, 0o700))
	for _, levels := range []int{127, 128, 129, 140} {
		must(t, os.WriteFile(strings.Repeat("d/", levels)+"f", []byte("needle\n"), 0o600))
	}
	for i := range 2500 {
		g.file(fmt.Sprintf("wide/f%04d", i), "needle\n")
	}
	g.file("wide/.gitignore", "f0*\n")
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	result, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "d/**"})
	must(t, err)
	if diff := cmp.Diff([]string{strings.Repeat("d/", 128) + "f", strings.Repeat("d/", 127) + "f"}, names(result.Files)); diff != "" {
		t.Error(diff)
	}
	for _, file := range result.Files {
		opened, err := roots.Open("location", file.Path)
		must(t, err)
		must(t, opened.Close())
	}
	found, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location", Path: "wide"}, Pattern: "needle"})
	must(t, err)
	if found.Matches != 1500 || found.Searched != 1500 {
		t.Errorf("%d matches in %d files", found.Matches, found.Searched)
	}
}

func TestSearchCountsWhatItCannotRead(t *testing.T) {
	if unprivileged(t) {
		return
	}
	g, roots := wood(t)
	must(t, os.Chmod(g.path("p/main.go"), 0))
	must(t, os.Chmod(g.path("p/src/deep"), 0))
	defer os.Chmod(g.path("p/src/deep"), 0o700)
	found, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "needle"})
	must(t, err)
	if found.Unreadable != 2 || found.Matches != 3 {
		t.Errorf("%+v", found)
	}
	_, err = roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location", Path: "main.go"}, Pattern: "needle"})
	wantError(t, err, fsys.KindDenied, "operating system")
}
