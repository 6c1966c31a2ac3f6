package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	r := start(t)
	body := `{"id":"ses_a","title":"A <b>","location":{"directory":"/p"}}`
	status, _, _ := r.do(call{method: "POST", path: "/v1/sessions", body: body, token: r.admin})
	if status != http.StatusCreated {
		t.Errorf("create answered %d", status)
	}
	status, _, answer := r.do(call{method: "POST", path: "/v1/sessions", body: `{"id":"ses_a","title":"other"}`, token: r.admin})
	if status != http.StatusOK || !strings.Contains(string(answer), `"title":"A <b>"`) {
		t.Errorf("create again answered %d %s", status, answer)
	}
	for range 3 {
		get[protocol.Session](r, call{method: "POST", path: "/v1/sessions", body: `{}`})
	}
	first := get[protocol.SessionList](r, call{method: "GET", path: "/v1/sessions?limit=3"})
	second := get[protocol.SessionList](r, call{method: "GET", path: "/v1/sessions?limit=3&cursor=" + first.Next})
	if len(first.Sessions) != 3 || first.Next == "" || len(second.Sessions) != 1 || second.Next != "" || second.Sessions[0].ID != "ses_a" {
		t.Errorf("pages: %+v, %+v", first, second)
	}
	empty := get[map[string]any](r, call{method: "GET", path: "/v1/sessions?text=nothing"})
	diff(t, "an empty list", map[string]any{"sessions": []any{}}, empty)
	session := get[protocol.Session](r, call{method: "GET", path: "/v1/sessions/ses_a"})
	diff(t, "cursor", r.Head("ses_a"), session.Cursor)
	if p := r.refused(call{method: "GET", path: "/v1/sessions/ses_none"}); p.Code != protocol.NotFound {
		t.Errorf("unknown session: %+v", p)
	}
	r.Delete("ses_a")
	if p := r.refused(call{method: "GET", path: "/v1/sessions/ses_a"}); p.Code != protocol.Gone {
		t.Errorf("deleted session: %+v", p)
	}
	for _, limit := range []string{"0", "201", "-1", "x"} {
		if p := r.refused(call{method: "GET", path: "/v1/sessions?limit=" + limit}); p.Code != protocol.BadRequest || !strings.Contains(p.Detail, "limit") {
			t.Errorf("limit %s: %+v", limit, p)
		}
	}
}

func TestCallerReachesTheBackend(t *testing.T) {
	t.Parallel()
	r := start(t)
	trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for header, want := range map[string]string{trace: trace, strings.ToUpper(trace): "", "nonsense": "", "": ""} {
		session := get[protocol.Session](r, call{method: "POST", path: "/v1/sessions", body: `{}`,
			header: map[string]string{"Idempotency-Key": "k1", "traceparent": header}})
		event := r.Events(session.ID)[0]
		var data map[string]string
		if err := json.Unmarshal(event.Data, &data); err != nil {
			t.Fatal(err)
		}
		diff(t, "event of "+header, map[string]string{"title": "", "key": "k1", "trace": want}, data)
		if !strings.HasPrefix(event.Actor, "token:tok_") {
			t.Errorf("actor %q", event.Actor)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	path := "/v1/sessions/" + session + "/prompts"
	body := `{"id":"msg_1","text":"hello","delivery":"queue"}`
	status, _, first := r.do(call{method: "POST", path: path, body: body, token: r.admin})
	_, _, again := r.do(call{method: "POST", path: path, body: body, token: r.admin})
	if status != http.StatusAccepted || string(first) != string(again) {
		t.Errorf("a retry answered %s after %d %s", again, status, first)
	}
	var receipt map[string]any
	if err := json.Unmarshal(first, &receipt); err != nil {
		t.Fatal(err)
	}
	delete(receipt, "time")
	diff(t, "receipt", map[string]any{
		"id": "msg_1", "sessionID": session, "delivery": "queue", "admittedSeq": 1.0,
		"prompt": map[string]any{"text": "hello"}, "cursor": r.Head(session),
	}, receipt)
	if p := r.refused(call{method: "POST", path: path, body: `{"id":"msg_1","text":"other","delivery":"queue"}`}); p.Code != protocol.Conflict {
		t.Errorf("another prompt under the id: %+v", p)
	}
	byKey := get[protocol.Receipt](r, call{method: "POST", path: path, body: `{"text":"x"}`, header: map[string]string{"Idempotency-Key": "msg_2"}})
	if byKey.ID != "msg_2" {
		t.Errorf("a key that is a message id made %q", byKey.ID)
	}
	inbox := get[protocol.Inbox](r, call{method: "GET", path: "/v1/sessions/" + session + "/inbox"})
	if len(inbox.Pending) != 2 || inbox.Cursor != r.Head(session) {
		t.Errorf("inbox: %+v", inbox)
	}
}

func TestPromptWaits(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	r.Settle(session, "msg_1", protocol.PromptResult{Outcome: protocol.OutcomeCompleted, Text: "done"})
	answer := get[protocol.PromptAnswer](r, call{
		method: "POST", path: "/v1/sessions/" + session + "/prompts?wait=settled", body: `{"id":"msg_1","text":"hello"}`,
	})
	if answer.ID != "msg_1" || answer.Result == nil || answer.Result.Text != "done" {
		t.Errorf("answer: %+v", answer)
	}
}

func TestCommandsAndPermissions(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	receipt := get[protocol.CommandReceipt](r, call{method: "POST", path: "/v1/sessions/" + session + "/interrupt"})
	if receipt.Seq == nil || *receipt.Seq != 1 || receipt.Cursor != r.Head(session) {
		t.Errorf("interrupt: %+v", receipt)
	}
	r.Settle(session, "resume", protocol.PromptResult{})
	get[protocol.CommandReceipt](r, call{method: "POST", path: "/v1/sessions/" + session + "/resume"})
	ask, other := r.Ask(session), r.Ask(r.Session())
	list := get[protocol.PermissionList](r, call{method: "GET", path: "/v1/permissions?session=" + session})
	all := get[protocol.PermissionList](r, call{method: "GET", path: "/v1/permissions"})
	if len(list.Permissions) != 1 || list.Permissions[0].ID != ask || len(all.Permissions) != 2 {
		t.Errorf("permissions: %+v, all %+v", list, all)
	}
	reply := "/v1/permissions/" + ask + "/reply"
	if p := r.refused(call{method: "POST", path: reply, body: `{"reply":"yes"}`}); p.Code != protocol.BadRequest {
		t.Errorf("another reply: %+v", p)
	}
	get[protocol.PermissionReceipt](r, call{method: "POST", path: reply, body: `{"reply":"always"}`})
	if p := r.refused(call{method: "POST", path: reply, body: `{"reply":"reject"}`}); p.Code != protocol.AlreadyResolved {
		t.Errorf("second reply: %+v", p)
	}
	if p := r.refused(call{method: "POST", path: "/v1/permissions/per_none/reply", body: `{"reply":"once"}`}); p.Code != protocol.NotFound {
		t.Errorf("unknown permission: %+v", p)
	}
	get[protocol.PermissionReceipt](r, call{method: "POST", path: "/v1/permissions/" + other + "/reply", body: `{"reply":"reject","message":"no"}`})
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	question, other := r.Question(session), r.Question(r.Session())
	list := get[protocol.QuestionList](r, call{method: "GET", path: "/v1/questions?session=" + session})
	all := get[protocol.QuestionList](r, call{method: "GET", path: "/v1/questions"})
	if len(list.Questions) != 1 || list.Questions[0].ID != question || len(list.Questions[0].Questions[0].Options) != 2 || len(all.Questions) != 2 {
		t.Errorf("questions: %+v, all %+v", list, all)
	}
	if p := r.refused(call{method: "POST", path: "/v1/questions/" + question + "/answer", body: `{}`}); p.Code != protocol.BadRequest {
		t.Errorf("no answers: %+v", p)
	}
	receipt := get[protocol.QuestionReceipt](r, call{method: "POST", path: "/v1/questions/" + question + "/answer", body: `{"answers":[["this"]]}`})
	if receipt.ID != question || receipt.SessionID != session || receipt.Dismissed || receipt.Cursor != r.Head(session) {
		t.Errorf("receipt: %+v", receipt)
	}
	if p := r.refused(call{method: "POST", path: "/v1/questions/" + question + "/dismiss"}); p.Code != protocol.AlreadyResolved {
		t.Errorf("dismissed after the answer: %+v", p)
	}
	if receipt := get[protocol.QuestionReceipt](r, call{method: "POST", path: "/v1/questions/" + other + "/dismiss"}); !receipt.Dismissed {
		t.Errorf("dismissed: %+v", receipt)
	}
	if p := r.refused(call{method: "POST", path: "/v1/questions/que_none/dismiss"}); p.Code != protocol.NotFound {
		t.Errorf("unknown question: %+v", p)
	}
	if list := get[protocol.QuestionList](r, call{method: "GET", path: "/v1/questions"}); list.Questions == nil || len(list.Questions) != 0 {
		t.Errorf("none are left: %+v", list)
	}
}

func TestApprovalsAndTodos(t *testing.T) {
	t.Parallel()
	r := start(t)
	id := r.Approve("/p", "bash", "ls")
	r.Approve("/q", "bash", "ls")
	list := get[protocol.ApprovalList](r, call{method: "GET", path: "/v1/approvals?root=/p"})
	if len(list.Approvals) != 1 || list.Approvals[0].ID != id || list.Approvals[0].Resource != "ls" {
		t.Errorf("approvals: %+v", list)
	}
	if status, _, body := r.do(call{method: "DELETE", path: "/v1/approvals/" + id, token: r.token(protocol.ScopeApprove)}); status != 204 {
		t.Errorf("remove: %d %s", status, body)
	}
	if p := r.refused(call{method: "DELETE", path: "/v1/approvals/" + id}); p.Code != protocol.NotFound {
		t.Errorf("removed twice: %+v", p)
	}
	if list := get[protocol.ApprovalList](r, call{method: "GET", path: "/v1/approvals?root=/p"}); list.Approvals == nil || len(list.Approvals) != 0 {
		t.Errorf("none is left: %+v", list)
	}
	session := r.Session()
	if list := get[protocol.TodoList](r, call{method: "GET", path: "/v1/sessions/" + session + "/todos"}); list.Todos == nil || len(list.Todos) != 0 {
		t.Errorf("no list yet: %+v", list)
	}
	r.SetTodos(session, protocol.Todo{ID: "1", Content: "write", Status: "pending"})
	if list := get[protocol.TodoList](r, call{method: "GET", path: "/v1/sessions/" + session + "/todos"}); len(list.Todos) != 1 || list.Cursor != r.Head(session) {
		t.Errorf("todos: %+v", list)
	}
	if p := r.refused(call{method: "GET", path: "/v1/sessions/ses_none/todos"}); p.Code != protocol.NotFound {
		t.Errorf("unknown session: %+v", p)
	}
}

func TestInternalErrorsStayInside(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	r.Fail(servertest.ErrSecret())
	for _, c := range []call{
		{method: "POST", path: "/v1/sessions", body: "{}"}, {method: "GET", path: "/v1/sessions/" + session + "/events"}, {method: "GET", path: "/readyz"},
	} {
		if p := r.refused(c); p.Code != protocol.Internal || strings.Contains(p.Detail, "hunter2") {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
}

func TestUnknownRoute(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, c := range []call{{method: "GET", path: "/"}, {method: "GET", path: "/v1/nothing"}, {method: "PUT", path: "/v1/sessions"}, {method: "GET", path: "/v1/" + strings.Repeat("x", 1000)}} {
		if p := r.refused(c); p.Code != protocol.NotFound || len(p.Detail) > 200 {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	r := start(t)
	spec := get[struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			RequestBody struct{ Content map[string]any }
			Responses   map[string]struct{ Content map[string]any }
		}
		Components struct{ Schemas map[string]any }
	}](r, call{method: "GET", path: "/v1/openapi.json"})
	if spec.OpenAPI != "3.1.0" {
		t.Errorf("version %q", spec.OpenAPI)
	}
	operations := 0
	for path, methods := range spec.Paths {
		for method, operation := range methods {
			operations++
			if operation.OperationID == "" || operation.Responses["default"].Content["application/problem+json"] == nil {
				t.Errorf("%s %s: %+v", method, path, operation)
			}
		}
	}
	if operations != 62 {
		t.Errorf("%d operations are described, want 62", operations)
	}
	if spec.Components.Schemas["ErrorModel"] != nil || spec.Components.Schemas["Problem"] == nil {
		t.Errorf("schemas: %v", spec.Components.Schemas)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(protocol.BlobTypes())), slices.Sorted(maps.Keys(spec.Paths["/v1/blobs"]["post"].RequestBody.Content))); diff != "" {
		t.Errorf("a blob may be %s", diff)
	}
	events := spec.Paths["/v1/sessions/{id}/events"]["get"].Responses["200"].Content
	if len(events) != 3 {
		t.Errorf("events answers %v", events)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, body := range []string{
		`{"scopes":[]}`, `{"scopes":["root"]}`, `{"scopes":["admin"],"lifetimeSeconds":-1}`, `{"scopes":["admin"],"lifetimeSeconds":4000000000}`,
		`{"scopes":["admin"],"name":"` + strings.Repeat("x", 201) + `"}`,
	} {
		if p := r.refused(call{method: "POST", path: "/v1/tokens", body: body}); p.Code != protocol.BadRequest {
			t.Errorf("%.60s: %+v", body, p)
		}
	}
	created := get[protocol.CreatedToken](r, call{method: "POST", path: "/v1/tokens", body: `{"name":"ci","scopes":["session:read","session:read"],"lifetimeSeconds":60}`})
	diff(t, "scopes", []protocol.Scope{protocol.ScopeRead}, created.Scopes)
	list := get[protocol.TokenList](r, call{method: "GET", path: "/v1/tokens"})
	if len(list.Tokens) != 2 || !slices.ContainsFunc(list.Tokens, func(one protocol.Token) bool { return one.ID == created.ID }) {
		t.Errorf("list: %+v", list)
	}
	if status, _, _ := r.do(call{method: "DELETE", path: "/v1/tokens/" + created.ID, token: r.admin}); status != http.StatusNoContent {
		t.Errorf("revoke answered %d", status)
	}
	if p := r.problem(call{method: "GET", path: "/v1/sessions", token: created.Secret}); p.Code != protocol.Unauthenticated {
		t.Errorf("with a revoked token: %+v", p)
	}
	if p := r.refused(call{method: "DELETE", path: "/v1/tokens/" + created.ID}); p.Code != protocol.NotFound {
		t.Errorf("revoke again: %+v", p)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	r := start(t)
	diff(t, "an empty list", map[string]any{"agents": []any{}, "default": ""}, get[map[string]any](r, call{method: "GET", path: "/v1/agents"}))
	list := protocol.AgentList{Default: "build", Agents: []protocol.Agent{{Name: "build", Mode: protocol.AgentPrimary},
		{Name: "explore", Description: "Finds things", Mode: protocol.AgentSubagent, Model: &protocol.ModelRef{Provider: "p", Model: "m"}, Steps: 3}}}
	r.OfferAgents(list)
	diff(t, "agents", list, get[protocol.AgentList](r, call{method: "GET", path: "/v1/agents"}))
}

func TestModels(t *testing.T) {
	t.Parallel()
	r := start(t)
	diff(t, "an empty list", map[string]any{"models": []any{}}, get[map[string]any](r, call{method: "GET", path: "/v1/models"}))
	known := protocol.Model{ID: "p/a", Provider: "p", Model: "a", Context: 8192, Capabilities: []string{}, Sources: []protocol.ModelSource{protocol.ModelBuiltin},
		Price: &protocol.ModelPrice{Input: "0.075", Output: "1", CacheRead: "0", CacheWrite: "0", Tiers: []protocol.PriceTier{{Above: 1, Input: "2"}}}}
	unknown := protocol.Model{ID: "q/b", Provider: "q", Model: "b", Sources: []protocol.ModelSource{}}
	r.Offer(known)
	r.Offer(unknown)
	diff(t, "all", protocol.ModelList{Models: []protocol.Model{known, unknown}}, get[protocol.ModelList](r, call{method: "GET", path: "/v1/models"}))
	diff(t, "of one provider, asked again", protocol.ModelList{Models: []protocol.Model{unknown}, Warnings: []string{"nobody was asked"}},
		get[protocol.ModelList](r, call{method: "GET", path: "/v1/models?provider=q&refresh=true"}))
	if p := r.refused(call{method: "GET", path: "/v1/models?refresh=perhaps"}); p.Code != protocol.BadRequest {
		t.Errorf("refresh=perhaps: %+v", p)
	}
	if p := r.problem(call{method: "GET", path: "/v1/models", token: r.token(protocol.ScopeApprove)}); p.Code != protocol.Forbidden {
		t.Errorf("without the scope: %+v", p)
	}
}

func TestTokenStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kv := servertest.NewKV()
		tokens := newTokenStore(kv)
		ctx := t.Context()
		created, err := tokens.Create(ctx, server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeWrite}, LifetimeSeconds: 10})
		if err != nil {
			t.Fatal(err)
		}
		if secret := created.Secret[strings.LastIndex(created.Secret, "_")+1:]; strings.Contains(kv.Dump(), secret) {
			t.Error("the secret is stored")
		}
		p, err := tokens.Verify(ctx, created.Secret)
		if err != nil || p.Actor != "token:"+created.ID || !p.Expires.Equal(*created.Expires) {
			t.Errorf("Verify: %+v, %v", p, err)
		}
		time.Sleep(10 * time.Second) // the bubble's time
		if _, err := tokens.Verify(ctx, created.Secret); protocol.AsError(err).Code != protocol.Unauthenticated {
			t.Errorf("after its life: %v", err)
		}
		told := 0
		stop, err := tokens.Watch(ctx, created.ID, func() { told++ })
		if err != nil {
			t.Fatal(err)
		}
		if err := tokens.Revoke(ctx, created.ID); err != nil || told != 1 {
			t.Errorf("Revoke: %v, told %d times", err, told)
		}
		stop()
		stop()
		if _, err := tokens.Watch(ctx, created.ID, func() {}); protocol.AsError(err).Code != protocol.Unauthenticated {
			t.Errorf("Watch of a revoked token: %v", err)
		}
	})
}
