package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/chat"
)

// refused is a provider that does something wrong, and what is told of it.
type refused struct {
	class  string
	text   string
	status int
	retry  bool // the same request may succeed later
	turn   chat.Turn
}

func refusals() []refused {
	answers := func(status int, body string) chat.Turn {
		return chat.Turn{Fault: chat.Fault{Status: status, Body: body}}
	}
	return []refused{
		{class: session.ProviderInvalidRequest, status: 400, turn: answers(400, `{"error":{"message":"temperature is above 2","code":"bad_value"}}`),
			text: "the provider answered HTTP 400: bad_value: temperature is above 2"},
		{class: session.ProviderContextOverflow, status: 400, turn: answers(400, `{"error":{"message":"This model's maximum context length is 8,192 tokens","code":"context_length_exceeded"}}`),
			text: "the provider answered HTTP 400: context_length_exceeded: This model's maximum context length is 8,192 tokens; " +
				"compact the session, switch to a model with a larger window, shorten the prompt, or go on in a new session"},
		{class: session.ProviderAuthentication, status: 401, turn: answers(401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`),
			text: "the provider answered HTTP 401: invalid_api_key: Incorrect API key provided"},
		{class: session.ProviderRateLimit, status: 429, retry: true, turn: answers(429, `{"error":{"message":"Rate limit reached; try again in 20 s"}}`),
			text: "the provider answered HTTP 429: Rate limit reached; try again in 20 s"},
		{class: session.ProviderQuota, status: 429, turn: answers(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`),
			text: "the provider answered HTTP 429: insufficient_quota: You exceeded your current quota"},
		{class: session.ProviderContentPolicy, status: 400, turn: answers(400, `{"error":{"message":"flagged by our content_policy"}}`),
			text: "the provider answered HTTP 400: flagged by our content_policy"},
		{class: session.ProviderOverloaded, status: 503, retry: true, turn: answers(503, `{"error":{"message":"The model is overloaded"}}`),
			text: "the provider answered HTTP 503: The model is overloaded"},
		{class: session.ProviderInternal, status: 500, retry: true, turn: answers(500, `{"error":{"message":"Internal error"}}`),
			text: "the provider answered HTTP 500: Internal error"},
		{class: session.ProviderTransport, retry: true, turn: chat.Turn{Text: "half of an answer", Fault: chat.Fault{Cut: true, CutAfter: 5}},
			text: "the connection to http://· broke off"},
		{class: session.ProviderIncomplete, retry: true, turn: chat.Turn{Text: "half", Fault: chat.Fault{NoFinish: true}},
			text: "The provider's answer ended without saying that it is complete"},
		{class: session.ProviderProtocol, turn: chat.Turn{Text: "half", Fault: chat.Fault{Garbage: "<html>", GarbageAfter: 2}},
			text: "The provider's plugin cannot handle this: the provider sent a frame that is no chunk of a chat completion: " +
				"malformed JSON at byte 0: expected an object, in <html>"},
		{class: session.ProviderUnknown, turn: chat.Turn{Text: "half", Fault: chat.Fault{Garbage: `{"error":"no model loaded"}`, GarbageAfter: 2}},
			text: "no model loaded"},
	}
}

// TestProviderClasses: what a provider does wrong has a class, and the provider's own
// words where it said any, at every door.
func TestProviderClasses(t *testing.T) {
	for _, c := range refusals() {
		t.Run(c.class, func(t *testing.T) {
			model, err := chat.Start(func(chat.Request) chat.Turn { return c.turn }, chat.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { model.Close() })
			r := newRig(t)
			r.configure(fmt.Sprintf("model = \"local/m\"\n[runner]\nretry_attempts = 0\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", model.URL))
			r.restart()
			failing{
				code: c.class, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "hello", text: c.text, step: c.class,
				session: func(r *rig) (string, string) { return r.session(), "" },
			}.check(r, c)
		})
	}
}

// check looks at both doors, and at what programs decide by.
func (f failing) check(r *rig, c refused) {
	r.t.Helper()
	f.overHTTP(r)
	f.atTheTerminal(r)
	list := got[protocol.SessionList](r, request{method: http.MethodGet, path: "/v1/sessions"})
	messages := got[protocol.MessageList](r, request{method: http.MethodGet, path: "/v1/sessions/" + list.Sessions[0].ID + "/messages"}).Messages
	last := messages[slices.IndexFunc(messages, func(m protocol.Message) bool { return m.Error != nil })]
	if last.Error.Status != c.status || last.Error.Retryable != c.retry {
		r.t.Errorf("status %d, retryable %v; want %d, %v", last.Error.Status, last.Error.Retryable, c.status, c.retry)
	}
}
