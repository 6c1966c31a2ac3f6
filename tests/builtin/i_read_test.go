package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The cases of the tool read.
func TestCasesOfReading(t *testing.T) {
	sessiontest.Cases(t, "I", []sessiontest.Case{
		{Number: 221, Text: "A path that leads out of the session's folder, relative or by a link, is an error for the model.",
			Ours: "Nothing is asked then. An absolute path outside asks for external_directory on its folder first, and then for read on the file's canonical path.", Run: readingOutside},
		{Number: 223, Text: "A read that is denied fails, and no content of the file was read.", Run: readingDenied},
		{Number: 224, Text: "A text of 51,200 bytes is shown whole, one with a byte more in pages, and the first names the next.",
			Ours: "50,000 bytes and 1,900 lines are shown whole: a page stays, with its note, within what the model is shown of any answer.", Run: readingLarge},
		{Number: 226, Text: "Of a line of 5,000 characters a page has 2,000 and a mark; no carriage return stands before a line feed.", Run: readingLongLines},
		{Number: 227, Text: "A file with a NUL byte, and one named like an archive, fails as binary; a PNG named .zip is shown as an image.",
			Ours: "A PDF document is shown as an image is, and does not fail.", Run: readingBinary},
		{Number: 229, Text: "A directory shows its directories first and with a slash, leaves out what leads away, and goes by limit and next.",
			Ours: "What leads out of the session's folder is left out; a link inside it is shown as what it leads to.", Run: readingDirectory},
		{Number: 230, Text: "Paging reads no further than until the page is full.", Run: readingStops},
	})
}

// reads is what read answers to programs.
type reads struct {
	Type, Mime          string
	Offset, Count, Next int
	Truncated           bool
}

func (r result) reads(t *testing.T) (out reads) {
	t.Helper()
	if err := json.Unmarshal(r.Part.Structured, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func input(fields map[string]any) string {
	encoded, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

func readingOutside(t *testing.T) {
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"sub/in.txt": "in"}, Rules: []session.Rule{rule("read", "*.env", session.Ask)}})
	w.write(w.Outside+"/x.txt", "of outside")
	w.write(w.Outside+"/.env", "KEY=1")
	w.link("away", w.Outside)
	w.link("x.txt", w.Outside+"/x.txt")
	for _, path := range []string{"../x", "away/x.txt", "x.txt", "sub/../../x"} {
		r := w.fails("read", input(map[string]any{"path": path}), "outside")
		if r.Error.Kind != "denied" || len(r.Asked) > 0 || strings.Contains(r.Error.Message, "of outside") {
			t.Errorf("%s: %+v, asked %q", path, r.Error, asks(r.Asked))
		}
	}
	r := w.ok("read", input(map[string]any{"path": w.Outside + "/x.txt"}))
	if diff := cmp.Diff([]string{"external_directory " + w.Outside + "/*"}, asks(r.Asked)); diff != "" || r.Text != "of outside" {
		t.Errorf("%q %s", r.Text, diff)
	}
	// By a link that is outside itself: the canonical path counts.
	if err := os.Symlink(w.Outside+"/.env", w.Outside+"/plain"); err != nil {
		t.Fatal(err)
	}
	r = w.ok("read", input(map[string]any{"path": w.Outside + "/plain"}))
	if diff := cmp.Diff([]string{"external_directory " + w.Outside + "/*", "read " + w.Outside + "/.env"}, asks(r.Asked)); diff != "" {
		t.Error(diff)
	}
	w.Reply = func(session.PermissionRequest) session.Reply { return session.ReplyReject }
	if r = w.call("read", input(map[string]any{"path": w.Outside + "/x.txt"})); r.Text != "" || len(r.Asked) != 1 || r.Outcome != session.Halted {
		t.Errorf("%q, asked %q, %s", r.Text, asks(r.Asked), r.Outcome)
	}
}

func readingDenied(t *testing.T) {
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"secret.txt": "the secret", ".env": "the secret"}, Rules: []session.Rule{rule("read", "secret*", session.Deny)}})
	w.Reply = func(session.PermissionRequest) session.Reply { return session.ReplyReject }
	denied, rejected := w.call("read", `{"path":"secret.txt"}`), w.call("read", `{"path":".env"}`)
	if denied.Error == nil || denied.Error.Kind != "denied" || len(denied.Asked) != 0 {
		t.Errorf("denied by a rule: %+v, asked %q", denied.Error, asks(denied.Asked))
	}
	if rejected.Error == nil || len(rejected.Asked) != 1 {
		t.Errorf("rejected by a person: %+v, asked %q", rejected.Error, asks(rejected.Asked))
	}
	page, err := w.Log.Read(t.Context(), w.Session, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page.Events {
		if strings.Contains(string(event.Data), "the secret") {
			t.Errorf("the content is in %s: %s", event.Type, event.Data)
		}
	}
}

func readingLarge(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"fits": strings.Repeat(line, 500), "over": strings.Repeat(line, 500) + "y"}})
	if r := w.ok("read", `{"path":"fits"}`); r.Text != strings.Repeat(line, 500) || r.reads(t).Truncated {
		t.Errorf("%d bytes, %+v", len(r.Text), r.reads(t))
	}
	r := w.ok("read", `{"path":"over"}`)
	out := r.reads(t)
	if !out.Truncated || out.Next != out.Count+1 || !strings.HasSuffix(r.Text, fmt.Sprintf("next offset %d)", out.Next)) || len(r.Part.Outputs) > 0 {
		t.Errorf("%+v: %q", out, r.Text[len(r.Text)-100:])
	}
	if rest := w.ok("read", input(map[string]any{"path": "over", "offset": out.Next})); !strings.HasPrefix(rest.Text, "y\n") || rest.reads(t).Truncated {
		t.Errorf("%q %+v", rest.Text, rest.reads(t))
	}
}

func readingLongLines(t *testing.T) {
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"long": strings.Repeat("é", 5000) + "\r\nnext\r\n"}})
	r := w.ok("read", `{"path":"long","limit":10}`)
	want := strings.Repeat("é", 2000) + "... (line truncated to 2000 chars)\nnext\n\n"
	if !strings.HasPrefix(r.Text, want) || strings.Contains(r.Text, "\r") {
		t.Errorf("%q", r.Text)
	}
}

func readingBinary(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"nul": "text\x00text", "a.zip": "PK\x03\x04", "picture.zip": png, "a.pdf": "%PDF-1.7\n"}})
	for _, path := range []string{"nul", "a.zip"} {
		w.fails("read", input(map[string]any{"path": path}), path+" is a binary file")
	}
	for path, mime := range map[string]string{"picture.zip": "image/png", "a.pdf": "application/pdf"} {
		r := w.ok("read", input(map[string]any{"path": path}))
		files := 0
		for _, content := range r.Part.Content {
			if content.Type == "file" && content.Mime == mime {
				files++
			}
		}
		if files != 1 || r.reads(t).Mime != mime {
			t.Errorf("%s: %+v", path, r.Part.Content)
		}
	}
}

func readingDirectory(t *testing.T) {
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"d/b.txt": "", "d/a.txt": "", "d/z/": "", "d/sub/x": "", "here/y": ""}})
	w.link("d/away", w.Outside)
	w.link("d/broken", "nowhere")
	w.link("d/here", "../here")
	if r := w.ok("read", `{"path":"d"}`); r.Text != "here/\nsub/\nz/\na.txt\nb.txt" {
		t.Errorf("%q", r.Text)
	}
	r := w.ok("read", `{"path":"d","offset":2,"limit":2}`)
	if out := r.reads(t); !strings.HasPrefix(r.Text, "sub/\nz/\n\n(") || out.Next != 4 || !out.Truncated || out.Type != "directory" {
		t.Errorf("%q %+v", r.Text, out)
	}
	if r := w.ok("read", `{"path":"d","offset":4}`); !strings.HasPrefix(r.Text, "a.txt\nb.txt") || r.reads(t).Truncated {
		t.Errorf("%q %+v", r.Text, r.reads(t))
	}
}

// Behind the page lies what would fail the read.
func readingStops(t *testing.T) {
	w := newWorld(t, options{Plugins: []string{"core/files"}, Files: map[string]string{"big": strings.Repeat("line\n", 200_000) + "\x00"}})
	if r := w.ok("read", `{"path":"big","limit":10}`); r.reads(t).Next != 11 {
		t.Errorf("%+v", r.reads(t))
	}
	w.fails("read", `{"path":"big","offset":199999}`, "binary")
}
