package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// transcript shows a session as it goes on: the model's text on out, what happens
// around it on notes.
type transcript struct {
	out, notes io.Writer
	// shown counts the bytes of each part that are on out already.
	shown map[string]int
	open  bool // out does not stand at the start of a line
}

func newTranscript(out, notes io.Writer) *transcript {
	return &transcript{out: out, notes: notes, shown: map[string]int{}}
}

// part shows what a streaming part has gained.
func (t *transcript) part(update *client.PartUpdate) {
	if update.Kind == protocol.KindText {
		t.text(update.Message+"/"+update.Part, update.Text)
	}
}

// text shows what of the whole text is not shown yet.
func (t *transcript) text(key, whole string) {
	at := t.shown[key]
	if len(whole) <= at {
		return
	}
	fresh := plain(whole[at:])
	t.shown[key] = len(whole)
	fmt.Fprint(t.out, fresh)
	if fresh != "" {
		t.open = !strings.HasSuffix(fresh, "\n")
	}
}

func (t *transcript) endLine() {
	if t.open {
		fmt.Fprintln(t.out)
		t.open = false
	}
}

func (t *transcript) note(format string, args ...any) {
	t.endLine()
	fmt.Fprintf(t.notes, format+"\n", args...)
}

// noteLength is how much of a tool's input or error a note shows, in characters.
const noteLength = 160

// event shows a durable event.
func (t *transcript) event(payload session.Payload) {
	switch e := payload.(type) {
	case session.TextEnded:
		t.text(e.Message+"/"+e.Part, e.Text)
		t.endLine()
	case session.ToolCalled:
		t.note("→ %s %s", plain(e.Name), oneLine(string(e.Input), noteLength))
	case session.ToolSucceeded:
		t.note("✓ %s", oneLine(resultTitle(e), noteLength))
	case session.ToolFailed:
		t.note("✗ %s: %s", e.Error.Kind, oneLine(e.Error.Message, noteLength))
	case session.StepFailed:
		t.endLine()
	case session.CompactionStarted:
		t.note("… the history is condensed (%s)", e.Reason)
	case session.CompactionFailed:
		t.note("✗ not condensed: %s", oneLine(e.Error.Message, noteLength))
	case session.ResultsPruned:
		t.note("… the results of %d older calls are left out from here on", len(e.Calls))
	}
}

func resultTitle(e session.ToolSucceeded) string {
	if e.Title != "" {
		return e.Title
	}
	lines, bytes := 0, 0
	for _, content := range e.Content {
		bytes += len(content.Text)
		lines += strings.Count(content.Text, "\n") + 1
	}
	return plural(lines, "line") + ", " + plural(bytes, "byte")
}

// eventLine is an event on one line, for people.
func eventLine(event *protocol.Event) string {
	return fmt.Sprintf("%5d  %s  %-28s  %s", event.Seq, event.Time.Local().Format("15:04:05.000"), event.Type, plain(string(event.Data)))
}

// eventJSON is an event as one line of JSON.
func eventJSON(event *protocol.Event) (string, error) {
	encoded, err := json.Marshal(event)
	return string(encoded), err
}
