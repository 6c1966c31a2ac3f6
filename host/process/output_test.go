package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Whatever pieces the text comes in, the same is kept of it.
func TestKept(t *testing.T) {
	text := strings.Repeat("aé€😀\n", 5) // 1 to 4 bytes each
	for head := range 20 {
		for end := range 20 {
			for piece := 1; piece <= len(text); piece += 3 {
				s := stream{most: head, tail: tail{most: end}}
				for rest := text; rest != ""; {
					n := min(piece, len(rest))
					s.add([]byte(rest[:n]))
					rest = rest[n:]
				}
				o := s.kept()
				if !strings.HasPrefix(text, o.Head) || !strings.HasSuffix(text, o.Tail) || !utf8.ValidString(o.Head+o.Tail) {
					t.Fatalf("head %d, tail %d, pieces of %d: %+v", head, end, piece, o)
				}
				if len(o.Head) > head || len(o.Head) < head-3 || len(o.Tail) > end || len(o.Tail) < end-3 || o.Omitted != int64(len(text)-len(o.Head)-len(o.Tail)) {
					t.Fatalf("head %d, tail %d, pieces of %d: %+v", head, end, piece, o)
				}
			}
		}
	}
	s := stream{most: 8, tail: tail{most: len(text) - 8}}
	s.add([]byte(text))
	if diff := cmp.Diff(all(text), s.kept()); diff != "" {
		t.Error(diff)
	}
}

// Bytes that are no text are kept too, and lose none at the cuts.
func TestKeptBytes(t *testing.T) {
	s := stream{most: 2, tail: tail{most: 2}}
	s.add([]byte("\xff\xff\xff\xff\xff"))
	if diff := cmp.Diff(Output{Head: "\uFFFD", Tail: "\uFFFD", Omitted: 1, Total: 5}, s.kept()); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{"": "", "a": "a", "é": "é", "a\xc3": "a", "\xf0\x9f\x98": "", "a\x80\x80\x80": "a\x80\x80\x80"} {
		if got := beforeCut([]byte(text)); string(got) != want {
			t.Errorf("before a cut %q: %q", text, got)
		}
	}
	for text, want := range map[string]string{"": "", "a": "a", "é": "é", "\xa9a": "a", "\x9f\x98\x80é": "é", "\x80\x80\x80\x80\x80": "\x80\x80\x80\x80\x80"} {
		if got := afterCut([]byte(text)); string(got) != want {
			t.Errorf("after a cut %q: %q", text, got)
		}
	}
}

// What was printed before the end is not lost when somebody has the pipe open.
func TestRestOfThePipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	defer reader.Close()
	text := strings.Repeat("0123456789", 5000)
	if _, err := writer.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := reader.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	c := newCapture(Capture{Head: 1 << 20, Limit: 1 << 30})
	c.copy(&c.output, reader)
	if output, _ := c.kept(); output.Head != text {
		t.Errorf("%d bytes of %d", output.Total, len(text))
	}
}

func TestSave(t *testing.T) {
	var saved, savedErrors bytes.Buffer
	c := Command{Line: "head -c 300000 /dev/zero | tr '\\0' x; echo err >&2; exit 5"}
	c.Output = Capture{Apart: true, Head: 10, Tail: 20, Save: &saved, SaveErrors: &savedErrors, SaveLimit: 200_000}
	result := run(t, newRunner(t, Options{}), c)
	want := Output{Head: strings.Repeat("x", 10), Tail: strings.Repeat("x", 20), Omitted: 299_970, Total: 300_000, Saved: 200_000}
	if diff := cmp.Diff(want, result.Output); diff != "" || result.ExitCode != 5 || result.Stopped != "" {
		t.Error(diff, result.ExitCode, result.Stopped)
	}
	if saved.String() != strings.Repeat("x", 200_000) || savedErrors.String() != "err\n" {
		t.Error(saved.Len(), savedErrors.String())
	}
}

func TestSaveFails(t *testing.T) {
	full := errors.New("the disk is full")
	_, writer := io.Pipe()
	writer.CloseWithError(full)
	result := run(t, newRunner(t, Options{}), Command{Line: "echo one; echo two; exit 6", Output: Capture{Save: writer}})
	if result.ExitCode != 6 || result.Output.Head != "one\ntwo\n" || result.Output.Saved != 0 || !errors.Is(result.Output.SaveError, io.ErrClosedPipe) {
		t.Errorf("%+v", result)
	}
}

func TestFlood(t *testing.T) {
	const limit = 1 << 20
	var saved bytes.Buffer
	result := run(t, newRunner(t, Options{}), Command{Line: "trap '' PIPE; yes", Output: Capture{Save: &saved, SaveLimit: 1000, Limit: limit}})
	if result.Stopped != Flood || result.Signal == "" && result.ExitCode == 0 || result.Output.Total <= limit {
		t.Errorf("%+v", result)
	}
	if len(result.Output.Head) != defaultKept || len(result.Output.Tail) != defaultKept || saved.Len() != 1000 || result.Survivors != 0 {
		t.Errorf("kept %d and %d, saved %d, %d survivors", len(result.Output.Head), len(result.Output.Tail), saved.Len(), result.Survivors)
	}
}

// The command goes on when progress was told, so telling it is what lets it end.
func TestProgress(t *testing.T) {
	path := fifo(t)
	var told []Progress
	c := Command{Line: "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; printf 'Name? \\377'; read x <" + path + "; echo hello $x"}
	c.Progress = func(p Progress) {
		told = append(told, p)
		if strings.HasSuffix(p.Lines, "Name? \uFFFD") {
			write(t, path, "world\n", 0)
		}
	}
	result := run(t, newRunner(t, Options{}), c)
	if !strings.HasSuffix(result.Output.Head, "hello world\n") {
		t.Errorf("%+v", result)
	}
	if len(told) == 0 {
		t.Fatal("nothing was told")
	}
	if most := int(result.Duration/reportEvery) + 1; len(told) > most {
		t.Errorf("told %d times in %v", len(told), result.Duration)
	}
	for _, p := range told {
		if p.Total > recently && (len(p.Lines) > recently+2 || !strings.HasPrefix(p.Lines, "line ")) || p.Elapsed <= 0 || p.Elapsed > result.Duration {
			t.Errorf("%d bytes of %d after %v: %.20q", len(p.Lines), p.Total, p.Elapsed, p.Lines)
		}
	}
}
