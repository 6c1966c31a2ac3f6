package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/tests/chat"
)

// TestHostThatStaysAway: a run whose host does not come back ends by itself and says
// where the prompt is.
func TestHostThatStaysAway(t *testing.T) {
	gate := make(chan struct{})
	asked := make(chan struct{}, 1)
	model, err := chat.Start(func(chat.Request) chat.Turn {
		asked <- struct{}{}
		return chat.Turn{Text: "never", Gate: gate}
	}, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	r := newRig(t)
	r.configure("model = \"local/x\"\n[providers.local]\nplugin = \"core/openai\"\nbase_url = \"" + model.URL + "\"\n")
	r.restart()
	var out, notes bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, errors: &notes, patience: time.Millisecond,
		environ: []string{"PLINTH_SERVER=unix:" + filepath.Join(r.data, "cli.sock")}}
	done := make(chan int, 1)
	go func() { done <- c.execute(t.Context(), []string{"run", "--dir", r.project, "hello"}) }()
	<-asked
	r.stop()
	if code := <-done; code != exitUnreachable || !strings.Contains(notes.String(), "the host is away") ||
		!strings.Contains(notes.String(), "the host does not come back; the prompt stays in session ses_") {
		t.Errorf("exit %d\n%s", code, notes.String())
	}
}
