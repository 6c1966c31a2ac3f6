package server

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/store"
)

// TestAnotherUserOfTheSocket: the socket is for its owner only, whatever else the
// request carries.
func TestAnotherUserOfTheSocket(t *testing.T) {
	t.Parallel()
	s := &Server{}
	for uid, allowed := range map[int]bool{os.Geteuid(): true, os.Geteuid() + 1: false, -1: false} {
		request := httptest.NewRequest("GET", "/v1/sessions", nil)
		request.Header.Set("Authorization", "Bearer plinth_x_y")
		principal, err := s.authenticate(request.WithContext(context.WithValue(request.Context(), localKey{}, uid)))
		if (err == nil) != allowed || (allowed && !principal.allows(protocol.ScopeAdmin)) {
			t.Errorf("uid %d: %+v, %v", uid, principal, err)
		}
	}
}

// onePart is a source of deltas with one part.
type onePart struct {
	Deltas
	text string
}

func (o *onePart) Open(string) []protocol.OpenPart {
	return []protocol.OpenPart{{Message: "m", Part: "p", Kind: protocol.KindText, Text: o.text}}
}

// TestDeltasPutTogether: whatever the text and wherever a look falls, the frames of
// a subscription give the text, and no frame has half a code point.
func TestDeltasPutTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "large") {
			text += strings.Repeat("wörld 😀", maxDelta/4)
		}
		looks := rapid.SliceOf(rapid.IntRange(0, len(text))).Draw(t, "looks")
		source := &onePart{}
		d := &deltas{source: source, sent: map[partKey]int{}}
		have, at := "", 0
		look := func(to int) {
			source.text = text[:to]
			for _, frame := range d.next() {
				if frame.T == "part" {
					have = ""
				}
				have += frame.Text
				if frame.N != len(have) || len(frame.Text) > maxDelta || !utf8.ValidString(frame.Text) {
					t.Fatalf("frame %q with n %d leaves %d bytes", frame.Text, frame.N, len(have))
				}
			}
		}
		for _, to := range looks {
			if to > at {
				at = to
			}
			look(at)
		}
		for range 2 + len(text)/(maxDelta-utf8.UTFMax) {
			look(len(text))
		}
		if have != text {
			t.Fatalf("got %q, want %q", have, text)
		}
	})
}

// TestPartThatBeganAnew: a part that is shorter than what was sent comes whole.
func TestPartThatBeganAnew(t *testing.T) {
	t.Parallel()
	source := &onePart{text: "hello world"}
	d := &deltas{source: source, sent: map[partKey]int{}}
	d.next()
	source.text = "he"
	frames := d.next()
	if len(frames) != 1 || frames[0].T != "part" || frames[0].Text != "he" {
		t.Errorf("%+v", frames)
	}
}

// laggingEvents is a log that can be read up to head, which a test moves.
type laggingEvents struct {
	Events
	head atomic.Int64
	wake *store.Wake
}

func (e *laggingEvents) Read(context.Context, string, int64, int) (EventPage, error) {
	return EventPage{Head: e.head.Load()}, nil
}

func (e *laggingEvents) Watch(string) Wake { return e.wake }

// TestAnswerWaitsForItsCursor: an answer is held back until the log can be read up
// to the place it names.
func TestAnswerWaitsForItsCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := &laggingEvents{wake: store.NewWake(nil)}
		events.head.Store(3)
		s := &Server{backend: Backend{Events: events}}
		answered := make(chan error, 1)
		go func() { answered <- s.awaitCursor(t.Context(), "ses_1", protocol.NewCursor("log_1", 5, "").String()) }()
		for _, head := range []int64{3, 4} {
			events.head.Store(head)
			events.wake.Poke()
			synctest.Wait()
			select {
			case err := <-answered:
				t.Fatalf("answered at %d: %v", head, err)
			default:
			}
		}
		events.head.Store(5)
		events.wake.Poke()
		if err := <-answered; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.awaitCursor(ctx, "ses_1", protocol.NewCursor("log_1", 6, "").String()); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
	})
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s, err := New(Options{Socket: "/x", Version: "bench"}, Backend{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
