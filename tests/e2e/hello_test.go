package e2e

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/tests/chat"
)

// maxHello is what the first request may have, with every builtin that comes switched
// on: each later one has it too.
const maxHello = 12 << 10

func TestTheFirstRequestIsSmall(t *testing.T) {
	w := newWorld(t)
	server, err := chat.Start(chat.Say("Hello."), chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w.configure(server)
	if out, notes, code := w.plinth("run", "hello"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, notes)
	}
	requests := server.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	parts, err := requests[0].Parts()
	if err != nil {
		t.Fatal(err)
	}
	if size := len(requests[0].Body); size > maxHello {
		t.Errorf("the first request has %d bytes, the limit is %d; its parts: %v", size, maxHello, parts)
	}
	// The report of the session names a part, and that is what was sent.
	list, _, _ := w.plinth("sessions")
	id, _, _ := strings.Cut(list, " ")
	report, _, code := w.plinth("sessions", "context", id)
	_, largest, said := strings.Cut(report, "the largest part is the ")
	if code != 0 || !said || !strings.HasPrefix(largest, "source ") && !strings.HasPrefix(largest, "tool ") {
		t.Errorf("exit %d\n%s", code, report)
	}
}
