package runner_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// conversation writes one session with tools, a permission and an interrupt.
func conversation(t *testing.T, w *World) string {
	t.Helper()
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{"path":"a"}`, `{"path":"b"}`), Say("Done"), Say("Second"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	w.Settled(id, 1)
	w.Prompt(id, "second", session.Queue)
	w.Settled(id, 2)
	if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	w.Admit(id, "pending", session.Queue)
	return id
}

func TestReplayGivesTheSameTablesAndCallsNothing(t *testing.T) {
	w := New(t, Options{})
	id := conversation(t, w)
	page, err := w.Log.Read(t.Context(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	target := OpenStore(t, t.TempDir())
	defer target.Close()
	if err := target.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Tables(t, w.Log), Tables(t, target)); diff != "" {
		t.Error(diff)
	}
}

// A store that holds only the first n events is what a process leaves that died
// there. Whatever n is, the next process must settle it and go on.
func TestEveryPrefixOfALogCanBeContinued(t *testing.T) {
	w := New(t, Options{})
	id := conversation(t, w)
	page, err := w.Log.Read(t.Context(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(page.Events); n++ {
		t.Run(fmt.Sprintf("%02d-%s", n, page.Events[n-1].Type), func(t *testing.T) {
			continued(t, id, page.Events[:n])
		})
	}
}

// condensed writes one session whose history is pruned, condensed by itself, after an
// overflow and because somebody asks for it, with failures in between.
func condensed(t *testing.T, w *World) string {
	t.Helper()
	reader(w, 4_000)
	w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Calls("read", `{"path":"c"}`), Calls("read", `{"path":"d"}`),
		using("One", 1_000, 10), using("Two", 15_990, 10), Say(" "), using("Three", 15_990, 10), Say("Summary"),
		using("Four", 1_000, 10), Fail(overflow), Say("Again"), Say("Five"))
	id := w.Create()
	for i, text := range []string{words("first", 100), words("second", 9_000), words("third", 1_000), words("fourth", 1_000), words("fifth", 4_000)} {
		answered(w, id, text, i+1)
	}
	compactNow(w, id)
	for _, want := range []string{"session.results.pruned", "session.compaction.failed", "session.compaction.ended", "session.compaction.requested"} {
		if !slices.Contains(types(w, id, "", 0), want) {
			t.Fatalf("no %s:\n%s", want, Text(events(w, id)))
		}
	}
	return id
}

func TestEveryPrefixOfALogWithCompactionsCanBeContinued(t *testing.T) {
	options := Options{Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: window}}}}
	w := New(t, options)
	id := condensed(t, w)
	all := events(w, id)
	for n := 1; n <= len(all); n += share {
		t.Run(fmt.Sprintf("%02d-%s", n, all[n-1].Type), func(t *testing.T) {
			w := New(t, options)
			if err := w.Log.Replay(t.Context(), all[:n], store.ReplayOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Runner.Recover(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			for range 8 {
				w.Provider.Script(Say("Continued"))
			}
			w.Run(id)
			s, err := w.Sessions.Get(t.Context(), id)
			if err != nil || s.Compacting != nil || s.Compact >= 0 {
				t.Errorf("session %+v, %v", s, err)
			}
			open := map[string]bool{}
			for _, started := range payloads[session.CompactionStarted](w, id) {
				open[started.Message] = true
			}
			for _, failed := range payloads[session.CompactionFailed](w, id) {
				delete(open, failed.Message)
			}
			for _, ended := range payloads[session.CompactionEnded](w, id) {
				delete(open, ended.Message)
			}
			if len(open) > 0 {
				t.Errorf("without an outcome: %v", open)
			}
		})
	}
}

func TestReplayOfCompactionsGivesTheSameTables(t *testing.T) {
	w := New(t, Options{Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: window}}}})
	id := condensed(t, w)
	target := OpenStore(t, t.TempDir())
	defer target.Close()
	if err := target.Replay(t.Context(), events(w, id), store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Tables(t, w.Log), Tables(t, target)); diff != "" {
		t.Error(diff)
	}
}

func continued(t *testing.T, id string, prefix []store.Event) {
	w := New(t, Options{})
	runs := 0
	w.Contribute("core/tools", tool(w, "echo", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		runs++
		return Output("again"), nil
	}))
	if err := w.Log.Replay(t.Context(), prefix, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Runner.Recover(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		w.Provider.Script(Say("Continued"))
	}
	w.Run(id)
	if runs != 0 {
		t.Errorf("%d tools ran again", runs)
	}
	if activity, err := w.Sessions.Activity(t.Context(), id); err != nil || activity != nil {
		t.Errorf("activity %+v, %v", activity, err)
	}
	pending, err := w.Sessions.Inbox(t.Context(), id)
	if err != nil || len(pending) != 0 {
		t.Errorf("pending %v, %v", pending, err)
	}
	seen := map[string]bool{}
	for _, message := range w.Messages(id) {
		if seen[message.ID] {
			t.Errorf("message %s twice", message.ID)
		}
		seen[message.ID] = true
		for _, part := range message.Parts {
			if part.Tool != nil && part.Tool.State == session.ToolStateRunning {
				t.Errorf("call %s of %s is not settled", part.ID, message.ID)
			}
		}
		if message.Type == session.MessageAssistant && message.Completed == 0 {
			t.Errorf("message %s is not completed", message.ID)
		}
	}
}

// What the boundary predicts of its own append must be what a read gives.
func TestTheRequestIsTheOneTheStoreGives(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{"path":"a"}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	w.Settled(id, 1)
	var texts []string
	for _, message := range w.Messages(id) {
		texts = append(texts, message.ID)
	}
	var sent []string
	for _, message := range w.Provider.Requests()[1].Messages {
		if message.Role != session.RoleTool {
			sent = append(sent, message.ID)
		}
	}
	if diff := cmp.Diff(texts[:len(sent)], sent); diff != "" {
		t.Error(diff)
	}
}
