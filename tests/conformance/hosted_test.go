package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// recorder is a model server that keeps what it was sent. Its first answer has hosted
// tools in it.
type recorder struct {
	t    *testing.T
	sent []abi.ModelRequest
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var sent abi.ModelRequest
	if err := json.NewDecoder(request.Body).Decode(&sent); err != nil {
		r.t.Error(err)
	}
	r.sent = append(r.sent, sent)
	w.Header().Set("Content-Type", "text/event-stream")
	if len(r.sent) == 1 {
		_, _ = io.WriteString(w, "event: text\ndata: I look.\n\nevent: hosted\ndata: 2 hits\n\nevent: refused\ndata: too many\n\n")
	}
	_, _ = io.WriteString(w, "event: text\ndata: Done.\n\nevent: finish\ndata: stop\n\n")
}

// hostedParts are the parts of the assistant's first message in the n-th request.
func (r *recorder) hostedParts(n int) []abi.Part {
	if n >= len(r.sent) {
		r.t.Fatalf("%d requests came", len(r.sent))
	}
	for _, message := range r.sent[n].Messages {
		if message.Role == abi.RoleAssistant {
			for i := range message.Parts {
				message.Parts[i].ID = ""
			}
			return message.Parts
		}
	}
	return nil
}

// newWorld is a kernel whose provider "local" is the guest's, connected with the server.
func newWorld(t *testing.T, g guest, server *httptest.Server) (world *sessiontest.World, id string) {
	t.Helper()
	client, err := egress.New(egress.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	world = sessiontest.New(t, sessiontest.Options{})
	world.Contribute("acme/local", world.Kinds.Providers.Contribute("local", 0, bridge.NewProvider(codecOf(t, g).Plugin, provider, "sse", client, nil)))
	created, _, err := world.Sessions.Create(t.Context(), session.System(), session.CreateRequest{Directory: "/work", Model: &session.ModelRef{Provider: "local", Model: "m1"}})
	if err != nil {
		t.Fatal(err)
	}
	return world, created.ID
}

// What a provider told of its own tool's call and of the result goes back to the model
// that made them, each with its own, and to no other model: that reads the text.
func TestHostedToolsComeBack(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		answering := &recorder{t: t}
		server := httptest.NewServer(answering)
		defer server.Close()
		world, id := newWorld(t, g, server)
		prompt := func(text string) {
			t.Helper()
			world.Admit(id, text, session.Queue)
			world.Run(id)
		}
		prompt("first")
		prompt("second")
		switched, err := world.Encoder.Encode(session.System(), session.ModelSwitched{Message: world.Encoder.IDs.New(session.PrefixMessage), Model: session.ModelRef{Provider: "local", Model: "m2"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := world.Log.Append(t.Context(), store.Batch{Aggregate: id, Events: switched}); err != nil {
			t.Fatal(err)
		}
		prompt("third")

		call := abi.Part{Type: abi.PartToolCall, Call: "h", Name: "search", Hosted: true, Input: json.RawMessage(`{"q":1}`)}
		result := abi.Part{Type: abi.PartToolResult, Call: "h", Name: "search", Hosted: true, Text: "2 hits"}
		others := []abi.Part{
			{Type: abi.PartToolCall, Call: "r", Name: "search", Hosted: true, Input: json.RawMessage(`{}`)},
			{Type: abi.PartToolResult, Call: "r", Name: "search", Hosted: true, Text: "too many", Error: true},
			{Type: abi.PartText, Text: "Done."},
		}
		said := abi.Part{Type: abi.PartText, Text: "I look."}
		if diff := cmp.Diff(append([]abi.Part{said, call, result}, others...), answering.hostedParts(2)); diff != "" {
			t.Errorf("another model: %s", diff)
		}
		call.Metadata, result.Metadata, result.Result = json.RawMessage(`{"item":"call"}`), json.RawMessage(`{"item":"result"}`), json.RawMessage(`{"hits":[{"url":"x"}]}`)
		if diff := cmp.Diff(append([]abi.Part{said, call, result}, others...), answering.hostedParts(1)); diff != "" {
			t.Errorf("the same model: %s", diff)
		}
		if models := fmt.Sprint(answering.sent[1].Model, answering.sent[2].Model); models != "m1m2" {
			t.Errorf("the models were %s", models)
		}
	})
}
