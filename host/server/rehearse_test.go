package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestRehearse(t *testing.T) {
	t.Parallel()
	r := start(t)
	send := func(query, mime, body, token string) call {
		return call{method: "POST", path: protocol.RehearsePath + query, body: body, token: token, header: map[string]string{"Content-Type": mime}}
	}
	got := get[protocol.Rehearsal](r, send("?session=ses_1", protocol.MimeWasm, strings.Repeat("x", 2<<20), ""))
	get[protocol.Rehearsal](r, send("?session=ses_2&turns=100", protocol.MimeWasm, strings.Repeat("x", protocol.MaxPlugin), ""))
	asked := []servertest.Rehearsed{{Session: "ses_1", Turns: 10, Bytes: 2 << 20}, {Session: "ses_2", Turns: 100, Bytes: protocol.MaxPlugin}}
	if diff := cmp.Diff(asked, r.Rehearsed()); diff != "" || !got.Same || got.SessionID != "ses_1" {
		t.Errorf("%+v, %s", got, diff)
	}
	write := r.token(protocol.ScopeWrite)
	for name, test := range map[string]struct {
		call call
		code protocol.Code
		want string
	}{
		"no right":       {send("?session=ses_1", protocol.MimeWasm, "x", write), protocol.Forbidden, "admin"},
		"no session":     {send("", protocol.MimeWasm, "x", r.admin), protocol.BadRequest, "session"},
		"too many turns": {send("?session=ses_1&turns=101", protocol.MimeWasm, "x", r.admin), protocol.BadRequest, "100"},
		"no turns":       {send("?session=ses_1&turns=0", protocol.MimeWasm, "x", r.admin), protocol.BadRequest, "turns"},
		"json":           {send("?session=ses_1", "application/json", "{}", r.admin), protocol.BadRequest, protocol.MimeWasm},
		"nothing":        {send("?session=ses_1", protocol.MimeWasm, "", r.admin), protocol.BadRequest, "body"},
	} {
		if p := r.problem(test.call); p.Code != test.code || !strings.Contains(p.Detail, test.want) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := r.refused(send("?session=ses_1", protocol.MimeWasm, strings.Repeat("x", protocol.MaxPlugin+1), r.admin)); p.Code != protocol.TooLarge || !strings.Contains(p.Detail, "25165824") {
		t.Errorf("too large: %+v", p)
	}
	if diff := cmp.Diff(asked, r.Rehearsed()); diff != "" {
		t.Errorf("a bad request came through: %s", diff)
	}
}
