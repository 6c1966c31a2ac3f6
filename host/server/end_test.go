package server_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// within fails the test when f takes longer than the limit.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > limit {
		t.Errorf("%s took %v, more than %v", what, took, limit)
	}
}

func TestRevocationEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	victim, err := r.Create(t.Context(), server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.connect(victim.Secret)
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	lines, _ := r.stream(session, "text/event-stream", map[string]string{"Authorization": "Bearer " + victim.Secret})
	line(t, lines)
	line(t, lines)
	waits := make(chan int, 1)
	go func() {
		status, _, _ := r.do(call{method: "POST", path: "/v1/sessions/" + session + "/prompts?wait=settled", body: `{"id":"msg_1","text":"x"}`, token: victim.Secret})
		waits <- status
	}()
	until[*protocol.Ev](p) // the prompt is admitted and waited for

	other := r.live()
	within(t, patience, "ending everything under the token", func() {
		if status, _, _ := r.do(call{method: "DELETE", path: "/v1/tokens/" + victim.ID, token: r.admin}); status != http.StatusNoContent {
			t.Fatalf("revoke answered %d", status)
		}
		if end := until[*protocol.End](p); end.Sub != "s" || end.Reason != protocol.EndRevoked {
			t.Errorf("%+v", end)
		}
		if code := p.closed(); code != protocol.CloseRevoked {
			t.Errorf("closed with %d", code)
		}
		if status := <-waits; status != http.StatusUnauthorized {
			t.Errorf("the wait answered %d", status)
		}
		for lines.Scan() { // the prompt's event, then the end
			if strings.Contains(lines.Text(), "unauthenticated") {
				break
			}
		}
	})
	other.send(`{"t":"req","id":"r","method":"session.get","params":{"sessionID":"` + session + `"}}`)
	if res := expect[*protocol.Res](other); !res.OK {
		t.Errorf("another token: %+v", res)
	}
}

// TestRevocationOfAReaderThatDoesNotRead: a write that waits for a slow client is
// no way to keep what was revoked.
func TestRevocationOfAReaderThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	fat := strings.Repeat("x", 64<<10)
	for range 400 {
		r.Append(session, "test.fat", fat)
	}
	victim, err := r.Create(t.Context(), server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"live", "stream"} {
		t.Run(scheme, func(t *testing.T) {
			if scheme == "live" {
				p := r.connect(victim.Secret)
				p.send(`{"t":"hello","proto":1}`)
				expect[*protocol.Welcome](p)
				p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
				until[*protocol.Ev](p)
			} else {
				lines, _ := r.stream(session, "application/x-ndjson", map[string]string{"Authorization": "Bearer " + victim.Secret})
				line(t, lines)
			}
		})
	}
	within(t, patience, "ending the stalled connections", func() {
		if err := r.Revoke(t.Context(), victim.ID); err != nil {
			t.Fatal(err)
		}
		r.unwatched()
	})
}

func TestExpiryEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	r := start(t)
	short, err := r.Create(t.Context(), server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead}, LifetimeSeconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := r.connect(short.Secret)
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	within(t, patience, "the token's end", func() {
		if code := p.closed(); code != protocol.CloseRevoked {
			t.Errorf("closed with %d", code)
		}
	})
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	p.send(`{"t":"req","id":"last","method":"session.resume","params":{"sessionID":"` + session + `"}}`)
	until[*protocol.Ev](p) // the request is running
	lines, _ := r.stream(session, "text/event-stream", nil)
	for range 4 {
		line(t, lines)
	}
	closed := make(chan error, 1)
	go func() { closed <- r.server.Close() }()
	bye := until[*protocol.Bye](p)
	if bye.Code != "draining" || bye.ReconnectMS <= 0 {
		t.Errorf("%+v", bye)
	}
	p.send(`{"t":"req","id":"late","method":"session.get","params":{"sessionID":"` + session + `"}}`)
	r.Settle(session, "resume", protocol.PromptResult{})
	if res := expect[*protocol.Res](p); res.ID != "last" || !res.OK {
		t.Errorf("in flight: %+v", res)
	}
	if code := p.closed(); code != protocol.CloseDraining {
		t.Errorf("closed with %d", code)
	}
	if event, data := line(t, lines), line(t, lines); event != "event: error" || !strings.Contains(data, "unavailable") {
		t.Errorf("the stream ended with %s %s", event, data)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := r.server.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := net.Dial("unix", r.socket); err == nil {
		t.Error("the socket is still served")
	}
	if err := r.server.Start(t.Context()); err == nil {
		t.Error("Start after Close was accepted")
	}
}

// TestShutdownHasAnEnd: a request that does not end is ended.
func TestShutdownHasAnEnd(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.DrainTimeout = 100 * time.Millisecond })
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	p.send(`{"t":"req","id":"stuck","method":"session.resume","params":{"sessionID":"` + session + `"}}`)
	until[*protocol.Ev](p)
	within(t, patience, "Close", func() { r.server.Close() })
	until[*protocol.Bye](p)
	if res := expect[*protocol.Res](p); res.OK || res.Error.Code != protocol.Unavailable {
		t.Errorf("stuck request: %+v", res)
	}
}

func TestCloseWithoutStart(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Listen: "127.0.0.1:0"}, server.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSlowReader: what a client does not read stays in the log and costs no memory;
// when it reads, nothing is missing, and deltas were merged.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `","deltas":true}`)
	until[*protocol.Live](p)
	fat := strings.Repeat("x", 20_000)
	want := 0
	for i := range 1500 { // 30 MB, far more than the socket holds
		r.Append(session, "test.fat", fmt.Sprint(i, fat))
		r.Grow(session, "msg_1", "p", "0123456789")
		want += 10
	}
	quick := r.live() // another client is not held up meanwhile
	quick.send(`{"t":"sub","sub":"q","scope":"session","session":"` + session + `","after":"` + r.Head(session) + `"}`)
	until[*protocol.Live](quick)
	r.Append(session, "test.last", nil)
	until[*protocol.Ev](quick)

	next, frames, have := int64(1), 0, 0
	for next <= 1501 || have < want {
		switch frame := p.next().(type) {
		case *protocol.Ev:
			if frame.Seq != next || frame.Prev != next-1 {
				t.Fatalf("event %d after %d, want %d", frame.Seq, frame.Prev, next)
			}
			next++
		case *protocol.Delta:
			frames++
			if frame.T == "d" && frame.N != have+len(frame.Text) {
				t.Fatalf("a hole: %d bytes, then %d with %d more", have, frame.N, len(frame.Text))
			}
			have = frame.N
		}
	}
	if frames > 400 {
		t.Errorf("1500 growths came in %d frames", frames)
	}
}

func TestMaxLive(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.MaxLive = 2 })
	session := r.Session()
	a := r.live()
	r.stream(session, "text/event-stream", nil)
	if p := r.refused(call{method: "GET", path: "/v1/sessions/" + session + "/events", header: map[string]string{"Accept": "text/event-stream"}}); p.Code != protocol.Busy {
		t.Errorf("one stream too many: %+v", p)
	}
	if _, response, _ := r.dial(http.Header{"Authorization": {"Bearer " + r.admin}}); response == nil || response.StatusCode != 503 {
		t.Errorf("one connection too many: %v", response)
	}
	a.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
	a.ws.Close()
}

func TestHistoryComesFast(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	fill(r, session, 5000)
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	for {
		p.ws.SetReadDeadline(time.Now().Add(patience))
		_, data, err := p.ws.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(data, []byte(`{"t":"live"`)) {
			break
		}
	}
}
