package egress

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// collect parses all of a body that comes in the given reads.
func collect(framing string, body io.Reader) ([]Frame, error) {
	var frames []Frame
	for frame, err := range Frames(context.Background(), io.NopCloser(body), framing) {
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame)
	}
	return frames, nil
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name, framing, body string
		want                []Frame
	}{
		{"events", FramingSSE, "data: {\"a\":1}\n\ndata:[DONE]\n\n", []Frame{{Data: `{"a":1}`}, {Data: "[DONE]"}}},
		{"names", FramingSSE, "event: ping\ndata: x\n\ndata: y\n\n", []Frame{{"ping", "x"}, {"", "y"}}},
		{"CRLF", FramingSSE, "data: a\r\n\r\ndata: b\r\n\r\n", []Frame{{Data: "a"}, {Data: "b"}}},
		{"CR", FramingSSE, "data: a\r\rdata: b\r\r", []Frame{{Data: "a"}, {Data: "b"}}},
		{"mixed ends", FramingSSE, "data: a\r\n\rdata: b\n\r\n", []Frame{{Data: "a"}, {Data: "b"}}},
		{"several lines", FramingSSE, "data: a\ndata:\ndata:  b\n\n", []Frame{{Data: "a\n\n b"}}},
		{"byte order mark", FramingSSE, "\xef\xbb\xbfdata: a\n\n", []Frame{{Data: "a"}}},
		{"comments and unknown fields", FramingSSE, ": hi\nid: 3\nretry: 5\nfoo\ndata: a\n\n:\n\n", []Frame{{Data: "a"}}},
		{"no data", FramingSSE, "event: ping\n\ndata:\n\ndata\n\ndata: a\n\n", []Frame{{Data: "a"}}},
		{"colons and spaces", FramingSSE, "data: a: b\n\ndata :x\n\ndata:c \n\n", []Frame{{Data: "a: b"}, {Data: "c "}}},
		{"end without a blank line", FramingSSE, "data: a\n\ndata: b", []Frame{{Data: "a"}, {Data: "b"}}},
		{"not UTF-8", FramingSSE, "data: a\xffb\n\n", []Frame{{Data: "a\uFFFDb"}}},
		{"nothing", FramingSSE, "", nil},
		{"lines", FramingNDJSON, "{\"a\":1}\n{\"b\":2}\r\n\n  \n{}\n", []Frame{{Data: `{"a":1}`}, {Data: `{"b":2}`}, {Data: "{}"}}},
		{"last line without end", FramingNDJSON, "\xef\xbb\xbf{}\n[1]", []Frame{{Data: "{}"}, {Data: "[1]"}}},
		{"CR within a line", FramingNDJSON, "{}\r{}\n", []Frame{{Data: "{}\r{}"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, reader := range map[string]io.Reader{
				"whole": strings.NewReader(test.body), "bytes": iotest.OneByteReader(strings.NewReader(test.body)),
				"with the end": iotest.DataErrReader(strings.NewReader(test.body)),
			} {
				frames, err := collect(test.framing, reader)
				if diff := cmp.Diff(test.want, frames); diff != "" || err != nil {
					t.Errorf("%s: %v %s", name, err, diff)
				}
			}
		})
	}
}

func TestFrameLimits(t *testing.T) {
	at := strings.Repeat("x", maxFrame-6)
	over := strings.Repeat("x", maxFrame+1)
	for name, test := range map[string]struct {
		framing, body string
		frames        int
		fails         bool
	}{
		"a line at the limit":       {FramingSSE, "data: " + at + "\n\n", 1, false},
		"a line over the limit":     {FramingSSE, "data: a\n\ndata: " + over + "\n\ndata: b\n\n", 1, true},
		"a line that never ends":    {FramingSSE, "data: a\n\n" + over, 1, true},
		"an event over the limit":   {FramingSSE, "data: a\n\n" + strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 1100), 1, true},
		"an NDJSON line over":       {FramingNDJSON, "{}\n" + over + "\n", 1, true},
		"an NDJSON line just right": {FramingNDJSON, over[1:] + "\n", 1, false},
	} {
		frames, err := collect(test.framing, strings.NewReader(test.body))
		if len(frames) != test.frames {
			t.Errorf("%s: %d frames", name, len(frames))
		}
		if test.fails {
			wantKind(t, err, KindTooLarge, "1 MiB")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNextTakesWhatIsThere(t *testing.T) {
	from, to := io.Pipe()
	reader, err := NewFrameReader(from, FramingSSE)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for _, part := range []string{"data: 1\n\ndata: 2\n\ndata: 3\n\nda", "ta: ", "4\n\n"} {
			_, _ = io.WriteString(to, part)
		}
		to.Close()
	}()
	for _, want := range [][]Frame{{{Data: "1"}, {Data: "2"}, {Data: "3"}}, {{Data: "4"}}} {
		frames, err := reader.Next(t.Context())
		if diff := cmp.Diff(want, frames); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
	for range 2 {
		if _, err := reader.Next(t.Context()); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}

func TestNextErrors(t *testing.T) {
	broken := errors.New("broken")
	frames, err := collect(FramingSSE, io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(frames) != 1 {
		t.Errorf("%v, %v", frames, err)
	}
	if _, err := collect("xml", strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "there is no framing") {
		t.Errorf("unknown framing: %v", err)
	}
	if _, err := collect(FramingSSE, silentReader{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never answers: %v", err)
	}

	from, to := io.Pipe()
	defer to.Close()
	reader, err := NewFrameReader(from, FramingSSE)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	go func() {
		_, _ = io.WriteString(to, "data: half") // Next is waiting for the rest
		cancel(reason)
	}()
	if _, err := reader.Next(ctx); !errors.Is(err, reason) {
		t.Errorf("cancelled: %v", err)
	}
}

type silentReader struct{}

func (silentReader) Read([]byte) (int, error) { return 0, nil }

// FuzzSplits cuts a body at two places and one byte at a time: the frames stay.
func FuzzSplits(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfevent: a\r\ndata: 1\r\n\r\n: c\rdata: 2\r\rdata: x\n\n"), uint16(7), uint16(21))
	f.Add([]byte("{\"a\":1}\n\r\n{}"), uint16(1), uint16(9))
	f.Fuzz(func(t *testing.T, body []byte, first, second uint16) {
		for _, framing := range []string{FramingSSE, FramingNDJSON} {
			whole, err := collect(framing, strings.NewReader(string(body)))
			a := min(int(first), len(body))
			b := min(a+int(second), len(body))
			cut := io.MultiReader(strings.NewReader(string(body[:a])), strings.NewReader(string(body[a:b])), strings.NewReader(string(body[b:])))
			for _, reader := range []io.Reader{cut, iotest.OneByteReader(strings.NewReader(string(body)))} {
				pieces, pieceErr := collect(framing, reader)
				if diff := cmp.Diff(whole, pieces); diff != "" || (err == nil) != (pieceErr == nil) {
					t.Errorf("%s: %v, %v: %s", framing, err, pieceErr, diff)
				}
			}
			for _, frame := range whole {
				if frame.Data == "" || strings.Contains(frame.Event, "\n") {
					t.Errorf("%s: %+v", framing, frame)
				}
			}
		}
	})
}

func BenchmarkFrames(b *testing.B) {
	body := strings.Repeat(`data: {"id":"c","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`+"\n\n", 1000)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if frames, err := collect(FramingSSE, strings.NewReader(body)); len(frames) != 1000 || err != nil {
			b.Fatal(len(frames), err)
		}
	}
}
