package server

import (
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/plinthhost/plinth/client/protocol"
)

const (
	// mergeFor is the shortest time between two looks at the streaming parts;
	// slowest bounds what it becomes for a slow client.
	mergeFor = 16 * time.Millisecond
	slowest  = time.Second
	// maxDelta bounds the text of a frame, in bytes: escaped, it stays under the
	// limit of a frame.
	maxDelta = 128 << 10
)

// deltas derives the fragments of a session's streaming parts for one
// subscription, from how much of each it has sent.
type deltas struct {
	source  Deltas
	session string
	wake    Wake
	dirty   atomic.Bool
	due     time.Time
	sent    map[partKey]int
	// joined is set after the first look; what was open by then begins with a part.
	joined bool
}

type partKey struct {
	message, part string
	kind          protocol.PartKind
}

func newDeltas(source Deltas, session string) *deltas {
	d := &deltas{source: source, session: session, wake: source.Watch(session), sent: map[partKey]int{}}
	d.dirty.Store(true)
	return d
}

// nextDelta answers when the next look at streaming parts is due, if any is.
func (w *writer) nextDelta() (due time.Time, ok bool) {
	for _, sub := range w.subs {
		if sub.live && sub.deltas != nil && sub.deltas.dirty.Load() && (!ok || sub.deltas.due.Before(due)) {
			due, ok = sub.deltas.due, true
		}
	}
	return due, ok
}

// send sends what the parts have grown by, when it is time to look. The slower
// the client takes it, the longer until the next look.
func (d *deltas) send(w *writer, sub *subscription, now time.Time) error {
	if now.Before(d.due) || !d.dirty.Swap(false) {
		return nil
	}
	for _, frame := range d.next() {
		frame.Sub = sub.name
		if err := w.send(frame); err != nil {
			return err
		}
	}
	done := time.Now()
	d.due = done.Add(min(slowest, max(mergeFor, 2*done.Sub(now))))
	return nil
}

// next answers a frame per part that has something new.
func (d *deltas) next() []protocol.Delta {
	open := d.source.Open(d.session)
	still := make(map[partKey]int, len(open))
	var frames []protocol.Delta
	for _, part := range open {
		key := partKey{part.Message, part.Part, part.Kind}
		from, known := d.sent[key]
		frame := protocol.Delta{T: "d", Session: d.session, Message: part.Message, Part: part.Part, Kind: part.Kind}
		if !known && !d.joined || from > len(part.Text) {
			frame.T, from = "part", 0
		}
		to := cut(part.Text, from)
		still[key] = to
		if to < wholeRunes(part.Text) {
			d.dirty.Store(true) // the rest is for the next look
		}
		if to == from && frame.T == "d" {
			continue
		}
		frame.N, frame.Text = to, part.Text[from:to]
		frames = append(frames, frame)
	}
	d.sent, d.joined = still, true
	return frames
}

// cut answers where the fragment that begins at from ends: at most maxDelta
// bytes on, never inside a code point.
func cut(text string, from int) int {
	if len(text)-from > maxDelta {
		text = text[:from+maxDelta]
	}
	return max(from, wholeRunes(text))
}

// wholeRunes is the length of the text without a code point that is cut off at
// its end.
func wholeRunes(text string) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		start := len(text) - back
		if utf8.RuneStart(text[start]) {
			if !utf8.FullRuneInString(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}
