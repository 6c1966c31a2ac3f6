package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestBadFrames(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	p.send(`{"t":"sub","sub":"s","scope":"session","session":"` + session + `"}`)
	until[*protocol.Live](p)
	for frame, of := range map[string]string{
		``: "", `null`: "", `[]`: "", `{`: "", `{"t":7}`: "", `{}`: "", `{"t":"nope","id":"r1"}`: "r1", `{"t":"req"}`: "",
		`{"t":"sub","scope":"session"}`: "", `{"t":"req","id":"r2","method":"x","extra":1}`: "r2", `{"t":"sub","sub":"s9","deltas":"yes"}`: "s9",
		`{"t":"req","id":"` + strings.Repeat("x", 65) + `"}`: "", "\xff\xfe": "", `{"t":"welcome"}`: "", strings.Repeat("[", 20000): "",
	} {
		p.send(frame)
		if e := expect[*protocol.ErrFrame](p); e.Error.Code != protocol.BadRequest || e.Of != of || len(e.Error.Message) > 200 {
			t.Errorf("%.40q: %+v %+v", frame, e, e.Error)
		}
	}
	if err := p.ws.WriteMessage(websocket.BinaryMessage, []byte(`{"t":"pong","n":1}`)); err != nil {
		t.Fatal(err)
	}
	expect[*protocol.ErrFrame](p)
	r.Append(session, "test.unhurt", nil)
	if ev := expect[*protocol.Ev](p); ev.Type != "test.unhurt" {
		t.Errorf("%+v", ev)
	}
	exact := `{"t":"req","id":"r","method":"x","params":"` + strings.Repeat("x", protocol.MaxFrame-len(`{"t":"req","id":"r","method":"x","params":""}`)) + `"}`
	p.send(exact)
	if res := expect[*protocol.Res](p); res.Error.Code != protocol.BadRequest {
		t.Errorf("a frame of exactly the limit: %+v", res)
	}
	p.send(exact + " ")
	if code := p.closed(); code != protocol.CloseFrameSize {
		t.Errorf("too large a frame closed with %d", code)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	r := start(t)
	p := r.live()
	n := 0
	ask := func(method, params string) *protocol.Res {
		t.Helper()
		n++
		id := fmt.Sprintf("r%d", n)
		p.send(`{"t":"req","id":"` + id + `","method":"` + method + `","key":"key-1","params":` + params + `}`)
		res := expect[*protocol.Res](p)
		if res.ID != id || res.OK == (res.Error != nil) {
			t.Fatalf("%s answered %+v", method, res)
		}
		return res
	}
	good := func(method, params, want string) *protocol.Res {
		t.Helper()
		res := ask(method, params)
		if !res.OK || !strings.Contains(string(res.Result), want) {
			t.Errorf("%s %s: %s %+v", method, params, res.Result, res.Error)
		}
		return res
	}
	created := good("session.create", `{"id":"ses_a","title":"T"}`, `"title":"T"`)
	diff(t, "cursor", r.Head("ses_a"), created.Cursor)
	good("session.get", `{"sessionID":"ses_a"}`, `"ses_a"`)
	good("sessions.list", `{}`, `"ses_a"`)
	prompted := good("session.prompt", `{"sessionID":"ses_a","id":"msg_1","text":"hi","delivery":"queue"}`, `"admittedSeq":1`)
	diff(t, "cursor", r.Head("ses_a"), prompted.Cursor)
	good("session.inbox", `{"sessionID":"ses_a"}`, `"msg_1"`)
	good("session.messages", `{"sessionID":"ses_a","limit":10}`, `"messages":[]`)
	good("session.interrupt", `{"sessionID":"ses_a"}`, `"seq":2`)
	permission := r.Ask("ses_a")
	good("permissions.list", `{"sessionID":"ses_a"}`, permission)
	good("permission.reply", `{"id":"`+permission+`","reply":"once"}`, permission)
	good("plugins.list", `{}`, `"plugins":[]`)
	added := good("plugin.add", `{"url":"https://x.example/p.wasm","sha256":"00","location":"/p","grants":["kv"]}`, `"grants":["kv"]`)
	diff(t, "cursor", r.Head(protocol.HostEvents), added.Cursor)
	good("plugin.get", `{"id":"test/downloaded","location":"/p"}`, `"origin":"https://x.example/p.wasm"`)
	approved := good("plugin.change", `{"id":"test/downloaded","location":"/p","action":"approve","digest":"ab","grants":["kv"]}`, `"test/downloaded"`)
	diff(t, "cursor", r.Head(protocol.HostEvents), approved.Cursor)
	good("plugins.trust", `{"root":"/p"}`, `"plugins":[]`)
	good("plugins.list", `{}`, `"trusted":["/p"]`)
	good("plugins.distrust", `{"root":"/p"}`, `{}`)
	good("plugins.reload", `{}`, `"plugins":[{`)
	good("plugin.remove", `{"id":"test/downloaded","location":"/p","purge":true,"forceMS":1}`, `{}`)
	good("agents.list", `{}`, `"agents":[]`)
	good("skills.list", `{}`, `"skills":[{"name":"notes"`)
	good("skills.list", `{"directory":"/p"}`, `"/p/other"`)
	r.Settle("ses_a", "resume", protocol.PromptResult{})
	good("session.resume", `{"sessionID":"ses_a"}`, `"seq":5`)
	good("session.compact", `{"sessionID":"ses_a"}`, `"seq":6`)
	good("models.list", `{}`, `"models":[]`)
	r.Offer(protocol.Model{ID: "p/a", Provider: "p", Model: "a"})
	good("models.list", `{"provider":"p","refresh":true}`, `"id":"p/a"`)
	good("models.list", `{"provider":"q"}`, `"models":[]`)
	question, other, approval := r.Question("ses_a"), r.Question("ses_a"), r.Approve("/p", "bash", "ls")
	good("questions.list", `{"sessionID":"ses_a"}`, question)
	answered := good("question.answer", `{"id":"`+question+`","answers":[["this"]]}`, question)
	diff(t, "cursor", r.Head("ses_a"), answered.Cursor)
	good("question.dismiss", `{"id":"`+other+`"}`, `"dismissed":true`)
	good("questions.list", `{}`, `"questions":[]`)
	good("approvals.list", `{"root":"/p"}`, approval)
	good("approval.remove", `{"id":"`+approval+`"}`, `{}`)
	good("approvals.list", `{}`, `"approvals":[]`)
	good("session.todos", `{"sessionID":"ses_a"}`, `"todos":[]`)
	good("inbox.change", `{"sessionID":"ses_a","id":"msg_1","prompt":{"text":"ho"},"delivery":"steer"}`, `"text":"ho"`)
	cancelled := good("inbox.cancel", `{"sessionID":"ses_a","id":"msg_1"}`, `"cancelledSeq":12`)
	diff(t, "cursor", r.Head("ses_a"), cancelled.Cursor)
	good("session.change", `{"sessionID":"ses_a","agent":"plan","rules":[{"action":"bash","resource":"*","effect":"deny"}],"budgets":[]}`, `"agent":"plan"`)
	moved := good("session.move", `{"sessionID":"ses_a","location":{"directory":"/there"}}`, `"/there"`)
	diff(t, "cursor", r.Head("ses_a"), moved.Cursor)
	good("session.children", `{"sessionID":"ses_a"}`, `"sessions":[]`)
	good("session.usage", `{"sessionID":"ses_a"}`, `"turns":15`)
	good("session.context", `{"sessionID":"ses_a"}`, `"window":1000`)
	good("context.metrics", `{}`, `"updates":0`)
	for _, test := range []struct {
		method, params string
		want           protocol.Code
	}{
		{"question.answer", `{"id":"` + question + `","answers":[["this"]]}`, protocol.AlreadyResolved}, {"question.answer", `{"id":"que_none","answers":[["this"]]}`, protocol.NotFound},
		{"question.dismiss", `{"question":"x"}`, protocol.BadRequest}, {"approval.remove", `{"id":"apr_none"}`, protocol.NotFound},
		{"session.todos", `{"sessionID":"ses_b"}`, protocol.NotFound},
		{"plugin.get", `{"id":"test/downloaded"}`, protocol.NotFound}, {"plugin.get", `{}`, protocol.BadRequest}, {"plugin.change", `{"action":"enable"}`, protocol.BadRequest}, {"plugin.remove", `{}`, protocol.BadRequest},
		{"plugin.add", `{}`, protocol.BadRequest},
		{"plugin.change", `{"id":"a/b","action":"explode"}`, protocol.BadRequest}, {"plugin.change", `{"id":"a/b","action":"disable","digest":"ab"}`, protocol.BadRequest},
		{"plugin.change", `{"id":"a/b","action":"approve","revision":"ab"}`, protocol.BadRequest}, {"plugin.change", `{"id":"a/b","action":"enable"}`, protocol.NotFound},
		{"plugin.remove", `{"id":"a/b","forceMS":-1}`, protocol.BadRequest}, {"plugin.remove", `{"id":"a/b"}`, protocol.NotFound},
		{"plugins.trust", `{}`, protocol.BadRequest}, {"plugins.distrust", `{}`, protocol.BadRequest}, {"plugins.distrust", `{"root":"/none"}`, protocol.NotFound},
		{"inbox.cancel", `{"sessionID":"ses_a","id":"msg_1"}`, protocol.Conflict}, {"inbox.change", `{"sessionID":"ses_a","id":"msg_2"}`, protocol.NotFound},
		{"session.move", `{"sessionID":"ses_a","location":{"workspace":"w"}}`, protocol.BadRequest},
		{"session.nothing", `{}`, protocol.BadRequest}, {"session.get", `{"sessionID":"ses_b"}`, protocol.NotFound},
		{"session.get", `{"sessoinID":"ses_a"}`, protocol.BadRequest}, {"session.get", `7`, protocol.BadRequest},
		{"models.list", `{"refresh":"yes"}`, protocol.BadRequest}, {"models.list", `{"models":[]}`, protocol.BadRequest},
		{"session.prompt", `{"sessionID":"ses_a","id":"msg_1","text":"other"}`, protocol.Conflict},
		{"sessions.list", `{"limit":201}`, protocol.BadRequest}, {"session.messages", `{"sessionID":"ses_a","limit":-1}`, protocol.BadRequest},
		{"permission.reply", `{"id":"` + permission + `","reply":"once"}`, protocol.AlreadyResolved},
		{"permission.reply", `{"id":"` + permission + `","reply":"maybe"}`, protocol.BadRequest},
	} {
		if res := ask(test.method, test.params); res.OK || res.Error.Code != test.want || res.Error.Retryable != test.want.Retryable() {
			t.Errorf("%s %s: %+v %+v", test.method, test.params, res, res.Error)
		}
	}
	r.Fail(servertest.ErrSecret())
	if res := ask("session.create", `{}`); res.OK || res.Error.Code != protocol.Internal || strings.Contains(res.Error.Message, "hunter2") {
		t.Errorf("internal: %+v", res.Error)
	}
}

func TestRequestRights(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.connect(r.token(protocol.ScopeRead))
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	for method, allowed := range map[string]bool{
		"session.get": true, "session.prompt": false, "session.create": false, "session.interrupt": false, "session.resume": false, "session.compact": false, "permission.reply": false,
		"question.answer": false, "question.dismiss": false, "approval.remove": false, "session.todos": true,
		"plugin.add": false, "plugin.change": false, "plugin.remove": false, "plugins.trust": false, "plugins.distrust": false, "plugins.reload": false,
	} {
		p.send(`{"t":"req","id":"r","method":"` + method + `","params":{"sessionID":"` + session + `"}}`)
		if res := expect[*protocol.Res](p); res.OK != allowed || (!allowed && res.Error.Code != protocol.Forbidden) {
			t.Errorf("%s: %+v %+v", method, res, res.Error)
		}
	}
}

func TestInflight(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	p := r.live()
	for i := range 64 {
		p.send(fmt.Sprintf(`{"t":"req","id":"w%d","method":"session.resume","params":{"sessionID":%q}}`, i, session))
	}
	p.send(`{"t":"req","id":"over","method":"session.get","params":{"sessionID":"` + session + `"}}`)
	if res := expect[*protocol.Res](p); res.ID != "over" || res.Error == nil || res.Error.Code != protocol.Busy || !res.Error.Retryable {
		t.Errorf("the 65th: %+v", res)
	}
	for range 64 {
		r.Settle(session, "resume", protocol.PromptResult{})
		if res := expect[*protocol.Res](p); !res.OK {
			t.Errorf("%+v", res.Error)
		}
	}
	p.send(`{"t":"req","id":"again","method":"session.get","params":{"sessionID":"` + session + `"}}`)
	if res := expect[*protocol.Res](p); !res.OK {
		t.Errorf("after: %+v", res.Error)
	}
}
