package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func TestDial(t *testing.T) {
	t.Parallel()
	h := start(t)
	ctx := t.Context()
	for name, options := range map[string]client.Options{
		"socket": {Address: "unix:" + h.socket}, "http": {Address: h.url, Token: h.admin}, "slash": {Address: h.url + "/", Token: h.admin},
	} {
		c, err := client.Dial(ctx, options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := c.Tokens(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
	for name, test := range map[string]struct {
		options client.Options
		want    string
	}{
		"no server":   {client.Options{Address: "unix:" + filepath.Join(t.TempDir(), "none")}, "unavailable"},
		"not a URL":   {client.Options{Address: "localhost:4747"}, "write it as"},
		"a path":      {client.Options{Address: "http://localhost/v1"}, "write it as"},
		"a user":      {client.Options{Address: "http://me:secret@localhost"}, "write it as"},
		"empty":       {client.Options{}, "write it as"},
		"plain token": {client.Options{Address: "http://box.example:4747", Token: "x"}, "readable"},
	} {
		_, err := client.Dial(ctx, test.options)
		var wire *protocol.Error
		if !errors.As(err, &wire) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	if _, err := client.Dial(ctx, client.Options{Address: stranger.URL}); err == nil || !strings.Contains(err.Error(), "not from a Plinth host") {
		t.Errorf("another server: %v", err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: "unix:" + h.socket})
	ctx := t.Context()
	session, err := c.CreateSession(ctx, protocol.CreateSession{Title: "T"})
	if err != nil || session.Title != "T" {
		t.Fatalf("create: %+v, %v", session, err)
	}
	if got, err := c.Session(ctx, session.ID); err != nil || got.ID != session.ID {
		t.Errorf("get: %+v, %v", got, err)
	}
	if list, err := c.Sessions(ctx, protocol.ListSessions{Limit: 1, Text: "T"}); err != nil || len(list.Sessions) != 1 {
		t.Errorf("list: %+v, %v", list, err)
	}
	receipt, err := c.Prompt(ctx, session.ID, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "hi"}})
	if err != nil || !strings.HasPrefix(receipt.ID, "msg_") {
		t.Errorf("prompt: %+v, %v", receipt, err)
	}
	waited := c.NewMessageID()
	h.Settle(session.ID, waited, protocol.PromptResult{Text: "answer"})
	answer, err := c.PromptAndWait(ctx, session.ID, protocol.Prompt{ID: waited, PromptBody: protocol.PromptBody{Text: "hi"}})
	if err != nil || answer.Result == nil || answer.Result.Text != "answer" {
		t.Errorf("prompt and wait: %+v, %v", answer, err)
	}
	if inbox, err := c.Inbox(ctx, session.ID); err != nil || len(inbox.Pending) != 2 {
		t.Errorf("inbox: %+v, %v", inbox, err)
	}
	if _, err := c.Interrupt(ctx, session.ID); err != nil {
		t.Errorf("interrupt: %v", err)
	}
	h.Settle(session.ID, "resume", protocol.PromptResult{})
	if _, err := c.Resume(ctx, session.ID); err != nil {
		t.Errorf("resume: %v", err)
	}
	after := int64(3)
	if list, err := c.Messages(ctx, session.ID, protocol.ListMessages{After: &after, Limit: 5}); err != nil || len(list.Messages) != 0 {
		t.Errorf("messages: %+v, %v", list, err)
	}
	page, err := c.Events(ctx, session.ID, receipt.Cursor, 2)
	if err != nil || len(page.Events) != 2 || page.Events[0].Seq != 2 {
		t.Errorf("events: %+v, %v", page, err)
	}
	ask := h.Ask(session.ID)
	if list, err := c.Permissions(ctx, session.ID); err != nil || len(list.Permissions) != 1 {
		t.Errorf("permissions: %+v, %v", list, err)
	}
	if _, err := c.Reply(ctx, ask, protocol.PermissionReply{Reply: protocol.AnswerOnce}); err != nil {
		t.Errorf("reply: %v", err)
	}
	if _, err := c.Reply(ctx, ask, protocol.PermissionReply{Reply: protocol.AnswerOnce}); !errors.Is(err, &protocol.Error{Code: protocol.AlreadyResolved}) {
		t.Errorf("second reply: %v", err)
	}
	h.Offer(protocol.Model{ID: "p/a", Provider: "p", Model: "a"})
	h.Offer(protocol.Model{ID: "q/b", Provider: "q", Model: "b"})
	if list, err := c.Models(ctx, protocol.ListModels{Provider: "q", Refresh: true}); err != nil || len(list.Models) != 1 || list.Models[0].ID != "q/b" || len(list.Warnings) != 1 {
		t.Errorf("models: %+v, %v", list, err)
	}
	question, dismissed := h.Question(session.ID), h.Question(session.ID)
	if list, err := c.Questions(ctx, session.ID); err != nil || len(list.Questions) != 2 {
		t.Errorf("questions: %+v, %v", list, err)
	}
	if receipt, err := c.Answer(ctx, question, protocol.QuestionAnswer{Answers: [][]string{{"this"}}}); err != nil || receipt.Dismissed {
		t.Errorf("answer: %+v, %v", receipt, err)
	}
	if receipt, err := c.Dismiss(ctx, dismissed); err != nil || !receipt.Dismissed {
		t.Errorf("dismiss: %+v, %v", receipt, err)
	}
	approval := h.Approve("/p", "bash", "ls")
	if list, err := c.Approvals(ctx, "/p"); err != nil || len(list.Approvals) != 1 || list.Approvals[0].ID != approval {
		t.Errorf("approvals: %+v, %v", list, err)
	}
	if err := c.RemoveApproval(ctx, approval); err != nil {
		t.Errorf("remove approval: %v", err)
	}
	h.SetTodos(session.ID, protocol.Todo{ID: "1", Content: "write", Status: "pending"})
	if list, err := c.Todos(ctx, session.ID); err != nil || len(list.Todos) != 1 {
		t.Errorf("todos: %+v, %v", list, err)
	}
	token, err := c.CreateToken(ctx, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead}})
	if err != nil || token.Secret == "" {
		t.Errorf("create token: %+v, %v", token, err)
	}
	if err := c.RevokeToken(ctx, token.ID); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if err := c.Ready(ctx); err != nil {
		t.Errorf("ready: %v", err)
	}
	if _, err := c.Session(ctx, "a/../b"); !errors.Is(err, &protocol.Error{Code: protocol.NotFound}) {
		t.Errorf("an id with slashes: %v", err)
	}
}

// TestRetryHasOneEffect: an answer that is lost is asked for again under the same
// key, or the same id where what is made has one.
func TestRetryHasOneEffect(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	keys, bodies := make(chan string, 8), make(chan string, 8)
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			w.Write([]byte(`{}`))
			return
		}
		keys <- r.Header.Get("Idempotency-Key")
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		switch tries.Add(1) {
		case 1:
			panic(http.ErrAbortHandler) // the connection breaks
		case 2:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write([]byte(`{"code":"busy","status":503,"retryable":true}`))
		default:
			w.Write([]byte(`{"id":"ses_1"}`))
		}
	}))
	defer failing.Close()
	c := dial(t, client.Options{Address: failing.URL})
	if _, err := c.Interrupt(t.Context(), "ses_1"); err != nil {
		t.Fatal(err)
	}
	first, second, third := <-keys, <-keys, <-keys
	if first == "" || first != second || second != third {
		t.Errorf("keys %q, %q, %q", first, second, third)
	}
	for range 3 {
		<-bodies
	}
	for id, send := range map[string]func() error{
		`"id":"msg_`: func() error {
			_, err := c.Prompt(t.Context(), "ses_1", protocol.Prompt{PromptBody: protocol.PromptBody{Text: "x"}})
			return err
		},
		`"id":"ses_`: func() error {
			_, err := c.CreateSession(t.Context(), protocol.CreateSession{})
			return err
		},
	} {
		tries.Store(0)
		if err := send(); err != nil {
			t.Fatal(err)
		}
		if a, b, last := <-bodies, <-bodies, <-bodies; a != b || b != last || !strings.Contains(a, id) {
			t.Errorf("bodies %s, %s, %s", a, b, last)
		}
		for range 3 {
			<-keys
		}
	}
}

func TestNoRetryOfWhatIsFinal(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: h.url, Token: "plinth_no_no"})
	_, err := c.Sessions(t.Context(), protocol.ListSessions{})
	var wire *protocol.Error
	if !errors.As(err, &wire) || wire.Code != protocol.Unauthenticated || wire.Retryable {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Sessions(ctx, protocol.ListSessions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	var ids client.IDs
	var made []string
	for range 70_000 { // more than the counter holds within a millisecond
		made = append(made, ids.Message())
	}
	for _, id := range made {
		if len(id) != 34 || !strings.HasPrefix(id, "msg_") {
			t.Fatalf("id %q", id)
		}
	}
	if !slices.IsSortedFunc(made, func(a, b string) int { return strings.Compare(a[:20], b[:20]) }) {
		t.Error("the ids do not ascend")
	}
}
