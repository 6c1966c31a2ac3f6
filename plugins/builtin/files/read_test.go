package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// hostWith serves the given files as the location.
func hostWith(t *testing.T, files map[string]string) *plinthtest.Host {
	t.Helper()
	tree := fstest.MapFS{}
	for name, content := range files {
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			tree[folder] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		} else {
			tree[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		}
	}
	h := &plinthtest.Host{Roots: map[string]fs.FS{"location": tree}, Location: "/work/here"}
	h.Serve(t)
	return h
}

// call runs the tool; in is its input as JSON.
func call(t *testing.T, in string) (text string, out result, err error) {
	t.Helper()
	output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "read", Input: json.RawMessage(in)})
	if err != nil {
		return "", out, err
	}
	if err := json.Unmarshal(output.Structured, &out); err != nil {
		t.Fatal(err)
	}
	if len(output.Content) != 1 || output.Content[0].Type != "text" || output.Title != out.Path {
		t.Fatalf("content %+v, title %q", output.Content, output.Title)
	}
	return output.Content[0].Text, out, nil
}

// numbered is a text of n lines, "line 1\n" and so on.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadText(t *testing.T) {
	exact := strings.Repeat("x", 999) + "\n" // 1,000 bytes
	wide := strings.Repeat("é", 2000)
	hostWith(t, map[string]string{
		"go.mod":      "module example.com/m\r\n\ngo 1.26\n",
		"dir/a.txt":   "deep",
		"empty":       "",
		"ten":         numbered(10),
		"noend":       "a\nb",
		"fits":        strings.Repeat(exact, 50),
		"over":        strings.Repeat(exact, 50) + "y",
		"lines":       numbered(1900),
		"more lines":  numbered(1901),
		"long":        strings.Repeat("z", 5000) + "\r\nnext\r\n",
		"wide":        wide + "\n" + wide + "é",
		"bom":         "\ufefftext",
		"weird\nname": "x",
	})
	lineOver := strings.Repeat("x", 999)
	for _, c := range []struct {
		in   string
		text string
		out  result
	}{
		{`{"path":"go.mod"}`, "module example.com/m\r\n\ngo 1.26\n", result{Type: "file", Path: "go.mod", Offset: 1, Count: 3, Size: 31}},
		{`{"path":"/work/here/dir/a.txt"}`, "deep", result{Type: "file", Path: "dir/a.txt", Offset: 1, Count: 1, Size: 4}},
		{`{"path":"go.mod","limit":1}`, "module example.com/m\n\n(showing lines 1-1 of go.mod; next offset 2)", result{Type: "file", Path: "go.mod", Offset: 1, Count: 1, Size: 31, Truncated: true, Next: 2}},
		{`{"path":"go.mod","offset":2}`, "\ngo 1.26\n\n(showing lines 2-3 of 3 of go.mod)", result{Type: "file", Path: "go.mod", Offset: 2, Count: 2, Size: 31}},
		{`{"path":"ten","offset":9,"limit":2}`, "line 9\nline 10\n\n(showing lines 9-10 of 10 of ten)", result{Type: "file", Path: "ten", Offset: 9, Count: 2, Size: 71}},
		{`{"path":"noend","offset":2,"limit":5}`, "b\n\n(showing lines 2-2 of 2 of noend)", result{Type: "file", Path: "noend", Offset: 2, Count: 1, Size: 3}},
		{`{"path":"noend","limit":1}`, "a\n\n(showing lines 1-1 of noend; next offset 2)", result{Type: "file", Path: "noend", Offset: 1, Count: 1, Size: 3, Truncated: true, Next: 2}},
		{`{"path":"empty"}`, "(the file is empty)", result{Type: "file", Path: "empty", Offset: 1}},
		{`{"path":"empty","limit":3}`, "(the file is empty)", result{Type: "file", Path: "empty", Offset: 1}},
		{`{"path":"fits"}`, strings.Repeat(exact, 50), result{Type: "file", Path: "fits", Offset: 1, Count: 50, Size: 50_000}},
		{`{"path":"over"}`, strings.Repeat(exact, 49) + lineOver + "\n\n(showing lines 1-50 of over; next offset 51)", result{Type: "file", Path: "over", Offset: 1, Count: 50, Size: 50_001, Truncated: true, Next: 51}},
		{`{"path":"lines"}`, numbered(1900), result{Type: "file", Path: "lines", Offset: 1, Count: 1900, Size: 17_893}},
		{`{"path":"more lines"}`, strings.TrimSuffix(numbered(1900), "\n") + "\n\n(showing lines 1-1900 of more lines; next offset 1901)", result{Type: "file", Path: "more lines", Offset: 1, Count: 1900, Size: 17_903, Truncated: true, Next: 1901}},
		{`{"path":"more lines","offset":1901}`, "line 1901\n\n(showing lines 1901-1901 of 1901 of more lines)", result{Type: "file", Path: "more lines", Offset: 1901, Count: 1, Size: 17_903}},
		{`{"path":"long","offset":1}`, strings.Repeat("z", 2000) + "... (line truncated to 2000 chars)\nnext\n\n(showing lines 1-2 of 2 of long)", result{Type: "file", Path: "long", Offset: 1, Count: 2, Size: 5008}},
		{`{"path":"wide","limit":1900}`, wide + "\n" + wide + "... (line truncated to 2000 chars)\n\n(showing lines 1-2 of 2 of wide)", result{Type: "file", Path: "wide", Offset: 1, Count: 2, Size: 8003}},
		{`{"path":"bom"}`, "\ufefftext", result{Type: "file", Path: "bom", Offset: 1, Count: 1, Size: 7}},
		{`{"path":"weird\nname"}`, "x", result{Type: "file", Path: "weird\nname", Offset: 1, Count: 1, Size: 1}},
	} {
		text, out, err := call(t, c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if text != c.text {
			t.Errorf("%s:\n got %.300q\nwant %.300q", c.in, text, c.text)
		}
		if out != c.out {
			t.Errorf("%s:\n got %+v\nwant %+v", c.in, out, c.out)
		}
	}
}

// The host shows 2,000 lines and 51,200 bytes of an answer and keeps the rest apart:
// there must be none, however long the path in the note is.
func TestReadStaysWithinWhatIsShown(t *testing.T) {
	deep := strings.Repeat(strings.Repeat("d", 250)+"/", 16)
	files := map[string]string{}
	for name, text := range map[string]string{
		"lines": strings.Repeat("\n", 60_000), "long": strings.Repeat(strings.Repeat("é", 3000)+"\n", 50), "even": strings.Repeat(strings.Repeat("x", 99)+"\n", 1000),
	} {
		files[name], files[deep+name] = text, text
	}
	for i := range 2500 {
		files[fmt.Sprintf("many/%04d", i)] = ""
		files[fmt.Sprintf("%swide/%s%04d", deep, strings.Repeat("n", 200), i)] = ""
	}
	hostWith(t, files)
	for _, path := range []string{"lines", "long", "even", deep + "lines", deep + "long", deep + "even", "many", deep + "wide"} {
		for next, pages := int64(1), 0; next > 0 && pages < 3; pages++ {
			text, out, err := call(t, fmt.Sprintf(`{"path":%q,"offset":%d}`, path, next))
			if err != nil {
				t.Fatalf("%.20s: %v", path, err)
			}
			if lines := strings.Count(text, "\n") + 1; lines > 2000 || len(text) > 51_200 || out.Count == 0 {
				t.Errorf("%.20s from %d: %d lines, %d bytes", path, next, lines, len(text))
			}
			next = out.Next
		}
	}
}

func TestReadDirectory(t *testing.T) {
	files := map[string]string{"b.txt": "", "a.txt": "", "z/": "", "sub/x": "", "void/": ""}
	many := strings.Repeat("n", 95)
	for i := range 700 {
		files[fmt.Sprintf("many/%s%05d", many, i)] = ""
	}
	hostWith(t, files)
	for _, c := range []struct {
		in, text string
		out      result
	}{
		{`{"path":"."}`, "many/\nsub/\nvoid/\nz/\na.txt\nb.txt", result{Type: "directory", Path: ".", Offset: 1, Count: 6}},
		{`{"path":".","offset":2,"limit":2}`, "sub/\nvoid/\n\n(showing entries 2-3 of .; next offset 4)", result{Type: "directory", Path: ".", Offset: 2, Count: 2, Truncated: true, Next: 4}},
		{`{"path":"./","offset":6}`, "b.txt\n\n(showing entries 6-6 of 6 of .)", result{Type: "directory", Path: ".", Offset: 6, Count: 1}},
		{`{"path":"void"}`, "(the directory is empty)", result{Type: "directory", Path: "void", Offset: 1}},
	} {
		text, out, err := call(t, c.in)
		if err != nil || text != c.text || out != c.out {
			t.Errorf("%s: %v\n got %q %+v\nwant %q %+v", c.in, err, text, out, c.text, c.out)
		}
	}
	text, out, err := call(t, `{"path":"many"}`)
	if err != nil || !out.Truncated || out.Next != out.Count+1 || len(text) > maxBytes+100 {
		t.Fatalf("%d bytes, %+v, %v", len(text), out, err)
	}
	_, rest, err := call(t, fmt.Sprintf(`{"path":"many","offset":%d}`, out.Next))
	if err != nil || rest.Truncated || out.Count+rest.Count != 700 {
		t.Errorf("the pages have %d and %d entries, %v", out.Count, rest.Count, err)
	}
}

func TestReadRefuses(t *testing.T) {
	controls := strings.Repeat("\x01", 31) + strings.Repeat("a", 69)
	hostWith(t, map[string]string{
		"nul": "text\x00text", "a.zip": "text", "B.WASM": "", "controls": controls, "latin1": "caf\xe9", "latin1.long": strings.Repeat("ok\n", 20_000) + "caf\xe9\n",
		"latenul": strings.Repeat("ok\n", 20_000) + "\x00", "three": "1\n2\n3\n", "empty": "", "dir/x": "",
	})
	for _, c := range []struct{ in, want string }{
		{`{"path":"none/x.txt"}`, "not_found: none/x.txt does not exist"},
		{`{"path":"../x"}`, "denied: ../x is outside of location"},
		{`{"path":"nul"}`, "invalid_input: nul is a binary file"}, {`{"path":"a.zip"}`, "a.zip is a binary file"}, {`{"path":"B.WASM"}`, "binary"},
		{`{"path":"controls"}`, "binary"}, {`{"path":"latenul","offset":19999}`, "binary"},
		{`{"path":"latin1"}`, "latin1 is not UTF-8 text"}, {`{"path":"latin1.long","offset":20000}`, "not UTF-8"},
		{`{"path":"three","offset":4}`, "invalid_input: offset 4 is past the end of three, which has 3 lines"},
		{`{"path":"empty","offset":2}`, "past the end of empty, which has 0 lines"},
		{`{"path":"dir","offset":3}`, "past the end of dir, which has 1 entry"},
		{`{"path":"three","offset":0}`, "offset is 0; it counts from 1"},
		{`{"path":"three","offset":3000000000}`, "it is at most"},
		{`{"path":"three","limit":1901}`, "at most 1900"}, {`{"path":"three","limit":0}`, "at least 1"},
		{`{"path":""}`, "path is missing"}, {`{}`, "path is missing"}, {`{"path":"a\u0000b"}`, "NUL"},
		{`{"path":"three","lines":3}`, `the input of read: json: unknown field "lines"`},
		{`{"path":7}`, "the input of read"}, {`"three"`, "the input of read"},
	} {
		_, _, err := call(t, c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.in, err, c.want)
		}
	}
}

func TestReadStopsWhereThePageDoes(t *testing.T) {
	h := hostWith(t, map[string]string{"big": numbered(1_000_000)})
	if _, out, err := call(t, `{"path":"big","limit":10}`); err != nil || out.Next != 11 || h.ReadBytes != chunk {
		t.Errorf("%+v, %v; %d bytes read", out, err, h.ReadBytes)
	}
	h.ReadBytes, h.Asked = 0, nil
	text, out, err := call(t, `{"path":"big","offset":500000,"limit":1}`)
	if err != nil || !strings.HasPrefix(text, "line 500000\n") || out.Next != 500_001 {
		t.Errorf("%q %+v, %v", text, out, err)
	}
	if end := int64(len(numbered(500_000))); h.ReadBytes > end+skipChunk || len(h.Asked) > 20 {
		t.Errorf("%d bytes read in %d operations for a page that ends at %d", h.ReadBytes, len(h.Asked), end)
	}
}

func TestReadKnowsTheEndByTheSize(t *testing.T) {
	h := hostWith(t, map[string]string{"even": strings.Repeat("0123456\n", chunk/8)})
	h.LateEOF = true
	text, out, err := call(t, `{"path":"even","offset":8192,"limit":1}`)
	if err != nil || out.Truncated || text != "0123456\n\n(showing lines 8192-8192 of 8192 of even)" {
		t.Errorf("%q %+v, %v", text, out, err)
	}
}

func TestReadTellsWhatTheHostSays(t *testing.T) {
	h := hostWith(t, map[string]string{"a": "x\n", "big": numbered(100_000)})
	deny := &abi.Error{Kind: abi.KindDenied, Message: "reading a is denied by the rules of agent build"}
	h.Refuse = func(operation string, _ abi.Path) error {
		if operation == abi.OpFSRead {
			return deny
		}
		return nil
	}
	_, _, err := call(t, `{"path":"a"}`)
	var failure *abi.Error
	if !errors.As(err, &failure) || *failure != *deny {
		t.Errorf("error %v, want the host's own", err)
	}
	reads := 0
	h.Refuse = func(operation string, _ abi.Path) error {
		if operation != abi.OpFSRead {
			return nil
		}
		if reads++; reads == 2 {
			h.Roots["location"].(fstest.MapFS)["big"] = &fstest.MapFile{Data: []byte(numbered(99_999))}
		}
		return nil
	}
	if _, _, err := call(t, `{"path":"big","offset":50000}`); !errors.As(err, &failure) || failure.Kind != abi.KindConflict {
		t.Errorf("a file that changes under the reader: %v", err)
	}
	h.Refuse = func(operation string, _ abi.Path) error {
		if operation != abi.OpFSRead {
			return nil
		}
		return &abi.Error{Kind: abi.KindLimit, Message: "1,000 operations"}
	}
	if _, _, err := call(t, `{"path":"big","offset":50000}`); err == nil || err.Error() != "limit: big is too long to be read up to offset 50000" {
		t.Errorf("error %v", err)
	}
}

func TestPagerTakesPiecesCutAnywhere(t *testing.T) {
	content := "one\r\ntwo é\n\n" + strings.Repeat("ü", 2500) + "\nlast\r"
	page := func(pieces ...string) string {
		p := pager{offset: 2, limit: 10, room: maxBytes, line: 1}
		for i, piece := range pieces {
			p.take([]byte(piece), i == len(pieces)-1)
		}
		return fmt.Sprintf("%v %d %v\n%s", p.invalid, p.count, p.more, p.text)
	}
	want := page(content)
	if !strings.HasSuffix(want, "(line truncated to 2000 chars)\nlast\r") {
		t.Fatalf("%q", want)
	}
	for cut := range len(content) {
		if got := page(content[:cut], content[cut:]); got != want {
			t.Fatalf("cut at %d: %q", cut, got)
		}
	}
	var single []string
	for i := range len(content) {
		single = append(single, content[i:i+1])
	}
	if got := page(single...); got != want {
		t.Errorf("byte by byte: %q", got)
	}
}
