package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// turned is a request that is turned away.
type turned struct {
	name string
	code protocol.Code
	text string
	// request readies the host and answers what to send.
	request func(r *rig) request
	// args are the same request as a command line, exit and note how that ends; the note
	// is the text with the code when it is empty.
	args func(r *rig) []string
	exit int
	note string
	logs string // what the host logs of it
}

// none is a session that there is not.
const none = "ses_0123456789abcdefAAAAAAAAAAAAAA"

func turnedAway() []turned {
	post := func(path, body string) func(*rig) request {
		return func(*rig) request { return request{path: path, body: body} }
	}
	return []turned{
		{
			name: "field", code: protocol.BadRequest, text: "prompt.text is empty", exit: exitUsage,
			request: func(r *rig) request {
				return request{path: "/v1/sessions/" + r.session() + "/prompts", body: `{"text":""}`}
			},
			args: func(r *rig) []string { return []string{"run", "--session", r.session(), ""} },
		},
		{
			name: "agent", code: protocol.BadRequest, text: `agent is "nobody", which is none; choose one of build, plan`, exit: exitUsage,
			request: post("/v1/sessions", `{"agent":"nobody"}`),
			args:    func(*rig) []string { return []string{"run", "--agent", "nobody", "hello"} },
		},
		{
			name: "model of a new session", code: protocol.BadRequest, exit: exitUsage,
			text:    `model: there is no provider "nobody"; known are local, offline; add a table [providers.nobody]`,
			request: post("/v1/sessions", `{"model":{"provider":"nobody","model":"x"}}`),
			args:    func(*rig) []string { return []string{"run", "--model", "nobody/x", "hello"} },
		},
		{
			name: "model of a prompt", code: protocol.BadRequest, exit: exitUsage,
			text: `prompt.model: the provider "local" has no model "y" to choose; there are x; add it to models in [providers.local]`,
			request: func(r *rig) request {
				return request{path: "/v1/sessions/" + r.session() + "/prompts", body: `{"text":"hello","model":{"provider":"local","model":"y"}}`}
			},
			args: func(r *rig) []string { return []string{"run", "--session", r.session(), "--model", "local/y", "hello"} },
		},
		{
			name: "variant of a prompt", code: protocol.BadRequest, exit: exitUsage,
			text: `prompt.variant: the model offline/rules has no variant "high"; it has none, add a table [models."offline/rules".variants.high]`,
			request: func(r *rig) request {
				return request{path: "/v1/sessions/" + r.session() + "/prompts", body: `{"text":"hello","variant":"high"}`}
			},
			args: func(*rig) []string { return []string{"run", "--variant", "high", "hello"} },
		},
		{
			name: "model of a switch", code: protocol.BadRequest, exit: exitUsage,
			text: `model: the provider "offline" has no model "big" to choose; there are rules`,
			request: func(r *rig) request {
				return request{method: http.MethodPatch, path: "/v1/sessions/" + r.session(), body: `{"model":{"provider":"offline","model":"big"}}`}
			},
			args: func(r *rig) []string { return []string{"sessions", "switch", r.session(), "--model", "offline/big"} },
		},
		{
			name: "token", code: protocol.Unauthenticated, text: `send one header "Authorization: Bearer TOKEN"`, exit: exitFailed,
			note:    "plinth: unauthenticated: send one header \"Authorization: Bearer TOKEN\"; set PLINTH_TOKEN to a token that plinth token create made on that host",
			request: func(*rig) request { return request{method: http.MethodGet, path: "/v1/sessions", tcp: true} },
			args:    func(r *rig) []string { return []string{"sessions", "--server", "http://" + r.server.Addr().String()} },
		},
		{
			name: "scope", code: protocol.Forbidden, text: "this needs a token with the scope session:write",
			request: func(r *rig) request {
				token := got[protocol.CreatedToken](r, request{path: "/v1/tokens", body: `{"scopes":["session:read"]}`})
				return request{path: "/v1/sessions", body: `{}`, tcp: true, token: token.Secret}
			},
		},
		{
			name: "session", code: protocol.NotFound, text: "session " + none + ": not found", exit: exitFailed,
			request: func(*rig) request { return request{method: http.MethodGet, path: "/v1/sessions/" + none} },
			args:    func(*rig) []string { return []string{"run", "--session", none, "hello"} },
		},
		{
			name: "deleted", code: protocol.Gone, exit: exitFailed, text: "the session was deleted, and its id cannot be used again; create another one",
			request: func(r *rig) request {
				return request{method: http.MethodGet, path: "/v1/sessions/" + r.deleted() + "/events"}
			},
			args: func(r *rig) []string { return []string{"events", r.deleted()} },
		},
		{
			name: "cursor", code: protocol.Gone, exit: exitFailed,
			text: "the cursor belongs to another log: the store was restored or replaced; read the session anew, or from the cursor in details.first",
			request: func(r *rig) request {
				return request{method: http.MethodGet, path: "/v1/sessions/" + r.session() + "/events?after=" + protocol.NewCursor(strings.Repeat("0", 32), 0, "").String()}
			},
		},
		{
			name: "id", code: protocol.Conflict, exit: exitFailed,
			text: "the id · stands for another prompt, or one with another delivery already; use a new id, or repeat the first request exactly",
			request: func(r *rig) request {
				id := r.held()
				return request{path: "/v1/sessions/" + r.sessionOfPrompt(id) + "/prompts", body: `{"id":"` + id + `","text":"other"}`}
			},
			args: func(r *rig) []string {
				id := r.held()
				return []string{"run", "--session", r.sessionOfPrompt(id), "--id", id, "other"}
			},
		},
		{
			name: "answered", code: protocol.AlreadyResolved, text: "question ·: already answered; the first answer counts", exit: exitFailed,
			request: func(r *rig) request {
				return request{path: "/v1/questions/" + r.answeredQuestion() + "/answer", body: `{"answers":[["Red"]]}`}
			},
			args: func(r *rig) []string { return []string{"answer", r.answeredQuestion(), "1"} },
		},
		{
			name: "body", code: protocol.TooLarge, text: "the body is larger than 1048576 bytes, the limit; send less",
			request: func(r *rig) request {
				return request{path: "/v1/sessions/" + r.session() + "/prompts", body: `{"text":"` + strings.Repeat("x", protocol.MaxFrame) + `"}`}
			},
		},
		{
			name: "inbox", code: protocol.Busy, exit: exitFailed,
			text: "1 prompts wait in this session, the limit; wait until it has taken some, or cancel some",
			request: func(r *rig) request {
				return request{path: "/v1/sessions/" + r.sessionOfPrompt(r.held()) + "/prompts", body: `{"text":"count 2"}`}
			},
			args: func(r *rig) []string { return []string{"run", "--session", r.sessionOfPrompt(r.held()), "count 2"} },
		},
		{
			name: "stored bytes", code: protocol.Internal, text: "the host failed; its log says why, under ·", exit: exitFailed,
			logs: "error=\"·: the stored message · cannot be read: unexpected end of JSON input",
			request: func(r *rig) request {
				id := r.session()
				r.settled(id, "count 1")
				if err := r.corrupt(id); err != nil {
					r.t.Fatal(err)
				}
				return request{method: http.MethodGet, path: "/v1/sessions/" + id + "/messages"}
			},
		},
		{
			name: "closed store", code: protocol.Unavailable, text: "the host is shutting down; send it again when one is back", exit: exitUnreachable,
			request: func(r *rig) request {
				if err := r.store.Close(); err != nil {
					r.t.Fatal(err)
				}
				return request{path: "/v1/sessions", body: `{}`}
			},
			args: func(*rig) []string { return []string{"run", "hello"} },
		},
	}
}

// notSent are the codes that nothing answers yet: conditions and rates come with later
// work, and one host owns every session.
var notSent = []protocol.Code{protocol.PreconditionFailed, protocol.RateLimited, protocol.QuotaExceeded, protocol.NotOwner}

// TestRequestsTurnedAway: the status, the code and the exact text, over HTTP and at the
// terminal. The text names the thing and says what to do.
func TestRequestsTurnedAway(t *testing.T) {
	for _, c := range turnedAway() {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.listen = "127.0.0.1:0"
			r.configure("model = \"offline/rules\"\n[runner]\nmax_pending = 1\n[providers.local]\nplugin = \"core/openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"x\"]\n")
			r.restart()
			p := r.problem(c.request(r))
			if text := r.same(p.Detail); p.Code != c.code || p.Status != c.code.Status() || p.Retryable != c.code.Retryable() || text != r.same(c.text) {
				t.Errorf("HTTP answers %d %s\n%s\nwant %d %s\n%s", p.Status, p.Code, text, c.code.Status(), c.code, r.same(c.text))
			}
			if log := r.same(r.log.String()); !strings.Contains(log, c.logs) || (c.logs == "") == strings.Contains(log, "request failed") {
				t.Errorf("the host logs\n%s", log)
			}
			if reference, ok := p.Details["reference"].(string); ok != (c.code == protocol.Internal) || ok && !strings.Contains(r.log.String(), reference) {
				t.Errorf("the reference is %q", reference)
			}
			if c.args == nil {
				return
			}
			_, notes, exit := r.terminal(c.args(r)...)
			if c.note == "" {
				c.note = fmt.Sprintf("plinth: %s: %s", c.code, r.same(c.text))
			}
			if note := r.same(lastNote(notes)); note != c.note || exit != c.exit {
				t.Errorf("the command ends with %d, want %d\n%s\nwant\n%s", exit, c.exit, note, c.note)
			}
		})
	}
}

// TestRetriesOutliveTheModel: what was admitted is answered again, exactly as it was
// asked, also when its model may not be used any more.
func TestRetriesOutliveTheModel(t *testing.T) {
	r := newRig(t)
	r.configure("[providers.local]\nplugin = \"core/openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n")
	r.restart()
	local := &protocol.ModelRef{Provider: "local", Model: "x"}
	caller, hold := server.Caller{Actor: "test", Key: "k"}, false
	create := protocol.CreateSession{Model: local}
	made, _, err := sessionService{r.backend}.Create(r.within(), caller, create)
	if err != nil {
		t.Fatal(err)
	}
	prompt := protocol.Prompt{PromptBody: protocol.PromptBody{Text: "hello", Model: local}, Resume: &hold}
	admitted, err := promptService{r.backend}.Admit(r.within(), caller, made.ID, prompt)
	if err != nil {
		t.Fatal(err)
	}
	r.configure("")
	r.restart()
	again, created, err := sessionService{r.backend}.Create(r.within(), caller, create)
	if err != nil || created || again.ID != made.ID {
		t.Errorf("the session: %+v, %v", again, err)
	}
	if receipt, err := (promptService{r.backend}).Admit(r.within(), caller, made.ID, prompt); err != nil || receipt.ID != admitted.ID {
		t.Errorf("the prompt: %+v, %v", receipt, err)
	}
	if _, err := (controlService{r.backend}).Change(r.within(), server.Caller{Actor: "test"}, made.ID, protocol.ChangeSession{Model: local}); err != nil {
		t.Errorf("the model that it has: %v", err)
	}
	prompt.ID = r.encoder().IDs.New(session.PrefixMessage)
	if _, err := (promptService{r.backend}).Admit(r.within(), server.Caller{Actor: "test"}, made.ID, prompt); err == nil {
		t.Error("another prompt with that model is admitted")
	}
}

// deleted answers a session that was deleted.
func (r *rig) deleted() string {
	r.t.Helper()
	id := r.session()
	if err := r.store.Delete(r.within(), id); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// answeredQuestion answers a question that was answered.
func (r *rig) answeredQuestion() string {
	r.t.Helper()
	id := r.question(r.session())
	if _, err := r.permissions.Answer(r.within(), session.System(), id, [][]string{{"Green"}}); err != nil {
		r.t.Fatal(err)
	}
	return id
}
