package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// collect reads deltas of a part until it has the whole text, and checks each.
func collect(t *testing.T, p *peer, have, want string) (frames int) {
	t.Helper()
	for have != want {
		d := expect[*protocol.Delta](p)
		frames++
		if d.T == "part" {
			have = ""
		}
		have += d.Text
		if d.N != len(have) || !strings.HasPrefix(want, have) || strings.ContainsRune(d.Text, '�') {
			t.Fatalf("frame %+v leaves %q", d, have)
		}
	}
	return frames
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	r.Grow(session, "msg_1", "text-0", "early ")
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `","deltas":true}`)
	until[*protocol.Live](p)
	first := expect[*protocol.Delta](p)
	diff(t, "for a late joiner", &protocol.Delta{
		T: "part", Sub: "s", Session: session, Message: "msg_1", Part: "text-0", Kind: protocol.KindText, N: 6, Text: "early ",
	}, first)
	r.Grow(session, "msg_1", "text-0", "wörld")
	collect(t, p, "early ", "early wörld")
	smile := "😀"
	r.Grow(session, "msg_1", "text-1", "a"+smile[:2])
	next := expect[*protocol.Delta](p)
	if next.T != "d" || next.Part != "text-1" || next.Text != "a" || next.N != 1 {
		t.Errorf("half a code point: %+v", next)
	}
	r.Grow(session, "msg_1", "text-1", smile[2:]+"b")
	collect(t, p, "a", "a"+smile+"b")
	r.EndPart(session, "msg_1", "text-0")
	if ev := expect[*protocol.Ev](p); ev.Type != "session.text.ended" {
		t.Errorf("%+v", ev)
	}
	big := strings.Repeat("é\n\x01\"", 200_000)
	r.Grow(session, "msg_1", "big", big)
	if frames := collect(t, p, "", big); frames < 8 {
		t.Errorf("%d bytes came in %d frames", len(big), frames)
	}

	quiet := r.live()
	quiet.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](quiet)
	r.Append(session, "test.end", nil)
	if ev := expect[*protocol.Ev](quiet); ev.Type != "test.end" {
		t.Errorf("without deltas: %+v", ev)
	}
}

// TestDeltasMerge: many small growths become few frames.
func TestDeltasMerge(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `","deltas":true}`)
	until[*protocol.Live](p)
	begin := time.Now()
	for range 20_000 {
		r.Grow(session, "msg_1", "p", "word ")
	}
	frames := collect(t, p, "", strings.Repeat("word ", 20_000))
	if most := int(time.Since(begin)/(16*time.Millisecond)) + 2; frames > most {
		t.Errorf("20000 growths in %v came in %d frames, want at most %d", time.Since(begin), frames, most)
	}
}
