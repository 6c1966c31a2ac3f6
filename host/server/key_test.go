package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

// TestTokenKey: a key makes one token, whatever comes after it, and each actor has
// keys of its own.
func TestTokenKey(t *testing.T) {
	t.Parallel()
	kv := servertest.NewKV()
	request := protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead}}
	ann := server.Caller{Actor: "token:ann", Key: "k"}
	made, err := newTokenStore(kv).Create(t.Context(), ann, request)
	if err != nil {
		t.Fatal(err)
	}
	again := newTokenStore(kv) // as after a restart
	if _, err := again.Create(t.Context(), ann, request); protocol.AsError(err).Code != protocol.Conflict || !strings.Contains(err.Error(), made.ID) {
		t.Errorf("a retry: %v", err)
	}
	for _, caller := range []server.Caller{{Actor: "token:bob", Key: "k"}, {Actor: "token:ann", Key: "l"}, {Actor: "token:ann"}, {Actor: "token:ann"}} {
		other, err := again.Create(t.Context(), caller, request)
		if err != nil || other.ID == made.ID {
			t.Errorf("%+v: %+v, %v", caller, other, err)
		}
	}
	if err := again.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := again.List(t.Context()); err != nil || len(list.Tokens) != 4 {
		t.Errorf("list: %+v, %v", list, err)
	}
}

func TestKeyIsBounded(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	long := strings.Repeat("k", protocol.MaxKey+1)
	for key, want := range map[string]protocol.Code{long[1:]: "", long: protocol.BadRequest} {
		for _, path := range []string{"/v1/sessions", "/v1/tokens", "/v1/sessions/" + session + "/interrupt"} {
			body := map[string]string{"/v1/sessions": "{}", "/v1/tokens": `{"scopes":["admin"]}`}[path]
			_, _, answer := r.do(call{method: "POST", path: path, body: body, token: r.admin, header: map[string]string{"Idempotency-Key": key}})
			var p struct{ Code protocol.Code }
			if err := json.Unmarshal(answer, &p); err != nil || p.Code != want {
				t.Errorf("a key of %d bytes on %s: %s", len(key), path, answer)
			}
		}
		p := r.live()
		p.send(`{"t":"req","id":"r","method":"session.get","key":"` + key + `","params":{"sessionID":"` + session + `"}}`)
		switch frame := p.next().(type) {
		case *protocol.Res:
			if !frame.OK || want != "" {
				t.Errorf("a key of %d bytes: %+v", len(key), frame)
			}
		case *protocol.ErrFrame:
			if frame.Error.Code != want || frame.Of != "r" || !strings.Contains(frame.Error.Message, "128") {
				t.Errorf("a key of %d bytes: %+v", len(key), frame.Error)
			}
		}
	}
}
