package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// reader contributes a tool whose results have so many tokens.
func reader(w *World, tokens int) {
	read := 0
	w.Contribute("core/tools", tool(w, "read", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		read++
		return Output(words(fmt.Sprintf("result %d", read), tokens)), nil
	}))
}

// text shows a request as text: its purpose, and every message with its parts.
func text(request session.ModelRequest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s as %s, tools %d, choice %s", request.Purpose, request.Model, request.Agent, len(request.Tools), request.ToolChoice)
	if request.Generation.MaxTokens != nil {
		fmt.Fprintf(&b, ", at most %d tokens", *request.Generation.MaxTokens)
	}
	b.WriteString("\n")
	for _, part := range request.System {
		fmt.Fprintf(&b, "\n--- system %s\n%s\n", part.ID, part.Text)
	}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			fmt.Fprintf(&b, "\n--- %s %s\n", message.Role, part.Type)
			if part.Name != "" {
				b.WriteString(strings.TrimSuffix(fmt.Sprintf("%s %s %s", part.Call, part.Name, part.Input), " ") + "\n")
			}
			if part.Text != "" {
				b.WriteString(part.Text + "\n")
			}
		}
	}
	return b.String()
}

// The requests of a compaction, word for word: the first, one that goes on from a
// summary, and the turns after them.
func TestGoldenRequests(t *testing.T) {
	agent := session.Agent{Name: session.AgentCompaction, Mode: session.AgentHidden, System: "You condense."}
	w := New(t, Options{Agents: []session.Agent{agent}, Config: configured(func(c *runner.Config) { c.Compaction.Keep = 10 })})
	reader(w, 20)
	w.Provider.Script(Then(Events(Delta("Let me look")), Calls("read", `{"path":"a.go"}`)), Say("It is a.go"), Say("## Goal\nFind it"), Say("Fixed"),
		Say("## Goal\nFix it"), Say("Bye"))
	id := w.Create()
	answered(w, id, strings.Repeat("Find the file. ", 30), 1)
	compactNow(w, id)
	answered(w, id, strings.Repeat("Now fix it. ", 40), 2)
	compactNow(w, id)
	answered(w, id, "Thanks", 3)
	if failed := payloads[session.CompactionFailed](w, id); len(failed) > 0 {
		t.Fatalf("failed %+v", failed)
	}
	for i, name := range map[int]string{2: "summary-first", 3: "after-summary", 4: "summary-again", 5: "after-second-summary"} {
		Golden(t, "request-"+name, text(w.Provider.Requests()[i]))
	}
	Golden(t, "compaction-manual", Text(events(w, id)))
}

func TestAPruningComesBeforeASummary(t *testing.T) {
	w := crowded(t, asItIs)
	reader(w, 4_000)
	w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Calls("read", `{"path":"c"}`), Calls("read", `{"path":"d"}`),
		Say("Done"))
	id := w.Create()
	answered(w, id, "prompt", 1)
	if got := purposes(w); len(got) != 5 {
		t.Fatalf("requests %v", got)
	}
	if got := only(t, payloads[session.ResultsPruned](w, id)); len(got.Calls) != 3 {
		t.Errorf("pruned %+v", got)
	}
	var results []string
	for _, message := range w.Provider.Requests()[4].Messages {
		if message.Role == session.RoleTool {
			results = append(results, message.Parts[0].Text)
		}
	}
	note := compaction.Note(16_000)
	if diff := cmp.Diff([]string{note, note, note, words("result 4", 4_000)}, results); diff != "" {
		t.Error(diff)
	}
	s, err := w.Sessions.Get(t.Context(), id)
	if err != nil || s.Rewritten < 0 || s.Compaction != -1 {
		t.Errorf("session %+v, %v", s, err)
	}
	for _, message := range assistants(w, id)[:3] {
		if got := message.Parts[0].Tool; got.Pruned == 0 || len(got.Content[0].Text) != 16_000 {
			t.Errorf("the transcript has %+v", got)
		}
	}
}

// A session whose context cannot be made smaller does not go in circles: it goes on
// while its requests go into the window, and fails with what to do when they do not.
func TestWhatCannotBeCondensed(t *testing.T) {
	t.Run("still fits", func(t *testing.T) {
		w := crowded(t, unpruned)
		reader(w, 10)
		w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Say("Done"))
		id := w.Create()
		answered(w, id, words("prompt", 17_000), 1)
		if diff := cmp.Diff([]string{turn, turn, turn}, purposes(w)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("does not fit", func(t *testing.T) {
		w := crowded(t, unpruned)
		w.Provider.Script(Say("too many"))
		id := w.Create()
		answered(w, id, words("prompt", 20_001), 1)
		if got := ended(w, id); code(got.Error) != session.ProviderContextOverflow || !strings.Contains(got.Error.Message, "20001 tokens and the window of scripted/m1 has 20000") {
			t.Errorf("ended %+v", got)
		}
		if got := w.Provider.Requests(); len(got) != 0 {
			t.Errorf("requests %+v", got)
		}
		only(t, payloads[session.PromptPromoted](w, id))
	})
	t.Run("a summary that saves too little", func(t *testing.T) {
		w := crowded(t, unpruned)
		reader(w, 10)
		w.Provider.Script(using("One", 9_000, 10), Say(words("Summary", 8_500)), using("Two", 17_500, 10), Say("Three"))
		w.Provider.Script(Say("too many"))
		id := w.Create()
		answered(w, id, words("first", 9_000), 1)
		w.Prompt(id, words("second", 7_000), session.Steer)
		w.Settled(id, 2)
		if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.FailureCompaction || got.Usage == nil {
			t.Errorf("failed %+v", got)
		}
		if diff := cmp.Diff([]string{turn, summing, turn}, purposes(w)); diff != "" {
			t.Error(diff)
		}
	})
}

// A summary that did not help is not made again before each turn.
func TestAFutileCompactionIsNotRepeated(t *testing.T) {
	w := crowded(t, unpruned)
	reader(w, 10)
	w.Provider.Script(using("One", 9_000, 10), Say(words("Summary", 8_500)), Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Say("Done"))
	id := w.Create()
	answered(w, id, words("first", 9_000), 1)
	answered(w, id, words("second", 8_000), 2)
	if diff := cmp.Diff([]string{turn, summing, turn, turn, turn}, purposes(w)); diff != "" {
		t.Error(diff)
	}
}

func TestASummaryIsPaidFor(t *testing.T) {
	w := New(t, Options{Config: configured(func(c *runner.Config) { c.Compaction.Keep = 0 }), Models: Models{
		"scripted/m1":    {ModelInfo: session.ModelInfo{Price: &session.Price{Input: 1_000_000, Output: 1_000_000}}},
		"scripted/cheap": {ModelInfo: session.ModelInfo{Price: &session.Price{Input: 1_000_000, Output: 3_000_000}}}},
		Agents: []session.Agent{{Name: session.AgentCompaction, Mode: session.AgentHidden, Model: &session.ModelRef{Provider: "scripted", Model: "cheap"}}}})
	w.Provider.Script(Say("One"), Say("Summary"))
	id := w.Create()
	answered(w, id, words("first", 1_000), 1)
	compactNow(w, id)
	if got := w.Provider.Requests()[1].Model.Model; got != "cheap" {
		t.Errorf("the summary was made by %q", got)
	}
	ended := only(t, payloads[session.CompactionEnded](w, id))
	if ended.Usage == nil || *ended.Usage != (session.Usage{Input: 10, Output: 2}) || ended.Cost == nil || *ended.Cost != 16 {
		t.Errorf("ended %+v", ended)
	}
	var totals session.Totals
	if err := w.Log.View(t.Context(), func(tx store.Tx) (err error) {
		totals, err = session.LoadTotals(t.Context(), tx, id)
		return err
	}); err != nil || totals.CostNano != 12+16 || totals.Usage.Input != 20 {
		t.Errorf("totals %+v, %v", totals, err)
	}
}

// redactor replaces the word first, and says for what.
type redactor struct{ purposes []string }

func (*redactor) Spec() session.TransformSpec {
	return session.TransformSpec{Reads: []session.RequestPart{session.RequestMessages}, Writes: []session.RequestPart{session.RequestMessages, session.RequestHeaders}}
}

func (r *redactor) Apply(_ context.Context, input session.TransformInput) ([]session.Edit, error) {
	r.purposes = append(r.purposes, input.Purpose)
	edits := []session.Edit{{Part: session.RequestHeaders, Op: session.EditSet, ID: "x-purpose", Value: json.RawMessage(`"` + input.Purpose + `"`)}}
	for _, message := range input.Messages {
		for _, part := range message.Parts {
			if strings.Contains(part.Text, "first") {
				value, err := json.Marshal(strings.ReplaceAll(part.Text, "first", "*****"))
				if err != nil {
					return nil, err
				}
				edits = append(edits, session.Edit{Part: session.RequestMessages, Op: session.EditReplace, ID: part.ID, Value: value})
			}
		}
	}
	return edits, nil
}

func TestASummaryPassesTheTransforms(t *testing.T) {
	w := New(t, Options{Config: configured(func(c *runner.Config) { c.Compaction.Keep = 0 })})
	r := &redactor{}
	w.Contribute("core/redact", w.Kinds.Transforms.Contribute("redact", 0, r))
	w.Provider.Script(Say("One"), Say("Summary"))
	id := w.Create()
	answered(w, id, words("first", 1_000), 1)
	compactNow(w, id)
	request := w.Provider.Requests()[1]
	if told := request.Messages[0].Parts[0].Text; strings.Contains(told, "first") || !strings.Contains(told, "*****") {
		t.Errorf("told %q", told)
	}
	if request.Headers["x-purpose"] != summing || r.purposes[len(r.purposes)-1] != summing {
		t.Errorf("headers %v, purposes %v", request.Headers, r.purposes)
	}
}

func TestASummaryIsTriedAgain(t *testing.T) {
	bubble(t, Options{Config: configured(func(c *runner.Config) { c.Retries, c.Compaction.Keep = 2, 0 })}, func(t *testing.T, w *World, id string) {
		w.Provider.Script(Say("One"), Fail(overloaded()), Events(), Say("Summary"))
		answered(w, id, words("first", 1_000), 1)
		began := time.Now()
		compactNow(w, id)
		if got := only(t, payloads[session.CompactionEnded](w, id)); got.Summary != "Summary" {
			t.Errorf("ended %+v", got)
		}
		if waited := time.Since(began); waited < 2*time.Second || waited > 4*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
	t.Run("not for ever", func(t *testing.T) {
		bubble(t, Options{Config: configured(func(c *runner.Config) { c.Retries, c.Compaction.Keep = 1, 0 })}, func(t *testing.T, w *World, id string) {
			w.Provider.Script(Say("One"), Fail(overloaded()), Fail(overloaded()), Say("Summary"))
			answered(w, id, words("first", 1_000), 1)
			compactNow(w, id)
			if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.ProviderOverloaded {
				t.Errorf("failed %+v", got)
			}
			compactNow(w, id) // by hand it can be tried again
			only(t, payloads[session.CompactionEnded](w, id))
		})
	})
	t.Run("a silent provider is left", func(t *testing.T) {
		bubble(t, Options{Config: configured(func(c *runner.Config) { c.Compaction.Keep = 0 })}, func(t *testing.T, w *World, id string) {
			reached := make(chan struct{}, 1)
			w.Provider.Script(Say("One"), Gate(reached, nil))
			answered(w, id, words("first", 1_000), 1)
			compactNow(w, id)
			if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.ProviderTransport {
				t.Errorf("failed %+v", got)
			}
		})
	})
}

// What ends a drain while a summary is written ends the activity as it would at any
// other place; after a shutdown the next host goes on.
func TestASummaryInsideAnActivityIsStopped(t *testing.T) {
	start := func(t *testing.T) (*World, string) {
		w := crowded(t, unpruned)
		reader(w, 5_500)
		reached := make(chan struct{}, 1)
		w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Calls("read", `{"path":"c"}`), Gate(reached, nil), Say("Summary"), Say("Done"))
		id := w.Create()
		w.Prompt(id, "prompt", session.Steer)
		<-reached
		return w, id
	}
	t.Run("by an interrupt", func(t *testing.T) {
		w, id := start(t)
		interrupt(w, id)
		if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.FailureInterrupted {
			t.Errorf("failed %+v", got)
		}
		if got := ended(w, id); got.Outcome != session.Interrupted {
			t.Errorf("ended %+v", got)
		}
	})
	t.Run("by a shutdown", func(t *testing.T) {
		w, id := start(t)
		w.Coordinator.Close(0)
		if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.FailureShutdown {
			t.Errorf("failed %+v", got)
		}
		if got := only(t, payloads[session.ActivitySuspended](w, id)); got.Reason != session.SuspendedByShutdown {
			t.Errorf("suspended %+v", got)
		}
		if err := w.Runner.Drain(t.Context(), &session.Work{Session: id}); err != nil {
			t.Fatal(err)
		}
		if got := ended(w, id); got.Outcome != session.Completed || len(payloads[session.CompactionEnded](w, id)) != 1 {
			t.Errorf("ended %+v", got)
		}
	})
}

// A host that dies while it condenses after a refusal knows how the turn came out: it
// was refused, and nobody has to be asked.
func TestARefusedTurnLeavesNoDoubt(t *testing.T) {
	w := crowded(t, asItIs)
	w.Provider.Script(Say("One"), Say("Two"))
	id := w.Create()
	answered(w, id, words("first", 100), 1)
	put(w, id, session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByPrompt},
		session.TurnStarted{Activity: "act_1", Turn: 1, Step: 1, Attempt: 1, Agent: "build", Model: session.ModelRef{Provider: "scripted", Model: "m1"}},
		session.CompactionStarted{Message: message(w), Reason: session.CompactionOverflow})
	if again, err := w.Runner.Recover(t.Context(), id); err != nil || !again {
		t.Errorf("again %v, %v", again, err)
	}
	only(t, payloads[session.CompactionFailed](w, id))
	if got := only(t, payloads[session.ActivitySuspended](w, id)); got.Reason != session.SuspendedByCrash {
		t.Errorf("suspended %+v", got)
	}
}
