package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// searched is a rig with a few files to search, and rules that allow, ask and deny.
func searched(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.host.rules = append(rules(), rule("read", "asked*", session.Ask))
	old := time.Unix(1, 0)
	if err := os.Mkdir(filepath.Join(r.location.Directory, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".hidden": "needle", ".gitignore": "ignored.txt\n", "ignored.txt": "needle", "sub/deep.go": "needle",
		"asked.txt": "needle", "b.go": "one\nneedle NEEDLE\nthree\nneedle again\n", "c.go": "a.c\nneedle\n", "wide": strings.Repeat("w", 600) + "needle\n",
	} {
		path := filepath.Join(r.location.Directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "b.go" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func TestGlob(t *testing.T) {
	r := searched(t)
	tests := []struct {
		request string
		paths   []string
		matched int
		passed  abi.FSPassed
	}{
		{`{"pattern":"*.go"}`, []string{"b.go", "c.go"}, 2, abi.FSPassed{}},
		{`{"pattern":"**/*.go"}`, []string{"b.go", "c.go"}, 2, abi.FSPassed{Denied: 1}},
		{`{"pattern":"*.go","limit":1}`, []string{"b.go"}, 2, abi.FSPassed{}},
		{`{"pattern":"*.go","limit":1,"newest":true}`, []string{"c.go"}, 2, abi.FSPassed{}},
		{`{"pattern":"asked*"}`, []string{}, 0, abi.FSPassed{Asks: 1}},
		{`{"pattern":".hid*","hidden":true}`, []string{".hidden"}, 1, abi.FSPassed{}},
		{`{"pattern":"ignored*"}`, []string{}, 0, abi.FSPassed{}},
		{`{"pattern":"ignored*","ignored":true}`, []string{"ignored.txt"}, 1, abi.FSPassed{}},
		{`{"pattern":"*","folders":true}`, []string{"a.txt", "asked.txt", "b.go", "c.go", "empty", "innocent.txt", "wide"}, 7, abi.FSPassed{Denied: 1}},
		{`{"pattern":"*","path":"private"}`, nil, 0, abi.FSPassed{}},
		{`{"pattern":"*","path":"sub"}`, nil, 0, abi.FSPassed{}},
	}
	for _, test := range tests {
		answer := r.ask(t, "fs.glob", test.request)
		if test.paths == nil {
			if refused := failure(t, answer); refused.Kind != abi.KindDenied {
				t.Errorf("%s: %s", test.request, answer)
			}
			continue
		}
		found := read[abi.FSFound](t, answer)
		paths := []string{}
		for _, file := range found.Files {
			paths = append(paths, file.Path)
		}
		if diff := cmp.Diff(test.paths, paths); diff != "" || found.Matched != test.matched || found.FSPassed != test.passed {
			t.Errorf("%s: %+v %s", test.request, found, diff)
		}
	}
	for request, want := range map[string]string{
		`{"pattern":"/etc/*"}`:          `the pattern "/etc/*" is absolute; name the folder in path and let the pattern begin there`,
		`{"pattern":""}`:                "",
		`{"pattern":"[a"}`:              "",
		`{"pattern":"*","path":"none"}`: "",
	} {
		if refused := failure(t, r.ask(t, "fs.glob", request)); refused.Kind != abi.KindInvalidInput && refused.Kind != abi.KindNotFound || want != "" && refused.Message != want {
			t.Errorf("%s: %+v", request, refused)
		}
	}
	// A pattern that climbs finds nothing that the folder does not hold.
	if answer := r.ask(t, "fs.glob", `{"pattern":"../*"}`); strings.Contains(answer, "AGENTS.md") {
		t.Error(answer)
	}
}

func TestGrep(t *testing.T) {
	r := searched(t)
	line := func(number int, text string, match bool) abi.FSLine {
		return abi.FSLine{Number: number, Text: text, Match: match}
	}
	tests := []struct {
		request string
		want    abi.FSMatched
	}{
		{`{"pattern":"needle","include":["*.go"]}`, abi.FSMatched{Matches: 3, FSPassed: abi.FSPassed{Denied: 1}, Files: []abi.FSMatchedFile{
			{Path: "b.go", Lines: []abi.FSLine{line(2, "needle NEEDLE", true), line(4, "needle again", true)}},
			{Path: "c.go", Lines: []abi.FSLine{line(2, "needle", true)}}}}},
		{`{"pattern":"needle","include":["b.go"],"per_file":1,"context":1}`, abi.FSMatched{Matches: 1, Files: []abi.FSMatchedFile{
			{Path: "b.go", Lines: []abi.FSLine{line(1, "one", false), line(2, "needle NEEDLE", true), line(3, "three", false)}, More: true}}}},
		{`{"pattern":"needle","include":["b.go"],"limit":1}`, abi.FSMatched{Matches: 1, More: true, Files: []abi.FSMatchedFile{
			{Path: "b.go", Lines: []abi.FSLine{line(2, "needle NEEDLE", true)}, More: true}}}},
		{`{"pattern":"THREE","ignore_case":true,"include":["b.go"]}`, abi.FSMatched{Matches: 1, Files: []abi.FSMatchedFile{{Path: "b.go", Lines: []abi.FSLine{line(3, "three", true)}}}}},
		{`{"pattern":"a.c","literal":true,"include":["!*.txt","*.go"]}`, abi.FSMatched{Matches: 1, FSPassed: abi.FSPassed{Denied: 1}, Files: []abi.FSMatchedFile{{Path: "c.go", Lines: []abi.FSLine{line(1, "a.c", true)}}}}},
		{`{"pattern":"needle","path":"c.go"}`, abi.FSMatched{Matches: 1, Files: []abi.FSMatchedFile{{Path: "c.go", Lines: []abi.FSLine{line(2, "needle", true)}}}}},
		{`{"pattern":"needle","include":["asked*"]}`, abi.FSMatched{Files: []abi.FSMatchedFile{}, FSPassed: abi.FSPassed{Asks: 1}}},
		{`{"pattern":"needle","include":[".hidden"],"hidden":true}`, abi.FSMatched{Matches: 1, Files: []abi.FSMatchedFile{{Path: ".hidden", Lines: []abi.FSLine{line(1, "needle", true)}}}}},
		{`{"pattern":"needle","include":["ignored.txt"],"ignored":true}`, abi.FSMatched{Matches: 1, Files: []abi.FSMatchedFile{{Path: "ignored.txt", Lines: []abi.FSLine{line(1, "needle", true)}}}}},
	}
	for _, test := range tests {
		answer := r.ask(t, "fs.grep", test.request)
		if diff := cmp.Diff(test.want, read[abi.FSMatched](t, answer)); diff != "" {
			t.Errorf("%s: %s", test.request, diff)
		}
	}
	cut := read[abi.FSMatched](t, r.ask(t, "fs.grep", `{"pattern":"needle","include":["wide"],"width":20}`))
	if len(cut.Files) != 1 || !cut.Files[0].Lines[0].Cut || len(cut.Files[0].Lines[0].Text) > 20 {
		t.Errorf("%+v", cut)
	}
	for _, request := range []string{`{"pattern":"("}`, `{"pattern":""}`, `{"pattern":"x","include":["[a"]}`} {
		if refused := failure(t, r.ask(t, "fs.grep", request)); refused.Kind != abi.KindInvalidInput {
			t.Errorf("%s: %+v", request, refused)
		}
	}
}

// A search answers at most 10,000 files or lines, whatever is asked for.
func TestASearchIsBounded(t *testing.T) {
	r := newRig(t)
	many := filepath.Join(r.location.Directory, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(many, "lines"), []byte(strings.Repeat("m\n", 10_001)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 10_001, 1 << 40} {
		matched := read[abi.FSMatched](t, r.ask(t, "fs.grep", fmt.Sprintf(`{"pattern":"m","path":"many","limit":%d}`, limit)))
		if matched.Matches != 10_000 || !matched.Files[0].More {
			t.Errorf("limit %d: %d, %t", limit, matched.Matches, matched.Files[0].More)
		}
	}
	for i := range 10_001 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: r.host}, host: r.host}
	body, _, err := abi.DecodeMessage(host.Call(t.Context(), "fs.glob", abi.EncodeMessage([]byte(`{"path":"many","pattern":"*"}`), nil)))
	if err != nil {
		t.Fatal(err)
	}
	if found := read[abi.FSFound](t, string(body)); len(found.Files) != 10_000 || found.Matched != 10_002 {
		t.Errorf("%d of %d", len(found.Files), found.Matched)
	}
}

func TestAttach(t *testing.T) {
	r := newRig(t).stored(t)
	png := "\x89PNG\r\n\x1a\n0000"
	for name, content := range map[string]string{"p.txt": png, "page.html": "text", "data.bin": "\x00\x01", "code.css": "a{}", "empty": ""} {
		if err := os.WriteFile(filepath.Join(r.location.Directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, mime := range map[string]string{"p.txt": "image/png", "a.txt": "text/plain", "data.bin": "application/octet-stream", "code.css": "text/css", "empty": "text/plain"} {
		attached := read[abi.FSAttached](t, r.ask(t, "fs.attach", encoded(t, abi.Path{Path: name})))
		want, err := os.ReadFile(filepath.Join(r.location.Directory, name))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := r.reach.Blobs.Get(t.Context(), attached.Blob.Digest)
		if err != nil || string(kept) != string(want) || attached.Mime != mime || attached.Info.Name != name || r.bytes(t) != "" {
			t.Errorf("%s: %+v, %v", name, attached, err)
		}
	}
	large, err := os.Create(filepath.Join(r.location.Directory, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(MaxAttachBytes + 1); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		`{"path":"large"}`:         `limit: "large" has 20971521 bytes; the most that is attached is 20971520`,
		`{"path":"sub"}`:           `invalid_input: "sub" is a directory; attach a file`,
		`{"path":"none"}`:          `not_found: "none": no such file or directory`,
		`{"path":"private/p.txt"}`: `denied: "private/p.txt": it is in a folder that belongs to Plinth itself`,
	} {
		if refused := failure(t, r.ask(t, "fs.attach", request)); string(refused.Kind)+": "+refused.Message != want {
			t.Errorf("%s: %+v", request, refused)
		}
	}
	if err := large.Truncate(MaxAttachBytes); err != nil {
		t.Fatal(err)
	}
	if attached := read[abi.FSAttached](t, r.ask(t, "fs.attach", `{"path":"large"}`)); attached.Info.Size != MaxAttachBytes {
		t.Errorf("%+v", attached)
	}
}

// A blob is passed on only by who was given it, in the same call.
func TestABlobOfAnotherCallOpensNothing(t *testing.T) {
	r := newRig(t).stored(t)
	attached := read[abi.FSAttached](t, r.ask(t, "fs.attach", `{"path":"a.txt"}`))
	known := &operations{plugin: r.plugin, reach: r.reach}
	part := abi.Content{Type: "file", Mime: "text/plain", Blob: &attached.Blob}
	if _, err := known.toolContent(t.Context(), part, nil); err == nil || !strings.HasSuffix(err.Error(), "was not given in this call") {
		t.Errorf("got %v", err)
	}
	known.blobs.add(attached.Blob.Digest, "text/plain")
	if content, err := known.toolContent(t.Context(), part, nil); err != nil || content.Blob != attached.Blob.Digest {
		t.Errorf("%+v, %v", content, err)
	}
}

// L 308, of a tool's attachment: the bytes that were attached must be what the tool says
// that they are, and no more than 20 MiB.
func TestAnAttachmentIsWhatItSays(t *testing.T) {
	r := newRig(t).stored(t)
	o := &operations{plugin: r.plugin, reach: r.reach}
	image := picture(MaxAttachBytes + 1)
	kept, err := o.keep(t.Context(), image[:100])
	if err != nil {
		t.Fatal(err)
	}
	for mime, want := range map[string]string{
		"image/png": "", "text/plain": "", "application/x-thing": "",
		"image/jpeg": "mime says image/jpeg, but the bytes are image/png; say what the file is", "application/pdf": "mime says application/pdf, but the bytes are image/png; say what the file is",
	} {
		for _, part := range []abi.Content{{Type: "file", Mime: mime, Blob: &kept}, {Type: "file", Mime: mime, Data: &abi.Bytes{Length: 100}}} {
			content, err := o.toolContent(t.Context(), part, image)
			if want == "" && (err != nil || content.Mime != mime || content.Blob != kept.Digest) || want != "" && (err == nil || err.Error() != want) {
				t.Errorf("%s: %+v, %v", mime, content, err)
			}
		}
	}
	whole := abi.Content{Type: "file", Mime: "image/png", Data: &abi.Bytes{Length: MaxAttachBytes}}
	if content, err := o.toolContent(t.Context(), whole, image); err != nil || content.Blob == "" {
		t.Errorf("20 MiB: %+v, %v", content, err)
	}
	whole.Data.Length++
	if _, err := o.toolContent(t.Context(), whole, image); err == nil || err.Error() != "the file has 20971521 bytes; the most that is attached is 20971520" {
		t.Errorf("a byte more: %v", err)
	}
}
