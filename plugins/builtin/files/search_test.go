package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// answering is a host that gives one operation these answers, one after the other, and
// keeps the requests.
func answering(t *testing.T, operation string, answers ...any) (requests *[]string) {
	t.Helper()
	requests = new([]string)
	h := hostWith(t, map[string]string{"d/x": "", "f": ""})
	h.Operations = map[string]plinthtest.Operation{operation: func(request json.RawMessage, _ []byte) (any, []byte, error) {
		*requests = append(*requests, string(request))
		if len(answers) == 0 {
			t.Fatalf("%s is asked for once too often: %s", operation, request)
		}
		answer := answers[0]
		answers = answers[1:]
		if err, ok := answer.(error); ok {
			return nil, nil, err
		}
		return answer, nil, nil
	}}
	return requests
}

// run runs a tool and answers its text and its structured output.
func run(t *testing.T, name, in string) (text, structured string, err error) {
	t.Helper()
	output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: name, Input: json.RawMessage(in)})
	if err != nil {
		return "", "", err
	}
	return output.Content[0].Text, string(output.Structured), nil
}

func files(paths ...string) (all []abi.FileInfo) {
	for _, path := range paths {
		info := abi.FileInfo{Path: path, Kind: abi.FileRegular}
		if folder, ok := strings.CutSuffix(path, "/"); ok {
			info.Path, info.Kind = folder, abi.FileDirectory
		}
		all = append(all, info)
	}
	return all
}

func found(paths ...string) abi.FSFound {
	return abi.FSFound{Files: files(paths...), Matched: len(paths)}
}

func TestSearchesCheckTheirInput(t *testing.T) {
	answering(t, abi.OpFSGlob)
	for _, c := range []struct{ tool, in, want string }{
		{"glob", `{}`, "invalid_input: pattern is missing; **/* finds every file"},
		{"glob", `{"pattern":"*","limit":0}`, "limit is 0; it is at least 1 and at most 1000"},
		{"glob", `{"pattern":"*","limit":1001}`, "limit is 1001; it is at least 1 and at most 1000"},
		{"glob", `{"pattern":"*","path":"a\u0000"}`, "path has a NUL character in it"},
		{"glob", `{"pattern":"*","hidden":true}`, `unknown field "hidden"`},
		{"grep", `{}`, "pattern is missing; it is a regular expression"},
		{"grep", `{"pattern":"x","limit":1001}`, "limit is 1001"},
		{"grep", `{"pattern":"x","context":21}`, "context is 21; it is at least 0 and at most 20"},
		{"grep", `{"pattern":"x","path":"a\u0000"}`, "NUL"},
		{"list", `{"depth":0}`, "depth is 0; it is at least 1 and at most 10"},
		{"list", `{"depth":11}`, "depth is 11"},
		{"list", `{"path":"a\u0000"}`, "NUL"},
		{"list", `{"path":"f"}`, "f is a file; read shows it"},
		{"list", `{"path":"none"}`, "not_found: none does not exist"},
	} {
		if _, _, err := run(t, c.tool, c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %q", c.tool, c.in, err, c.want)
		}
	}
}

func TestSearchesPassOnWhatTheHostRefuses(t *testing.T) {
	for tool, operation := range map[string]string{"glob": abi.OpFSGlob, "grep": abi.OpFSGrep, "list": abi.OpFSGlob} {
		answering(t, operation, &abi.Error{Kind: abi.KindDenied, Message: "the host's words"})
		if _, _, err := run(t, tool, map[bool]string{true: `{}`, false: `{"pattern":"x"}`}[tool == "list"]); err == nil || err.Error() != "denied: the host's words" {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestSearchesSayWhatTheyPassedOver(t *testing.T) {
	all := abi.FSPassed{Asks: 2, Denied: 1, Unreadable: 3, Partial: true}
	want := nothingFound + "\n\n(left out: 2 files whose reading needs approval; read one by its path to ask for it)" +
		"\n\n(left out: 1 file that may not be read)\n\n(left out: 3 files that could not be opened)" +
		"\n\n(the search took too long and was ended; narrow path or pattern to see the rest)"
	answering(t, abi.OpFSGlob, abi.FSFound{FSPassed: all})
	if text, structured, err := run(t, "glob", `{"pattern":"**"}`); text != want || structured != `{"count":0,"matched":0,"truncated":true}` || err != nil {
		t.Errorf("%q %s %v", text, structured, err)
	}
	answering(t, abi.OpFSGrep, abi.FSMatched{FSPassed: all})
	if text, structured, err := run(t, "grep", `{"pattern":"x"}`); text != want || structured != `{"matches":0,"files":0,"truncated":true}` || err != nil {
		t.Errorf("%q %s %v", text, structured, err)
	}
}

func TestGlobStopsWhereThereIsNoRoom(t *testing.T) {
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("%s%03d", strings.Repeat("n", 250), i))
	}
	answering(t, abi.OpFSGlob, found(many...), found("a\nb", "c"))
	text, structured, err := run(t, "glob", `{"pattern":"*","limit":300}`)
	if !strings.HasSuffix(text, "\n\n(showing 196 of 300 files, the newest first; narrow pattern or path, or raise limit)") || structured != `{"count":196,"matched":300,"truncated":true}` || err != nil {
		t.Errorf("%q %s %v", text[max(len(text)-100, 0):], structured, err)
	}
	if text, _, err := run(t, "glob", `{"pattern":"*"}`); text != "\"a\\nb\"\nc" || err != nil {
		t.Errorf("a name with a line feed: %q %v", text, err)
	}
}

// matching is an answer of files with lines of so many bytes.
func matching(count, lines, size int) (m abi.FSMatched) {
	for i := range count {
		file := abi.FSMatchedFile{Path: fmt.Sprintf("f%d", i)}
		for n := range lines {
			file.Lines = append(file.Lines, abi.FSLine{Number: n + 1, Text: strings.Repeat("x", size), Match: true})
			m.Matches++
		}
		m.Files = append(m.Files, file)
	}
	return m
}

func TestGrepStopsWhereThereIsNoRoom(t *testing.T) {
	requests := answering(t, abi.OpFSGrep, matching(10, 20, 490), matching(1000, 1, 1), matching(1, 1, 1), matching(1, 1, 1))
	for _, c := range []struct{ in, head, structured string }{
		{`{"pattern":"x","limit":1000}`, "Found 100 matches in 5 files, and there are more;", `{"matches":100,"files":5,"truncated":true}`}, // bytes
		{`{"pattern":"x","limit":1000}`, "Found 633 matches in 633 files, and", `{"matches":633,"files":633,"truncated":true}`},             // lines
		{`{"pattern":"x","limit":1000,"context":20}`, "Found 1 match in 1 file\n", `{"matches":1,"files":1,"truncated":false}`},
		{`{"pattern":"x","context":1,"include":"*.go"}`, "Found 1 match", `{"matches":1,"files":1,"truncated":false}`},
	} {
		text, structured, err := run(t, "grep", c.in)
		if !strings.HasPrefix(text, c.head) || structured != c.structured || len(text) > 51_000 || strings.Count(text, "\n") > 1950 || err != nil {
			t.Errorf("%s: %d bytes, %.100q %s %v", c.in, len(text), text, structured, err)
		}
	}
	if last := (*requests)[2]; !strings.Contains(last, `"limit":46`) { // 46 times 41 lines
		t.Errorf("%s: no more is asked for than can be shown", last)
	}
	if last := (*requests)[3]; !strings.Contains(last, `"include":["*.go"]`) || !strings.Contains(last, `"hidden":true`) {
		t.Error(last)
	}
}

func TestListCutsWhatLiesDeepest(t *testing.T) {
	level := func(parent string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("%sf%03d", parent, i))
		}
		return all
	}
	for name, c := range map[string]struct {
		in         string
		answers    []any
		text, tail string
		structured string
	}{
		"whole":          {`{}`, []any{found("a/", "b"), found("a/c")}, "a/\n  c\nb", "b", `{"path":".","depth":2,"count":3,"truncated":false}`},
		"depth":          {`{"depth":1}`, []any{found("a/")}, "a/\n\n", "(showing 1 level; list a folder, or raise depth, to see what is below)", `{"path":".","depth":1,"count":1,"truncated":true}`},
		"a level":        {`{}`, []any{found("a/", "b"), abi.FSFound{Files: files(level("a/", 498)...), Matched: 700}}, "a/\nb\n\n", "(showing 1 level; the next has 700 entries: list a folder to see what is in it)", `{"path":".","depth":1,"count":2,"truncated":true}`},
		"exactly":        {`{"depth":2}`, []any{found("a/", "b"), found(level("a/", 498)...)}, "a/\n  f000\n", "f497\nb", `{"path":".","depth":2,"count":500,"truncated":false}`},
		"the first":      {`{}`, []any{abi.FSFound{Files: files(level("", 500)...), Matched: 501}}, "f000\n", "(showing 500 of 501 entries; read with offset shows the rest)", `{"path":".","depth":1,"count":500,"truncated":true}`},
		"bytes":          {`{}`, []any{found("a/"), found("a/" + strings.Repeat("n", 50_001))}, "a/\n\n", "(showing 1 level; the next has 1 entry: list a folder to see what is in it)", `{"path":".","depth":1,"count":1,"truncated":true}`},
		"nothing":        {`{}`, []any{found()}, "(the directory is empty, or git ignores what is in it)", "", `{"path":".","depth":1,"count":0,"truncated":false}`},
		"below":          {`{"path":"d"}`, []any{found("d/e/", "d/x"), found("d/e/f")}, "e/\n  f\nx", "", `{"path":"d","depth":2,"count":3,"truncated":false}`},
		"parent denied":  {`{}`, []any{found("a/"), found("a/b", "secret/c")}, "a/\n  b", "  b", `{"path":".","depth":2,"count":2,"truncated":false}`},
		"time":           {`{}`, []any{abi.FSFound{Files: files("a/"), Matched: 1, FSPassed: abi.FSPassed{Partial: true}}}, "a/\n\n(the search took", "", `{"path":".","depth":1,"count":1,"truncated":true}`},
		"denied, summed": {`{}`, []any{abi.FSFound{Files: files("a/"), Matched: 1, FSPassed: abi.FSPassed{Denied: 1}}, abi.FSFound{FSPassed: abi.FSPassed{Denied: 2}}}, "a/\n\n(left out: 3 files", "", `{"path":".","depth":2,"count":1,"truncated":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			answering(t, abi.OpFSGlob, c.answers...)
			text, structured, err := run(t, "list", c.in)
			if err != nil || !strings.HasPrefix(text, c.text) || !strings.HasSuffix(text, c.tail) || structured != c.structured {
				t.Errorf("%v\n%q\n%s", err, text, structured)
			}
		})
	}
}
