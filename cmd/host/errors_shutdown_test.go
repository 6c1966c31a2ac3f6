package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// TestShutdown: a host that shuts down tells those who wait, records why the answer
// broke off, and leaves the activity to the next host.
func TestShutdown(t *testing.T) {
	r := newRig(t)
	r.configure("[runner]\nshutdown_grace_ms = 0\n")
	r.restart()
	r.provide(func(ctx context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		if yield(session.ModelEvent{Type: session.EventTextDelta, ID: "t", Text: "half"}, nil) {
			<-ctx.Done()
		}
	})
	id := r.session()
	answered := make(chan string, 1)
	go func() { // ends with the host
		status, body, err := r.try(t.Context(), request{path: "/v1/sessions/" + id + "/prompts?wait=settled", body: `{"text":"hello"}`})
		answered <- fmt.Sprint(status, string(body), err)
	}()
	r.await(id, -1, is[session.StepStarted])
	r.stop()
	if answer := <-answered; !strings.HasPrefix(answer, "503") || !strings.Contains(answer, `"code":"unavailable"`) || !strings.Contains(answer, "shut") {
		t.Errorf("who waited is told %s", answer)
	}
	r.start()
	suspended := r.decode(r.await(id, -1, is[session.ActivitySuspended])).(session.ActivitySuspended)
	messages := got[protocol.MessageList](r, request{method: http.MethodGet, path: "/v1/sessions/" + id + "/messages"}).Messages
	last := messages[len(messages)-1]
	if suspended.Reason != session.SuspendedByShutdown || last.Error == nil || last.Error.Code != session.FailureShutdown ||
		last.Error.Message != "The host was shut down; the next one goes on" {
		t.Errorf("%+v, %+v", suspended, last)
	}
	if n := r.count(id, is[session.ActivityEnded]); n != 0 {
		t.Errorf("%d activities ended", n)
	}
}
