package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestHandshake(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.HelloTimeout = 300 * time.Millisecond })
	p := r.connect(r.token(protocol.ScopeRead, protocol.ScopeWrite))
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"x"}`)
	if e := expect[*protocol.ErrFrame](p); e.Error.Code != protocol.BadRequest {
		t.Errorf("before hello: %+v", e.Error)
	}
	p.send(`{"t":"hello","proto":1,"later":true,"client":{"name":"test","color":"red"}}`)
	welcome := expect[*protocol.Welcome](p)
	if welcome.Conn == "" {
		t.Error("no connection id")
	}
	welcome.Conn = ""
	diff(t, "welcome", &protocol.Welcome{
		T: "welcome", Scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite}, HeartbeatMS: 20000,
		Limits: protocol.Limits{Frame: 1 << 20, Inflight: 64, Subs: 64}, Server: protocol.ServerInfo{Version: "test", Proto: []int{1}},
	}, welcome)
	p.send(`{"t":"hello","proto":1}`)
	if e := expect[*protocol.ErrFrame](p); e.Error.Code != protocol.BadRequest {
		t.Errorf("second hello: %+v", e.Error)
	}
	for frames, want := range map[string]int{
		"":                                     protocol.CloseHello,
		`{"t":"pong","n":1}`:                   protocol.CloseHello,
		`{"t":"hello","proto":2}`:              protocol.CloseVersion,
		`{"t":"hello"}`:                        protocol.CloseVersion,
		`{"t":"hello","proto":1,"ticket":"x"}`: protocol.CloseAuth,
	} {
		p := r.connect(r.admin)
		if frames != "" {
			p.send(frames)
		}
		if code := p.closed(); code != want {
			t.Errorf("%q closed with %d, want %d", frames, code, want)
		}
	}
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	fill(r, session, 300)
	p := r.live()
	p.send(`{"t":"sub","sub":"s1","scope":"session","session":"` + session + `"}`)
	subscribed := expect[*protocol.Subscribed](p)
	diff(t, "from", protocol.NewCursor("log_memory", -1, "").String(), subscribed.From)
	cursor := ""
	for seq := range int64(301) {
		ev := expect[*protocol.Ev](p)
		if ev.Seq != seq || ev.Prev != seq-1 || ev.Sub != "s1" {
			t.Fatalf("event %+v, want %d", ev, seq)
		}
		if seq == 200 {
			cursor = ev.Cursor
		}
	}
	if live := expect[*protocol.Live](p); live.Cursor != r.Head(session) {
		t.Errorf("live at %s", live.Cursor)
	}
	r.Append(session, "test.live", 1)
	if ev := expect[*protocol.Ev](p); ev.Seq != 301 || ev.Prev != 300 || ev.Type != "test.live" || string(ev.Data) != "1" {
		t.Errorf("after live: %+v", ev)
	}

	p.send(`{"t":"sub","sub":"s2","scope":"session","session":"` + session + `","after":"` + cursor + `"}`)
	if again := expect[*protocol.Subscribed](p); again.From != cursor {
		t.Errorf("resumed from %s", again.From)
	}
	if ev := expect[*protocol.Ev](p); ev.Seq != 201 || ev.Prev != 200 || ev.Sub != "s2" {
		t.Errorf("resumed with %+v", ev)
	}
	until[*protocol.Live](p)
	p.send(`{"t":"unsub","sub":"s2"}`)
	if end := expect[*protocol.End](p); end.Sub != "s2" || end.Reason != protocol.EndUnsubscribed {
		t.Errorf("unsub: %+v", end)
	}
	r.Append(session, "test.live", 2)
	if ev := expect[*protocol.Ev](p); ev.Sub != "s1" {
		t.Errorf("after unsub: %+v", ev)
	}
	r.Delete(session)
	if end := expect[*protocol.End](p); end.Sub != "s1" || end.Reason != protocol.EndDeleted {
		t.Errorf("deleted: %+v", end)
	}
	p.ws.Close()
}

func TestSubRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	fill(r, session, 5)
	p := r.live()
	sub := func(rest string) string {
		return `{"t":"sub","sub":"s","scope":"session","session":"` + session + `"` + rest + `}`
	}
	for frame, want := range map[string]protocol.Code{
		`{"t":"sub","sub":"s","scope":"session","session":"ses_none"}`: protocol.NotFound,
		`{"t":"sub","sub":"s","scope":"tree","session":"x"}`:           protocol.BadRequest,
		`{"t":"sub","sub":"s","scope":"sessions"}`:                     protocol.BadRequest,
		`{"t":"sub","sub":"s","scope":"asks"}`:                         protocol.BadRequest,
		`{"t":"sub","sub":"s","scope":"session","session":"host"}`:     protocol.NotFound,
		`{"t":"sub","sub":"s","scope":"host","session":"host"}`:        protocol.BadRequest,
		`{"t":"sub","sub":"s","scope":"host","deltas":true}`:           protocol.BadRequest,
		`{"t":"sub","sub":"s","scope":"session"}`:                      protocol.BadRequest,
		sub(`,"window":256`):                                           protocol.BadRequest,
		sub(`,"after":"xx"`):                                           protocol.BadRequest,
		sub(`,"types":["a*b"]`):                                        protocol.BadRequest,
		sub(`,"types":[""]`):                                           protocol.BadRequest,
		sub(`,"afer":"x"`):                                             protocol.BadRequest,
		`{"t":"unsub","sub":"s"}`:                                      protocol.NotFound,
		`{"t":"ack","sub":"s","cursor":"x"}`:                           protocol.BadRequest,
	} {
		p.send(frame)
		if e := expect[*protocol.ErrFrame](p); e.Error.Code != want || e.Of != "s" {
			t.Errorf("%s: %+v", frame, e)
		}
	}
	for cursor, want := range map[string]protocol.ResetReason{
		protocol.NewCursor("log_before", 1, "").String():          protocol.ResetLog,
		protocol.NewCursor("log_memory", 99, "").String():         protocol.ResetUnknown,
		protocol.NewCursor("log_memory", 3, "evt_other").String(): protocol.ResetUnknown,
	} {
		p.send(sub(`,"after":"` + cursor + `"`))
		if reset := expect[*protocol.Reset](p); reset.Reason != want || reset.Sub != "s" || reset.Head == "" {
			t.Errorf("cursor of %s: %+v", want, reset)
		}
	}
	p.send(sub(""))
	until[*protocol.Live](p)
	p.send(sub(""))
	if e := expect[*protocol.ErrFrame](p); e.Error.Code != protocol.Conflict {
		t.Errorf("the same name: %+v", e)
	}
	for i := range 63 {
		p.send(fmt.Sprintf(`{"t":"sub","sub":"n%d","scope":"session","session":%q,"after":%q}`, i, session, r.Head(session)))
		until[*protocol.Live](p)
	}
	p.send(`{"t":"sub","sub":"many","scope":"session","session":"` + session + `"}`)
	if e := expect[*protocol.ErrFrame](p); e.Error.Code != protocol.Busy {
		t.Errorf("one too many: %+v", e)
	}
	writer := r.connect(r.token(protocol.ScopeWrite))
	writer.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](writer)
	writer.send(sub(""))
	if e := expect[*protocol.ErrFrame](writer); e.Error.Code != protocol.Forbidden {
		t.Errorf("without the right to read: %+v", e)
	}
}

func TestPrunedWhileFollowing(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	r.Prune(session, 5)
	fill(r, session, 9)
	if reset := until[*protocol.Reset](p); reset.Reason != protocol.ResetPruned {
		t.Errorf("%+v", reset)
	}
}

// TestLogThatFails: the subscription ends, the connection and its other requests
// go on.
func TestLogThatFails(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	r.Fail(servertest.ErrSecret())
	r.Append(session, "test.poke", nil)
	if end := expect[*protocol.End](p); end.Reason != protocol.EndFailed || end.Sub != "s" {
		t.Errorf("%+v", end)
	}
	r.Fail(nil)
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
}

// TestFilter: left-out events never break the chain of prev, and a mark moves the
// cursor past them.
func TestFilter(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	for i := range 10 {
		r.Append(session, []string{"a.x", "b.y"}[i%2], i)
	}
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `","types":["a.*","c"]}`)
	expect[*protocol.Subscribed](p)
	prev := int64(-1)
	for range 5 {
		ev := expect[*protocol.Ev](p)
		if ev.Type != "a.x" || ev.Prev != prev {
			t.Errorf("event %+v after %d", ev, prev)
		}
		prev = ev.Seq
	}
	mark := expect[*protocol.Mark](p)
	live := expect[*protocol.Live](p)
	if mark.Cursor != r.Head(session) || live.Cursor != mark.Cursor {
		t.Errorf("mark %+v, live %+v", mark, live)
	}
	r.Append(session, "b.y", nil)
	if mark := expect[*protocol.Mark](p); mark.Cursor != r.Head(session) {
		t.Errorf("mark %+v", mark)
	}
	r.Append(session, "c", nil)
	if ev := expect[*protocol.Ev](p); ev.Type != "c" || ev.Prev != prev {
		t.Errorf("event %+v after %d", ev, prev)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.Heartbeat = 50 * time.Millisecond })
	session := r.Session()
	p := r.connect(r.admin)
	p.send(`{"t":"hello","proto":1,"want":{"pong":true}}`)
	expect[*protocol.Welcome](p)
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	for n := range 5 {
		ping := until[*protocol.Ping](p)
		if n > 0 { // the first may come before the subscription is live
			diff(t, "heads", map[string]string{"s": r.Head(session)}, ping.Heads)
		}
		p.send(fmt.Sprintf(`{"t":"pong","n":%d}`, ping.N))
	}
	// A client that is silent, even to protocol pings, is given up.
	p.ws.SetPingHandler(func(string) error { return nil })
	within(t, patience/2, "giving a silent client up", func() {
		p.ws.SetReadDeadline(time.Now().Add(patience))
		for {
			if _, _, err := p.ws.ReadMessage(); err != nil {
				break
			}
		}
		r.unwatched()
	})
}
