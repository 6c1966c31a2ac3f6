package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

// stream asks the guest's provider behind a real connection to a server.
func stream(t *testing.T, g guest, handler http.HandlerFunc) (events []string, failed error) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := egress.New(egress.Options{BaseURL: server.URL + "/base"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	asked := session.ModelRequest{
		Purpose: "turn", Model: session.ModelRef{Provider: "local", Model: "m1"},
		Messages: []session.ModelMessage{{ID: "m", Role: "user", Parts: []session.ModelPart{{ID: "p", Type: "text", Text: "ünï 🙂"}}}},
	}
	for event, err := range bridge.NewProvider(codecOf(t, g).Plugin, provider, "sse", client, nil).Stream(t.Context(), asked) {
		if failed = err; err == nil {
			events = append(events, fmt.Sprint(event.Type, " ", event.ID, event.Name, event.Text, event.Reason))
		}
	}
	return events, failed
}

// A whole request and its answer: all three entries of a provider, as the host uses them.
func TestAStream(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		var method, uri string
		var sent abi.ModelRequest
		events, err := stream(t, g, func(w http.ResponseWriter, r *http.Request) {
			method, uri = r.Method, r.URL.RequestURI()
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: text\ndata: Hel\n\nevent: text\ndata: lo 🙂\n\nevent: tool\ndata: {}\n\nevent: finish\ndata: stop\n\n")
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"text.delta tHel", "text.delta tlo 🙂", "tool.start clook", "tool.delta c{}", "tool.end c", "usage ", "finish stop"}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Error(diff)
		}
		if method != "POST" || uri != "/base/v1/m1?purpose=turn" || len(sent.Messages) != 1 || sent.Messages[0].Parts[0].Text != "ünï 🙂" {
			t.Errorf("%s %s %+v", method, uri, sent)
		}
	})
}

func TestAStreamThatIsRefused(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		_, err := stream(t, g, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "slow down")
		})
		failure, ok := errors.AsType[*session.ProviderError](err)
		if !ok {
			t.Fatal(err)
		}
		if failure.Class != abi.ClassRateLimit || failure.Message != "slow down" || !failure.Retryable || failure.RetryAfter != 3*time.Second || failure.Status != 429 {
			t.Errorf("%+v", failure)
		}
	})
}
