package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func newTokenStore(kv *servertest.KV) *server.TokenStore { return server.NewTokenStore(kv, time.Now) }

// fill appends events with the numbers from 1 to n as their data.
func fill(r *rig, session string, n int) {
	for i := range n {
		r.Append(session, "test.number", i+1)
	}
}

// seqs are the sequences of events.
func seqs(events []protocol.Event) []int64 {
	list := make([]int64, len(events))
	for i, event := range events {
		list[i] = event.Seq
	}
	return list
}

func TestEventPages(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	fill(r, session, 250)
	var all []protocol.Event
	after := ""
	for {
		page := get[protocol.EventList](r, call{method: "GET", path: "/v1/sessions/" + session + "/events?limit=90&after=" + after})
		all = append(all, page.Events...)
		after = page.Cursor
		if !page.More {
			break
		}
	}
	if len(all) != 251 {
		t.Fatalf("%d events", len(all))
	}
	for i, event := range all {
		if event.Seq != int64(i) || event.Session != session {
			t.Fatalf("event %d is %+v", i, event)
		}
	}
	end := get[protocol.EventList](r, call{method: "GET", path: "/v1/sessions/" + session + "/events?after=" + after})
	if len(end.Events) != 0 || end.Cursor != after || end.More {
		t.Errorf("at the end: %+v", end)
	}
	first := get[protocol.EventList](r, call{method: "GET", path: "/v1/sessions/" + session + "/events"})
	if len(first.Events) != 100 || !first.More {
		t.Errorf("by default %d events, more %v", len(first.Events), first.More)
	}
}

// TestCursors: a cursor is good for the session and log it came from, and nothing
// else.
func TestCursors(t *testing.T) {
	t.Parallel()
	r := start(t)
	session, other := r.Session(), r.Session()
	fill(r, session, 10)
	fill(r, other, 10)
	good := get[protocol.EventList](r, call{method: "GET", path: "/v1/sessions/" + session + "/events?limit=5"}).Cursor
	path := "/v1/sessions/" + session + "/events?after="

	page := get[protocol.EventList](r, call{method: "GET", path: path + good})
	diff(t, "resumed", []int64{5, 6, 7, 8, 9, 10}, seqs(page.Events))

	for name, cursor := range map[string]string{"nonsense": "x", "padded": good + "=", "changed": "B" + good[1:], "long": strings.Repeat("A", 300), "sequence": "4"} {
		if p := r.refused(call{method: "GET", path: path + cursor}); p.Code != protocol.BadRequest {
			t.Errorf("%s: %+v", name, p)
		}
	}
	gone := func(name, session, cursor string, reason protocol.ResetReason) {
		t.Helper()
		p := r.refused(call{method: "GET", path: "/v1/sessions/" + session + "/events?after=" + cursor})
		if p.Code != protocol.Gone || p.Details["reason"] != string(reason) {
			t.Errorf("%s: %+v", name, p)
			return
		}
		from := p.Details["first"].(string)
		get[protocol.EventList](r, call{method: "GET", path: "/v1/sessions/" + session + "/events?after=" + from})
	}
	gone("another session's", other, good, protocol.ResetUnknown)
	gone("of the future", session, protocol.NewCursor("log_memory", 11, "").String(), protocol.ResetUnknown)
	gone("of another log", session, protocol.NewCursor("log_before", 4, "").String(), protocol.ResetLog)
	r.Prune(session, 8)
	gone("pruned", session, good, protocol.ResetPruned)
	page = get[protocol.EventList](r, call{method: "GET", path: path + protocol.NewCursor("log_memory", 7, "evt_gone").String()})
	diff(t, "just above the mark", []int64{8, 9, 10}, seqs(page.Events))
	page = get[protocol.EventList](r, call{method: "GET", path: "/v1/sessions/" + session + "/events"})
	diff(t, "from the first there is", []int64{8, 9, 10}, seqs(page.Events))
	r.Restore("log_after")
	gone("after a restore", session, protocol.NewCursor("log_memory", 9, "").String(), protocol.ResetLog)
}

// stream opens a session's event stream and answers its lines.
func (r *rig) stream(session, accept string, header map[string]string) (lines *bufio.Scanner, stop func()) {
	r.t.Helper()
	return r.followed("/v1/sessions/"+session+"/events", accept, header)
}

// followed opens an event stream and answers its lines.
func (r *rig) followed(path, accept string, header map[string]string) (lines *bufio.Scanner, stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	request, err := http.NewRequestWithContext(ctx, "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.admin)
	request.Header.Set("Accept", accept)
	for key, value := range header {
		request.Header.Set(key, value)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != accept {
		r.t.Fatalf("stream answered %s, %q", response.Status, response.Header.Get("Content-Type"))
	}
	stop = func() { cancel(); response.Body.Close() }
	r.t.Cleanup(stop)
	lines = bufio.NewScanner(response.Body)
	lines.Buffer(nil, 2<<20)
	return lines, stop
}

// line reads the next line that is not empty.
func line(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		if text := lines.Text(); text != "" && text != ":" {
			return text
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
	return ""
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	fill(r, session, 2)
	lines, stop := r.stream(session, "text/event-stream", nil)
	id := ""
	for seq := range int64(3) {
		id = strings.TrimPrefix(line(t, lines), "id: ")
		var event protocol.Event
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line(t, lines), "data: ")), &event); err != nil {
			t.Fatal(err)
		}
		if event.Seq != seq || event.Cursor != id {
			t.Fatalf("event %+v with id %q, want %d", event, id, seq)
		}
	}
	r.Append(session, "test.live", "now")
	line(t, lines)
	if data := line(t, lines); !strings.Contains(data, `"test.live"`) {
		t.Errorf("live: %s", data)
	}
	stop()

	lines, _ = r.stream(session, "text/event-stream", map[string]string{"Last-Event-ID": id})
	line(t, lines)
	if data := line(t, lines); !strings.Contains(data, `"seq":3`) {
		t.Errorf("resumed: %s", data)
	}
	r.Prune(session, 10)
	r.Fail(servertest.ErrSecret())
	r.Append(session, "test.poke", nil)
	if event, data := line(t, lines), line(t, lines); event != "event: error" || !strings.Contains(data, `"code":"internal"`) || strings.Contains(data, "hunter2") {
		t.Errorf("failure: %s %s", event, data)
	}
}

// TestFramingsAgree: the three framings and the live frame give the same event.
func TestFramingsAgree(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	r.Append(session, "test.text", map[string]string{"text": "<&>  😀"})
	page := get[struct{ Events []json.RawMessage }](r, call{method: "GET", path: "/v1/sessions/" + session + "/events"})
	ndjson, _ := r.stream(session, "application/x-ndjson", nil)
	sse, _ := r.stream(session, "text/event-stream", nil)
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	for _, want := range page.Events {
		if got := line(t, ndjson); got != string(want) {
			t.Errorf("ndjson %s, page %s", got, want)
		}
		line(t, sse)
		if got := strings.TrimPrefix(line(t, sse), "data: "); got != string(want) {
			t.Errorf("sse %s, page %s", got, want)
		}
		ev := until[*protocol.Ev](p)
		got, err := protocol.Encode(ev.Event)
		if err != nil || string(got) != string(want) {
			t.Errorf("ev %s, page %s, %v", got, want, err)
		}
	}
}
