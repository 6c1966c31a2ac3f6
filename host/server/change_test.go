package server_test

import (
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

func TestWaitingPrompts(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	prompts, inbox := "/v1/sessions/"+session+"/prompts", "/v1/sessions/"+session+"/inbox"
	for _, id := range []string{"msg_1", "msg_2"} {
		get[protocol.Receipt](r, call{method: "POST", path: prompts, body: `{"id":"` + id + `","text":"` + id + `"}`})
	}
	changed := get[protocol.Receipt](r, call{method: "PATCH", path: inbox + "/msg_1", body: `{"prompt":{"text":"other"},"delivery":"queue"}`})
	if changed.Prompt.Text != "other" || changed.Delivery != protocol.Queue || changed.Cursor != r.Head(session) {
		t.Errorf("%+v", changed)
	}
	if cancelled := get[protocol.Receipt](r, call{method: "DELETE", path: inbox + "/msg_2"}); cancelled.CancelledSeq == nil {
		t.Errorf("%+v", cancelled)
	}
	if left := get[protocol.Inbox](r, call{method: "GET", path: inbox}); len(left.Pending) != 1 || left.Pending[0].ID != "msg_1" {
		t.Errorf("%+v", left)
	}
	for path, want := range map[string]protocol.Code{inbox + "/msg_2": protocol.Conflict, inbox + "/msg_3": protocol.NotFound, "/v1/sessions/ses_x/inbox/msg_1": protocol.NotFound} {
		if p := r.refused(call{method: "DELETE", path: path}); p.Code != want {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if p := r.refused(call{method: "PATCH", path: inbox + "/msg_1", body: `{"text":"not in prompt"}`}); p.Code != protocol.BadRequest {
		t.Errorf("%+v", p)
	}
}

func TestChangeSession(t *testing.T) {
	t.Parallel()
	r := start(t)
	path := "/v1/sessions/" + r.Session()
	model := `{"model":{"provider":"p","model":"m"},"budgets":[{"turns":3,"per":"session","action":"stop"}]}`
	changed := get[protocol.Session](r, call{method: "PATCH", path: path, body: model})
	if changed.Model == nil || changed.Model.Model != "m" || len(changed.Budgets) != 1 {
		t.Errorf("%+v", changed)
	}
	if moved := get[protocol.Session](r, call{method: "POST", path: path + "/move", body: `{"location":{"directory":"/there"}}`}); moved.Location.Directory != "/there" {
		t.Errorf("%+v", moved)
	}
	if list := get[protocol.SessionList](r, call{method: "GET", path: path + "/children"}); list.Sessions == nil || len(list.Sessions) != 0 {
		t.Errorf("%+v", list)
	}
	if usage := get[protocol.SessionUsage](r, call{method: "GET", path: path + "/usage"}); usage.SessionID == "" || usage.Cursor == "" {
		t.Errorf("%+v", usage)
	}
	if report := get[protocol.ContextReport](r, call{method: "GET", path: path + "/context"}); report.SessionID == "" || report.Sources == nil || report.Messages == nil {
		t.Errorf("%+v", report)
	}
	if metrics := get[protocol.ContextMetrics](r, call{method: "GET", path: "/v1/context/metrics"}); metrics.Baselines != 1 || metrics.Sources == nil {
		t.Errorf("%+v", metrics)
	}
}

// TestRulesNeedApprove: who may not answer permissions may not set rules that answer
// them, at either door.
func TestRulesNeedApprove(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	before := len(r.Events(session))
	writer, approver := r.token(protocol.ScopeRead, protocol.ScopeWrite), r.token(protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeApprove)
	rules := `"rules":[{"action":"*","resource":"*","effect":"allow"}]`
	p := r.connect(writer)
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	for method, params := range map[string]string{"session.change": `{"sessionID":"` + session + `",` + rules + `}`, "session.create": `{` + rules + `}`} {
		p.send(`{"t":"req","id":"r","method":"` + method + `","params":` + params + `}`)
		if res := expect[*protocol.Res](p); res.OK || res.Error.Code != protocol.Forbidden {
			t.Errorf("%s: %+v", method, res)
		}
	}
	for _, c := range []call{
		{method: "PATCH", path: "/v1/sessions/" + session, body: `{` + rules + `}`}, {method: "PATCH", path: "/v1/sessions/" + session, body: `{"rules":[]}`},
		{method: "POST", path: "/v1/sessions", body: `{` + rules + `}`},
	} {
		c.header = map[string]string{"Authorization": "Bearer " + writer}
		if p := r.problem(c); p.Code != protocol.Forbidden {
			t.Errorf("%s %s: %+v", c.method, c.body, p)
		}
	}
	if after := len(r.Events(session)); after != before {
		t.Errorf("%d events of a refused change", after-before)
	}
	allowed := call{method: "PATCH", path: "/v1/sessions/" + session, body: `{` + rules + `}`, header: map[string]string{"Authorization": "Bearer " + approver}}
	if status, _, body := r.do(allowed); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}
