package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// shelf keeps texts in memory, or fails.
type shelf struct {
	path    string // answered
	err     error
	session string
	texts   []string
	ended   bool // the context had ended when a text came
}

func (s *shelf) Keep(ctx context.Context, session, text string) (string, error) {
	s.session, s.ended = session, ctx.Err() != nil
	if s.err != nil {
		return "", s.err
	}
	s.texts = append(s.texts, text)
	return s.path, nil
}

func textOutput(texts ...string) ToolOutput {
	var output ToolOutput
	for _, text := range texts {
		output.Content = append(output.Content, ToolContent{Type: "text", Text: text})
	}
	return output
}

// numbered is so many lines, each telling which it is.
func numbered(lines int) string {
	var text strings.Builder
	for i := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "line %d", i+1)
	}
	return text.String()
}

func TestBoundLeavesWhatFits(t *testing.T) {
	for name, output := range map[string]ToolOutput{
		"nothing":           {},
		"2,000 lines":       textOutput(numbered(2000)),
		"2,000 lines of 2":  textOutput(numbered(1000), numbered(1000)),
		"51,200 bytes":      textOutput(strings.Repeat("x", 51200)),
		"51,200 bytes of 2": textOutput(strings.Repeat("x", 51100), strings.Repeat("y", 99)),
		"large structured beside text": {Content: []ToolContent{{Type: "text", Text: "short"}},
			Structured: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)},
		"files only": {Content: []ToolContent{{Type: "file", Mime: "image/png", Blob: "b"}}, Structured: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)},
		"structured": {Structured: json.RawMessage(`{"a":[1,2,3]}`)},
	} {
		files := &shelf{path: "/data/tool_1"}
		got, kept := Bound(t.Context(), files, "ses_1", OutputLimits{}, output)
		if diff := cmp.Diff(output, got); diff != "" || kept != nil || files.texts != nil {
			t.Errorf("%s: %+v, %d files, %.300s", name, kept, len(files.texts), diff)
		}
	}
}

func TestBoundCutsWhatIsOneTooMany(t *testing.T) {
	indentedList := "[\n" + strings.Repeat("  1,\n", 1998) + "  1\n]" // 2,001 lines
	for name, test := range map[string]struct {
		output       ToolOutput
		whole        string
		start, end   string
		lines, bytes int
	}{
		"2,001 lines":          {textOutput(numbered(2001)), numbered(2001), "line 1\n", "\nline 2001", 2001, len(numbered(2001))},
		"2,000 lines, a break": {textOutput(numbered(2000) + "\n"), numbered(2000) + "\n", "line 1\n", "\nline 2000\n", 2001, len(numbered(2000)) + 1},
		"2,001 lines of 2":     {textOutput(numbered(1000), numbered(1001)), numbered(1000) + "\n" + numbered(1001), "line 1\n", "\nline 1001", 2001, len(numbered(1000)) + 1 + len(numbered(1001))},
		"51,201 bytes":         {textOutput(strings.Repeat("x", 51201)), strings.Repeat("x", 51201), "xxx", "xxx", 1, 51201},
		"51,201 bytes of 2":    {textOutput(strings.Repeat("x", 51100), strings.Repeat("y", 100)), strings.Repeat("x", 51100) + "\n" + strings.Repeat("y", 100), "xxx", "yyy", 2, 51201},
		"structured": {ToolOutput{Structured: json.RawMessage("[" + strings.Repeat("1,", 1998) + "1]")}, indentedList,
			"[\n  1,\n", "  1\n]", 2001, len(indentedList)},
	} {
		t.Run(name, func(t *testing.T) {
			files := &shelf{path: "/data/tool_1"}
			got, kept := Bound(t.Context(), files, "ses_1", OutputLimits{}, test.output)
			if diff := cmp.Diff([]string{test.whole}, files.texts); diff != "" {
				t.Errorf("kept: %.300s", diff)
			}
			if diff := cmp.Diff(&Retained{Path: "/data/tool_1", Lines: test.lines, Bytes: test.bytes}, kept); diff != "" {
				t.Error(diff)
			}
			text := got.Content[0].Text
			if !strings.HasPrefix(text, test.start) || !strings.HasSuffix(text, test.end) || strings.Count(text, "/data/tool_1") != 1 {
				t.Errorf("preview: %.100s … %s", text, text[max(len(text)-100, 0):])
			}
			if len(text) > 51200 || strings.Count(text, "\n")+1 > 2000 {
				t.Errorf("%d bytes in %d lines", len(text), strings.Count(text, "\n")+1)
			}
			if diff := cmp.Diff(string(test.output.Structured), string(got.Structured)); diff != "" || files.session != "ses_1" {
				t.Errorf("session %q, structured %.300s", files.session, diff)
			}
		})
	}
}

// The preview in full, by lines and by bytes.
func TestBoundPreview(t *testing.T) {
	const path = "/d/tool_1"
	byLines, _ := Bound(t.Context(), &shelf{path: path}, "s", OutputLimits{Lines: 8}, textOutput(numbered(100)))
	want := "line 1\nline 2\nline 3\n\n[755 of the 791 bytes of this output are left out here. All its 100 lines are in the file /d/tool_1 for some days; " +
		"search it, or read parts of it with offset and limit.]\n\nline 99\nline 100"
	if diff := cmp.Diff(want, byLines.Content[0].Text); diff != "" {
		t.Error(diff)
	}
	said := "\n\n[390 of the 400 bytes of this output are left out here and are lost: they could not be kept in a file. If you need them, ask for less at a time.]\n\n"
	byBytes, _ := Bound(t.Context(), &shelf{err: errors.New("full")}, "s", OutputLimits{Bytes: len(said) + 10}, textOutput(strings.Repeat("é", 200)))
	if diff := cmp.Diff("éé"+said+"ééé", byBytes.Content[0].Text); diff != "" {
		t.Error(diff)
	}
	// A short beginning leaves its bytes to the end.
	uneven, _ := Bound(t.Context(), &shelf{err: errors.New("full")}, "s", OutputLimits{Lines: 5, Bytes: len(said) + 10}, textOutput("a\n"+strings.Repeat("b", 398)))
	if diff := cmp.Diff("a"+said+"bbbbbbbbb", uneven.Content[0].Text); diff != "" {
		t.Error(diff)
	}
}

func TestBoundKeepsTheRest(t *testing.T) {
	png, pdf := ToolContent{Type: "file", Mime: "image/png", Blob: "1"}, ToolContent{Type: "file", Mime: "application/pdf", Blob: "2"}
	output := ToolOutput{Title: "t", Metadata: json.RawMessage(`{"paths":["/own"]}`), Structured: json.RawMessage(`{"all":true}`),
		Content: []ToolContent{png, {Type: "text", Text: numbered(3000)}, pdf, {Type: "text", Text: "end"}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files := &shelf{path: "/p"}
	got, kept := Bound(ctx, files, "s", OutputLimits{}, output)
	if kept == nil || kept.Lines != 3001 || files.ended {
		t.Fatalf("%+v, ended %t", kept, files.ended)
	}
	want := output
	want.Content = []ToolContent{{Type: "text", Text: got.Content[0].Text}, png, pdf}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(output.Content) != 4 || output.Content[0] != png {
		t.Error("the output that was given is changed")
	}
}

func TestBoundWithoutAFile(t *testing.T) {
	got, kept := Bound(t.Context(), &shelf{err: errors.New("no space left")}, "s", OutputLimits{}, textOutput(numbered(5000)))
	text := got.Content[0].Text
	if !kept.Lossy || kept.Path != "" || !strings.Contains(kept.Diagnostic, "no space left") {
		t.Errorf("%+v", kept)
	}
	if !strings.Contains(text, "are lost") || strings.Contains(text, "in the file") || !strings.HasPrefix(text, "line 1\n") || !strings.HasSuffix(text, "\nline 5000") {
		t.Errorf("%.200s", text)
	}
}

func TestBoundToTinyLimits(t *testing.T) {
	said := fmt.Sprintf("[%d of the %[1]d bytes of this output are left out here. All its 5000 lines are in the file /p for some days; "+
		"search it, or read parts of it with offset and limit.]", len(numbered(5000)))
	for _, limits := range []OutputLimits{{Lines: 1}, {Lines: 4}, {Bytes: 1}, {Bytes: 20}, {Lines: 1, Bytes: 7}, {Bytes: len(said) + 4}} {
		got, _ := Bound(t.Context(), &shelf{path: "/p"}, "s", limits, textOutput(numbered(5000)))
		want := said
		if limits.Bytes > 0 {
			want = said[:min(limits.Bytes, len(said))]
		}
		if diff := cmp.Diff(want, got.Content[0].Text); diff != "" {
			t.Errorf("%+v: %s", limits, diff)
		}
	}
}

// A value whose indented form is out of proportion is kept as it is.
func TestBoundDoesNotIndentABomb(t *testing.T) {
	const deep = 5000
	bomb := strings.Repeat("[", deep) + strings.Repeat("1,", 10000) + "1" + strings.Repeat("]", deep)
	files := &shelf{path: "/p"}
	got, kept := Bound(t.Context(), files, "s", OutputLimits{Bytes: 1000}, ToolOutput{Structured: json.RawMessage(bomb)})
	if kept == nil || kept.Bytes != len(bomb) || files.texts[0] != bomb || len(got.Content[0].Text) > 1000 {
		t.Errorf("%+v", kept)
	}
}

// A limit holds for what events keep: a byte that is no UTF-8 is three there.
func TestBoundCountsReplacements(t *testing.T) {
	files := &shelf{path: "/p"}
	got, kept := Bound(t.Context(), files, "s", OutputLimits{}, textOutput(strings.Repeat("\xff", 20000)))
	if kept == nil || kept.Bytes != 60000 || !utf8.ValidString(got.Content[0].Text) || !utf8.ValidString(files.texts[0]) {
		t.Errorf("%+v", kept)
	}
}

func TestBoundHoldsAlways(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("a\né€😀")), 0, 400, -1))
	rapid.Check(t, func(t *rapid.T) {
		limits := OutputLimits{Lines: rapid.IntRange(1, 30).Draw(t, "lines"), Bytes: rapid.IntRange(1, 500).Draw(t, "bytes")}
		files := &shelf{path: "/" + text.Draw(t, "path")}
		if rapid.Bool().Draw(t, "fails") {
			files.err = errors.New("full")
		}
		var output ToolOutput
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			output = textOutput(rapid.SliceOfN(text, 1, 3).Draw(t, "texts")...)
		case 1:
			output = textOutput(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes of text")))
		default:
			output.Structured, _ = json.Marshal(rapid.SliceOf(text).Draw(t, "value"))
		}
		got, kept := Bound(t.Context(), files, "s", limits, output)
		whole := outputText(output)
		shown := outputText(got)
		if len(shown) > limits.Bytes || strings.Count(shown, "\n")+1 > limits.Lines {
			t.Fatalf("%d bytes, %d lines: %q", len(shown), strings.Count(shown, "\n")+1, shown)
		}
		if !utf8.ValidString(shown) {
			t.Fatalf("no UTF-8: %q", shown)
		}
		if kept != nil && (kept.Bytes != len(whole) || files.err == nil && files.texts[0] != whole) {
			t.Fatalf("%+v of %q, kept %q", kept, whole, files.texts)
		}
		if fits := len(whole) <= limits.Bytes && strings.Count(whole, "\n")+1 <= limits.Lines; fits != (kept == nil) {
			t.Fatalf("%+v of %q", kept, whole)
		}
		again, more := Bound(t.Context(), files, "s", limits, got)
		if diff := cmp.Diff(got, again); diff != "" || more != nil {
			t.Fatalf("again: %+v %s", more, diff)
		}
	})
}

func FuzzBound(f *testing.F) {
	f.Add("a\nb\nc", 2, 3)
	f.Add(strings.Repeat("é\n", 100), 9, 150)
	f.Add("\xff\xfe\n\xf0\x9f", 1, 1)
	f.Fuzz(func(t *testing.T, text string, lines, bytes int) {
		limits := OutputLimits{Lines: lines, Bytes: bytes}
		got, kept := Bound(t.Context(), &shelf{path: "/p"}, "s", limits, textOutput(text))
		limits = limits.orDefault()
		if shown := got.Content[0].Text; len(wellFormed(shown)) > limits.Bytes || countLines(shown) > limits.Lines || kept != nil && !utf8.ValidString(shown) {
			t.Errorf("%+v: %q", limits, shown)
		}
	})
}
