package fsys_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/fsys/search"
)

// lines shows what a grep found as "path:number:column:text", context as
// "path-number-text".
func lines(result fsys.GrepResult) []string {
	shown := []string{}
	for _, file := range result.Files {
		for _, line := range file.Lines {
			if line.Column == 0 {
				shown = append(shown, fmt.Sprintf("%s-%d-%s", file.Path, line.Number, line.Text))
			} else {
				shown = append(shown, fmt.Sprintf("%s:%d:%d:%s", file.Path, line.Number, line.Column, line.Text))
			}
		}
	}
	return shown
}

func TestGrep(t *testing.T) {
	_, roots := wood(t)
	for _, test := range []struct {
		name  string
		query fsys.GrepQuery
		want  []string
	}{
		{"literal", fsys.GrepQuery{Pattern: "needle"}, []string{"keep.log:1:1:needle", "main.go:3:15:func main() { needle() }", "readme.md:1:5:The needle.",
			"src/deep/er/b.go:2:2:\tneedle := 1", "vendored/x.log:1:1:needle in another work tree"}},
		{"regular expression", fsys.GrepQuery{Pattern: `n\w+e :?= \d`}, []string{"src/deep/er/b.go:2:2:\tneedle := 1"}},
		{"text with signs", fsys.GrepQuery{Pattern: "needle()", Options: search.Options{Literal: true}}, []string{"main.go:3:15:func main() { needle() }"}},
		{"either case", fsys.GrepQuery{Selection: fsys.Selection{Path: "src"}, Pattern: "NEEDLE", Options: search.Options{IgnoreCase: true}},
			[]string{"src/a.go:2:4:// Needle", "src/deep/er/b.go:2:2:\tneedle := 1"}},
		{"context", fsys.GrepQuery{Pattern: "func", Context: 1}, []string{"main.go-2-", "main.go:3:1:func main() { needle() }"}},
		{"names", fsys.GrepQuery{Pattern: "needle", Include: []string{"*.go"}}, []string{"main.go:3:15:func main() { needle() }", "src/deep/er/b.go:2:2:\tneedle := 1"}},
		{"paths", fsys.GrepQuery{Pattern: "needle", Include: []string{"src/**"}}, []string{"src/deep/er/b.go:2:2:\tneedle := 1"}},
		{"paths below", fsys.GrepQuery{Selection: fsys.Selection{Path: "src"}, Pattern: "needle", Include: []string{"deep/**"}}, []string{"src/deep/er/b.go:2:2:\tneedle := 1"}},
		{"several", fsys.GrepQuery{Pattern: "needle", Include: []string{"*.md", "*.log", "!keep*", "!vendored/**"}}, []string{"readme.md:1:5:The needle."}},
		{"hidden names", fsys.GrepQuery{Pattern: "needle", Include: []string{".env"}}, []string{".env:1:8:NEEDLE=needle"}},
		{"hidden", fsys.GrepQuery{Selection: fsys.Selection{Hidden: true}, Pattern: "^needle$"}, []string{"keep.log:1:1:needle", "src/.hidden.go:1:1:needle"}},
		{"ignored", fsys.GrepQuery{Selection: fsys.Selection{Ignored: true}, Pattern: "^needle$"}, []string{"build/out.go:1:1:needle", "keep.log:1:1:needle",
			"notes.log:1:1:needle", "scratch.go:1:1:needle"}},
		{"one file", fsys.GrepQuery{Selection: fsys.Selection{Path: "build/out.go"}, Pattern: "needle"}, []string{"build/out.go:1:1:needle"}},
		{"one file by a link", fsys.GrepQuery{Selection: fsys.Selection{Path: "link.go"}, Pattern: "Needle"}, []string{"src/a.go:2:4:// Needle"}},
		{"nothing", fsys.GrepQuery{Pattern: "nothing like it"}, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.query.Root = "location"
			result, err := roots.Grep(t.Context(), test.query)
			must(t, err)
			if diff := cmp.Diff(test.want, lines(result)); diff != "" {
				t.Error(diff)
			}
			if result.More || result.Counts != (fsys.Counts{}) {
				t.Errorf("%+v", result)
			}
		})
	}
}

func TestGrepRefuses(t *testing.T) {
	g, roots := wood(t)
	for name, test := range map[string]struct {
		query fsys.GrepQuery
		kind  fsys.Kind
		text  string
	}{
		"broken pattern":   {fsys.GrepQuery{Pattern: "("}, fsys.KindInvalid, "missing closing"},
		"no pattern":       {fsys.GrepQuery{}, fsys.KindInvalid, "empty"},
		"look-around":      {fsys.GrepQuery{Pattern: "(?<=a)b"}, fsys.KindInvalid, "look-around"},
		"broken include":   {fsys.GrepQuery{Pattern: "x", Include: []string{"*.go", "![a"}}, fsys.KindInvalid, "open bracket"},
		"no folder":        {fsys.GrepQuery{Selection: fsys.Selection{Path: "none"}, Pattern: "x"}, fsys.KindNotFound, "none"},
		"outside":          {fsys.GrepQuery{Selection: fsys.Selection{Path: "up"}, Pattern: "x"}, fsys.KindDenied, "leads outside"},
		"absolute outside": {fsys.GrepQuery{Selection: fsys.Selection{Path: g.path("outside")}, Pattern: "x"}, fsys.KindDenied, "leads outside"},
		"a link outside":   {fsys.GrepQuery{Selection: fsys.Selection{Path: "out.go"}, Pattern: "x"}, fsys.KindDenied, "leads outside"},
		"private":          {fsys.GrepQuery{Selection: fsys.Selection{Path: "to-private.go"}, Pattern: "x"}, fsys.KindDenied, "belongs to Plinth"},
		"a pipe":           {fsys.GrepQuery{Selection: fsys.Selection{Path: "pipe.go"}, Pattern: "x"}, fsys.KindInvalid, "a pipe"},
	} {
		test.query.Root = "location"
		_, err := roots.Grep(t.Context(), test.query)
		t.Run(name, func(t *testing.T) { wantError(t, err, test.kind, test.text) })
	}
}

// TestGrepFilter: what a guest may not read is not opened, and what it is told of
// it does not depend on the content.
func TestGrepFilter(t *testing.T) {
	_, roots := wood(t)
	var asked atomic.Int64
	filter := each(func(identity string) fsys.Access {
		asked.Add(1)
		switch {
		case strings.HasSuffix(identity, ".go"):
			return fsys.Asks
		case identity == "keep.log":
			return fsys.Denied
		}
		return fsys.Allowed
	})
	for _, pattern := range []string{"needle", "no such text"} {
		result, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location", Filter: filter}, Pattern: pattern})
		must(t, err)
		if want := (fsys.Counts{Asks: 3, Denied: 1}); result.Counts != want || result.Searched != 3 || result.Binary != 1 {
			t.Errorf("%s: %+v", pattern, result)
		}
		for _, line := range lines(result) {
			if strings.Contains(line, ".go:") || strings.Contains(line, "keep.log") {
				t.Errorf("%s: found %s", pattern, line)
			}
		}
	}
	if asked.Load() != 14 {
		t.Errorf("%d files were asked about, want 7 each time", asked.Load())
	}
	one, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location", Path: "main.go", Filter: filter}, Pattern: "needle"})
	if err != nil || one.Asks != 1 || len(one.Files) != 0 {
		t.Errorf("one file: %+v, %v", one, err)
	}
}

// TestGrepLimits: the result is the beginning of the whole one, however the workers
// happen to share the files.
func TestGrepLimits(t *testing.T) {
	g := newGrove(t)
	for i := range 400 {
		g.file(fmt.Sprintf("d%d/f%03d", i%7, i), strings.Repeat("needle\nhay\n", 1+i%5))
	}
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	grep := func(query fsys.GrepQuery) fsys.GrepResult {
		query.Selection, query.Pattern = fsys.Selection{Root: "location"}, "needle"
		result, err := roots.Grep(t.Context(), query)
		must(t, err)
		return result
	}
	whole := grep(fsys.GrepQuery{})
	if whole.Matches != 1200 || whole.More || len(whole.Files) != 400 {
		t.Fatalf("%d matches in %d files, more %v", whole.Matches, len(whole.Files), whole.More)
	}
	for _, limit := range []int{1, 2, 50, 333, 1199, 1200, 5000} {
		for range 5 {
			part := grep(fsys.GrepQuery{Bounds: fsys.Bounds{Limit: limit}})
			if diff := cmp.Diff(lines(whole)[:min(limit, 1200)], lines(part)); diff != "" {
				t.Fatalf("limit %d: %s", limit, diff)
			}
			if part.More != (limit < 1200) || part.Matches != min(limit, 1200) {
				t.Errorf("limit %d: more %v, %d matches", limit, part.More, part.Matches)
			}
		}
	}
	perFile := grep(fsys.GrepQuery{PerFile: 2})
	if perFile.Matches != 80+320*2 || perFile.More {
		t.Errorf("two of a file: %d matches, more %v", perFile.Matches, perFile.More)
	}
	for _, file := range perFile.Files {
		var number int
		fmt.Sscanf(file.Path[4:], "%d", &number)
		if file.More != (number%5 > 1) {
			t.Errorf("%s: more %v", file.Path, file.More)
		}
	}
}

// TestGrepTextIsBounded: wide lines and much context cannot fill the memory.
func TestGrepTextIsBounded(t *testing.T) {
	g := newGrove(t)
	line := strings.Repeat("wide ", 1999) + "needle\n"
	for i := range 20 {
		g.file(fmt.Sprintf("f%02d", i), strings.Repeat(line, 60))
	}
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	query := fsys.GrepQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "needle", Width: 1 << 20, Context: 1 << 20}
	var before []string
	for range 3 {
		result, err := roots.Grep(t.Context(), query)
		must(t, err)
		size := 0
		for _, file := range result.Files {
			for _, line := range file.Lines {
				size += len(line.Text)
			}
		}
		if size > 4<<20 || size < 4<<20-fsys.MaxWidth || !result.More {
			t.Errorf("%d bytes of text, more %v", size, result.More)
		}
		if shown := lines(result); before != nil && !cmp.Equal(before, shown) {
			t.Error("the same search answered otherwise")
		} else {
			before = shown
		}
	}
	query.Width = 0
	result, err := roots.Grep(t.Context(), query)
	must(t, err)
	if first := result.Files[0].Lines[0]; len(first.Text) != fsys.DefaultWidth || !first.Cut || !strings.Contains(first.Text, "needle") {
		t.Errorf("%+v", first)
	}
}

func TestGrepLargeFile(t *testing.T) {
	g := newGrove(t)
	g.file("large", strings.Repeat("a line of hay\n", 300_000)+"needle\n"+strings.Repeat("more hay\n", 10))
	g.file("empty", "")
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	result, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "needle$", Context: 1})
	must(t, err)
	if diff := cmp.Diff([]string{"large-300000-a line of hay", "large:300001:1:needle", "large-300002-more hay"}, lines(result)); diff != "" || result.Searched != 2 {
		t.Errorf("%d searched: %s", result.Searched, diff)
	}
}
