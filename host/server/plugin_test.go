package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

func TestPlugins(t *testing.T) {
	t.Parallel()
	r := start(t)
	before := protocol.NewCursor("log_memory", -1, "").String()
	diff(t, "an empty list", map[string]any{"plugins": []any{}, "cursor": before}, get[map[string]any](r, call{method: "GET", path: "/v1/plugins"}))
	broken := protocol.Plugin{ID: "acme/broken", Origin: "/p/plugin.toml", State: protocol.PluginFailed, Error: "/p/plugin.toml:1: no"}
	r.Load(broken)
	diff(t, "plugins", protocol.PluginList{Plugins: []protocol.Plugin{broken}, Cursor: before}, get[protocol.PluginList](r, call{method: "GET", path: "/v1/plugins"}))
	broken.Cursor = before
	diff(t, "one", broken, get[protocol.Plugin](r, call{method: "GET", path: "/v1/plugins/acme/broken"}))

	query := url.Values{"origin": {"/home/me/p.wasm"}, "location": {"/p"}, "grant": {"http:https://a.example,https://b.example", "kv"}}
	wasm := map[string]string{"Content-Type": protocol.MimeWasm}
	sent := get[protocol.Plugin](r, call{method: "POST", path: "/v1/plugins?" + query.Encode(), body: "\x00asm-packed", header: wasm})
	diff(t, "sent", protocol.Plugin{ID: "test/uploaded", Location: "/p", Origin: "/home/me/p.wasm", Version: "\x00asm-pac", State: protocol.PluginActive,
		Approvals: []protocol.PluginApproval{{Grants: query["grant"]}}, Cursor: r.Head(protocol.HostEvents)}, sent)
	got := get[protocol.Plugin](r, call{method: "POST", path: "/v1/plugins", body: `{"url":"https://x.example/p.wasm","grants":[]}`})
	diff(t, "without a grant", []protocol.PluginApproval{{Grants: []string{}}}, got.Approvals)

	get[protocol.Plugin](r, call{method: "PATCH", path: "/v1/plugins/test/uploaded?location=/p", body: `{"action":"approve","grants":[]}`})
	if status, _, body := r.do(call{method: "DELETE", path: "/v1/plugins/test/uploaded?location=/p&purge=true&force_ms=5", token: r.admin}); status != http.StatusNoContent {
		t.Errorf("removed: %d %s", status, body)
	}
	var types, actors []string
	for _, event := range get[protocol.EventList](r, call{method: "GET", path: "/v1/host/events"}).Events {
		types, actors = append(types, event.Type+" "+string(event.Data)), append(actors, event.Actor)
	}
	diff(t, "events", []string{`host.plugin.activated "test/uploaded"`, `host.plugin.activated "test/downloaded"`,
		`host.plugin.approve {"action":"approve","grants":[]}`, `host.plugin.removed {"purge":true,"forceMS":5}`}, types)
	for _, actor := range actors {
		if !strings.HasPrefix(actor, "token:") {
			t.Errorf("done by %s", actor)
		}
	}
}

// TestPluginUpload: a body of bytes has its own limit, and that only where it is a plugin.
func TestPluginUpload(t *testing.T) {
	t.Parallel()
	r := start(t)
	wasm := map[string]string{"Content-Type": protocol.MimeWasm}
	exact := strings.Repeat("x", protocol.MaxPlugin)
	get[protocol.Plugin](r, call{method: "POST", path: "/v1/plugins", body: exact, header: wasm})
	for name, test := range map[string]struct {
		c    call
		want protocol.Code
		text string
	}{
		"too large":      {call{path: "/v1/plugins", body: exact + "x", header: wasm}, protocol.TooLarge, "25165824"},
		"large JSON":     {call{path: "/v1/plugins", body: strings.Repeat(" ", protocol.MaxFrame+1)}, protocol.TooLarge, "1048576"},
		"elsewhere":      {call{path: "/v1/plugins/reload", body: "x", header: wasm}, protocol.BadRequest, "must be JSON"},
		"no type":        {call{path: "/v1/plugins", body: "x", header: map[string]string{"Content-Type": "text/plain"}}, protocol.BadRequest, "must be a packed plugin with \"Content-Type: application/wasm\""},
		"nothing":        {call{path: "/v1/plugins", header: wasm}, protocol.BadRequest, "body is required"},
		"no address":     {call{path: "/v1/plugins", body: `{}`}, protocol.BadRequest, "url is missing"},
		"unknown field":  {call{path: "/v1/plugins", body: `{"ulr":"x"}`}, protocol.BadRequest, `"ulr"`},
		"query of a URL": {call{path: "/v1/plugins?location=/p", body: `{"url":"https://x"}`}, protocol.BadRequest, "in the JSON body"},
		"no action":      {call{method: "PATCH", path: "/v1/plugins/a/b", body: `{}`}, protocol.BadRequest, `action ""`},
		"no root":        {call{method: "DELETE", path: "/v1/plugins/trusted"}, protocol.BadRequest, "root"},
		"too patient":    {call{method: "DELETE", path: "/v1/plugins/a/b?force_ms=86400001"}, protocol.BadRequest, "force_ms"},
	} {
		if test.c.method == "" {
			test.c.method = "POST"
		}
		if p := r.refused(test.c); p.Code != test.want || !strings.Contains(p.Detail, test.text) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	status, _, _ := r.do(call{method: "POST", path: "/v1/plugins", body: exact + "x", header: wasm, token: r.token(protocol.ScopeWrite)})
	if status != http.StatusRequestEntityTooLarge && status != http.StatusForbidden {
		t.Errorf("without the right: %d", status)
	}
	if status, _, _ := r.do(call{method: "POST", path: "/v1/plugins", body: "x", header: wasm, token: r.token(protocol.ScopeWrite)}); status != http.StatusForbidden {
		t.Errorf("without the right: %d", status)
	}
}

// TestHostEvents: the host's events are followed as a session's are.
func TestHostEvents(t *testing.T) {
	t.Parallel()
	r := start(t)
	if p := r.refused(call{method: "GET", path: "/v1/sessions/host/events"}); p.Code != protocol.NotFound {
		t.Errorf("as a session: %+v", p)
	}
	empty := get[protocol.EventList](r, call{method: "GET", path: "/v1/host/events"})
	if len(empty.Events) != 0 || empty.More || empty.Cursor != empty.Head {
		t.Errorf("at first: %+v", empty)
	}
	p := r.connect(r.token(protocol.ScopeRead))
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	p.send(`{"t":"sub","sub":"h","scope":"host"}`)
	if subscribed := expect[*protocol.Subscribed](p); subscribed.From != empty.Cursor || subscribed.Head != empty.Head {
		t.Errorf("%+v", subscribed)
	}
	if live := expect[*protocol.Live](p); live.Cursor != empty.Cursor {
		t.Errorf("%+v", live)
	}
	sse, _ := r.followed("/v1/host/events", "text/event-stream", nil)
	ndjson, _ := r.followed("/v1/host/events", "application/x-ndjson", nil)
	r.Append(protocol.HostEvents, "host.plugin.failed", map[string]string{"message": "<no>"})
	ev := expect[*protocol.Ev](p)
	if ev.Seq != 0 || ev.Prev != -1 || ev.Session != protocol.HostEvents || ev.Sub != "h" {
		t.Errorf("%+v", ev)
	}
	want, err := protocol.Encode(ev.Event)
	if err != nil {
		t.Fatal(err)
	}
	page := get[struct{ Events []json.RawMessage }](r, call{method: "GET", path: "/v1/host/events?after=" + empty.Cursor})
	if len(page.Events) != 1 || string(page.Events[0]) != string(want) {
		t.Errorf("page %s, ev %s", page.Events, want)
	}
	if got := line(t, ndjson); got != string(want) {
		t.Errorf("ndjson %s", got)
	}
	if id := line(t, sse); id != "id: "+ev.Cursor {
		t.Error(id)
	}
	if got := line(t, sse); got != "data: "+string(want) {
		t.Errorf("sse %s", got)
	}
	// A filter, a cursor, and cursors that are none of these events.
	r.Append(protocol.HostEvents, "host.plugin.staged", nil)
	p.send(`{"t":"sub","sub":"f","scope":"host","after":"` + ev.Cursor + `","types":["host.folder.*"]}`)
	until[*protocol.Subscribed](p)
	if mark := until[*protocol.Mark](p); mark.Cursor != r.Head(protocol.HostEvents) {
		t.Errorf("%+v", mark)
	}
	r.Prune(protocol.HostEvents, 1)
	p.send(`{"t":"sub","sub":"g","scope":"host","after":"` + empty.Cursor + `"}`)
	if reset := until[*protocol.Reset](p); reset.Reason != protocol.ResetPruned || reset.Head == "" {
		t.Errorf("%+v", reset)
	}
	if refused := r.refused(call{method: "GET", path: "/v1/host/events?after=" + empty.Cursor}); refused.Code != protocol.Gone || refused.Details["reason"] != "pruned" {
		t.Errorf("%+v", refused)
	}
	if status, _, _ := r.do(call{method: "GET", path: "/v1/host/events", token: r.token(protocol.ScopeWrite)}); status != http.StatusForbidden {
		t.Errorf("without the right: %d", status)
	}
	w := r.connect(r.token(protocol.ScopeWrite))
	w.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](w)
	w.send(`{"t":"sub","sub":"h","scope":"host"}`)
	if e := expect[*protocol.ErrFrame](w); e.Error.Code != protocol.Forbidden {
		t.Errorf("%+v", e.Error)
	}
}
