package server_test

import (
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

// TestReverts: HTTP and the live connection do the same.
func TestReverts(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	path := "/v1/sessions/" + session
	staged := get[protocol.Session](r, call{method: "POST", path: path + "/revert", body: `{"message":"msg_1","files":false}`})
	if staged.Revert == nil || staged.Revert.Message != "msg_1" || staged.Cursor != r.Head(session) {
		t.Errorf("%+v", staged)
	}
	if cleared := get[protocol.Session](r, call{method: "DELETE", path: path + "/revert"}); cleared.Revert != nil {
		t.Errorf("%+v", cleared)
	}
	for _, c := range []struct {
		call
		want protocol.Code
	}{
		{call{method: "DELETE", path: path + "/revert"}, protocol.Conflict},
		{call{method: "POST", path: path + "/revert/commit"}, protocol.Conflict},
		{call{method: "POST", path: path + "/revert", body: `{}`}, protocol.BadRequest},
		{call{method: "POST", path: path + "/revert", body: `{"message":"msg_1","file":true}`}, protocol.BadRequest},
		{call{method: "POST", path: "/v1/sessions/ses_x/revert", body: `{"message":"msg_1"}`}, protocol.NotFound},
		{call{method: "GET", path: "/v1/sessions/ses_x/changes"}, protocol.NotFound},
	} {
		if p := r.refused(c.call); p.Code != c.want {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
	if list := get[protocol.ChangeList](r, call{method: "GET", path: path + "/changes"}); list.Files == nil || len(list.Files) != 0 || list.Cursor == "" {
		t.Errorf("%+v", list)
	}
	if list := get[protocol.ChangeList](r, call{method: "GET", path: path + "/changes?patch=true&path=a.go"}); list.Files[0].Path != "a.go" || list.Files[0].Patch == "" {
		t.Errorf("%+v", list)
	}

	p := r.connect(r.token(protocol.ScopeRead, protocol.ScopeWrite))
	p.send(`{"t":"hello","proto":1}`)
	expect[*protocol.Welcome](p)
	for _, req := range []struct{ method, params string }{
		{"session.revert", `,"message":"msg_1"`}, {"revert.commit", ""}, {"session.revert", `,"message":"msg_2"`}, {"revert.clear", ""}, {"session.changes", `,"message":"msg_1"`},
	} {
		p.send(`{"t":"req","id":"r","method":"` + req.method + `","params":{"sessionID":"` + session + `"` + req.params + `}}`)
		if res := expect[*protocol.Res](p); !res.OK {
			t.Errorf("%s: %+v", req.method, res.Error)
		}
	}
	reader := r.token(protocol.ScopeRead)
	for _, c := range []call{{method: "POST", path: path + "/revert", body: `{"message":"m"}`}, {method: "DELETE", path: path + "/revert"}, {method: "POST", path: path + "/revert/commit"}} {
		c.header = map[string]string{"Authorization": "Bearer " + reader}
		if p := r.problem(c); p.Code != protocol.Forbidden {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
}
