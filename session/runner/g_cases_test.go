package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// When a history is condensed, what stays of it, and what becomes of failures.
func TestCompactionCases(t *testing.T) {
	Cases(t, "G", []Case{
		{Number: 179, Text: "A request with exactly as many tokens as the window leaves beside an answer is sent as it is; one token more, and the " +
			"history is condensed first.", Run: g179},
		{Number: 181, Text: "With auto = false nothing is condensed by itself, but an overflow still condenses.",
			Ours: "auto = false is absolute: the overflow is the step's failure, and a person can ask for a compaction.", Run: g181},
		{Number: 182, Text: "Given an answered prompt and a large new one, the first request asks for the summary, and the second has the summary and " +
			"the newest text inside it, and the new prompt only there.",
			Ours: "The new prompt is a message of its own, word for word, and stays one until it is answered.", Run: g182},
		{Number: 184, Text: "When everything fits into what is kept, nothing can be condensed: the request goes out as it is.", Run: g184},
		{Number: 185, Text: "A message that does not fit whole into what is kept is split: its end is kept and its beginning condensed.",
			Ours: "Messages are not split: what is kept begins with a whole step, its calls with their results.", Run: g185},
		{Number: 187, Text: "When what is to be condensed does not fit into the window of the model that would condense it, nothing is recorded and the " +
			"turn goes on.", Run: g187},
		{Number: 188, Text: "When the summary fails, is blank or calls tools, the boundary stays; the turn goes on, and after an overflow the overflow is " +
			"its failure.", Ours: "The same, and session.compaction.failed says why.", Run: g188},
		{Number: 190, Text: "A second overflow after the history was condensed fails the step without another try.", Run: g190},
		{Number: 191, Text: "A model that refuses a request for its size before any output gets it again with a condensed history, once.", Run: g191},
		{Number: 193, Text: "An interrupt while the summary streams interrupts the drain, and the history is as it was.", Run: g193},
		{Number: 194, Text: "A compaction inside an activity promotes nothing again, and the count of steps goes on.", Run: g194},
	})
}

// window is what the model of these tests takes: 16,000 tokens leave room for an
// answer, and 5,000 of the newest stay.
const window = 20_000

// crowded is a world whose model has a window.
func crowded(t *testing.T, change func(*runner.Config)) *World {
	t.Helper()
	return New(t, Options{Config: configured(change), Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: window}}}})
}

func asItIs(*runner.Config) {}

func unpruned(c *runner.Config) { c.Compaction.Prune = false }

// words is a text of that many tokens that begins with a word.
func words(begin string, tokens int) string {
	return begin + strings.Repeat(".", 4*tokens-len(begin))
}

// using is an answer that tells what it used.
func using(text string, input, output int64) Turn {
	return Events(Delta(text), Usage(input, output), Finish(session.FinishStop))
}

// answered prompts, and waits for the end of the activity.
func answered(w *World, id, text string, n int) {
	w.T.Helper()
	w.Prompt(id, text, session.Steer)
	w.Settled(id, n)
}

// purposes are what the requests were for.
func purposes(w *World) []string {
	var all []string
	for _, request := range w.Provider.Requests() {
		all = append(all, request.Purpose)
	}
	return all
}

// begins are the first words of a request's messages.
func begins(request session.ModelRequest) []string {
	var all []string
	for _, message := range request.Messages {
		text := message.Parts[0].Text
		if i := strings.IndexAny(text, ".\n"); i >= 0 {
			text = text[:i]
		}
		all = append(all, text)
	}
	return all
}

const (
	turn    = session.PurposeTurn
	summing = session.PurposeCompaction
)

func g179(t *testing.T) {
	for _, c := range []struct {
		name string
		more int
		want []string
	}{
		{"as many", 0, []string{turn, turn}},
		{"one more", 1, []string{turn, summing, turn}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := crowded(t, asItIs)
			w.Provider.Script(using("One", 15_000, 500), Say("Summary"), Say("Two"))
			if c.more == 0 {
				w.Provider = &Provider{}
				w.Contribute("core/scripted", w.Kinds.Providers.Contribute("scripted", 0, w.Provider))
				w.Provider.Script(using("One", 15_000, 500), Say("Two"))
			}
			id := w.Create()
			answered(w, id, words("first", 10_000), 1)
			answered(w, id, words("second", 500)+strings.Repeat(".", c.more), 2)
			if diff := cmp.Diff(c.want, purposes(w)); diff != "" {
				t.Error(diff)
			}
			if got := ended(w, id); got.Outcome != session.Completed {
				t.Errorf("ended %+v", got)
			}
		})
	}
}

var overflow = &session.ProviderError{Class: session.ProviderContextOverflow, Message: "prompt is too long"}

func g181(t *testing.T) {
	w := crowded(t, func(c *runner.Config) { c.Compaction.Auto = false })
	w.Provider.Script(using("One", 19_000, 500), Fail(overflow), Say("Summary"))
	id := w.Create()
	answered(w, id, words("first", 10_000), 1)
	answered(w, id, words("second", 500), 2)
	if diff := cmp.Diff([]string{turn, turn}, purposes(w)); diff != "" {
		t.Error(diff)
	}
	if got := ended(w, id); code(got.Error) != session.ProviderContextOverflow || !strings.Contains(got.Error.Message, "compact the session") {
		t.Errorf("ended %+v", got)
	}
	compactNow(w, id)
	if got := only(t, payloads[session.CompactionEnded](w, id)); got.Reason != session.CompactionManual || got.Summary != "Summary" {
		t.Errorf("compaction %+v", got)
	}
}

// compactNow asks for a compaction and waits until nothing works on the session.
func compactNow(w *World, id string) {
	w.T.Helper()
	if _, err := w.Sessions.Compact(w.T.Context(), session.System(), id); err != nil {
		w.T.Fatal(err)
	}
	idle(w, id)
}

func g182(t *testing.T) {
	w := crowded(t, asItIs)
	w.Provider.Script(using("One", 9_000, 1), Say("Summary"), Say("Two"))
	id := w.Create()
	first, second := words("first", 9_000), words("second", 8_000)
	answered(w, id, first, 1)
	answered(w, id, second, 2)
	if diff := cmp.Diff([]string{turn, summing, turn}, purposes(w)); diff != "" {
		t.Fatal(diff)
	}
	asked, sent := w.Provider.Requests()[1], w.Provider.Requests()[2]
	if len(asked.Messages) != 1 || len(asked.Tools) != 0 || *asked.Generation.MaxTokens != 4096 || !strings.Contains(asked.Messages[0].Parts[0].Text, first) ||
		strings.Contains(asked.Messages[0].Parts[0].Text, "second") {
		t.Errorf("the summary was asked for with %+v", asked)
	}
	if diff := cmp.Diff([]string{"<summary>", "One", "second"}, begins(sent)); diff != "" || sent.Messages[2].Parts[0].Text != second {
		t.Errorf("sent %v: %s", begins(sent), diff)
	}
}

func g184(t *testing.T) {
	w := crowded(t, asItIs)
	w.Provider.Script(using("One", 16_000, 500), Say("Two"))
	id := w.Create()
	answered(w, id, words("first", 4_000), 1)
	answered(w, id, words("second", 100), 2)
	if diff := cmp.Diff([]string{turn, turn}, purposes(w)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"first", "One", "second"}, begins(w.Provider.Requests()[1])); diff != "" {
		t.Error(diff)
	}
	if got := types(w, id, "session.activity.ended", 1); strings.Contains(strings.Join(got, " "), "compaction") {
		t.Errorf("recorded %v", got)
	}
}

func g185(t *testing.T) {
	w := crowded(t, unpruned)
	w.Contribute("core/tools", tool(w, "read", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		return Output(words("result", 4_000)), nil
	}))
	w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Calls("read", `{"path":"c"}`), Calls("read", `{"path":"d"}`),
		Say("Summary"), Say("Done"))
	id := w.Create()
	answered(w, id, "prompt", 1)
	if diff := cmp.Diff([]string{turn, turn, turn, turn, summing, turn}, purposes(w)); diff != "" {
		t.Fatal(diff)
	}
	last := w.Provider.Requests()[5].Messages
	if diff := cmp.Diff([]string{"<summary>", "prompt", "", "result"}, begins(w.Provider.Requests()[5])); diff != "" {
		t.Fatal(diff)
	}
	if call := last[2].Parts[0]; string(call.Input) != `{"path":"d"}` || last[3].Parts[0].Call != call.Call {
		t.Errorf("kept %+v and %+v", call, last[3].Parts[0])
	}
}

func g187(t *testing.T) {
	models := Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: window}}, "scripted/small": {ModelInfo: session.ModelInfo{Context: 6_000}}}
	w := New(t, Options{Models: models, Config: configured(func(c *runner.Config) {
		c.Compaction.Model = &session.ModelRef{Provider: "scripted", Model: "small"}
	})})
	w.Provider.Script(using("One", 15_500, 500), Say("Two"))
	id := w.Create()
	answered(w, id, words("first", 9_000), 1)
	answered(w, id, words("second", 100), 2)
	if diff := cmp.Diff([]string{turn, turn}, purposes(w)); diff != "" {
		t.Error(diff)
	}
	if got := types(w, id, "session.activity.ended", 1); strings.Contains(strings.Join(got, " "), "compaction") {
		t.Errorf("recorded %v", got)
	}
}

func g188(t *testing.T) {
	broken := &session.ProviderError{Class: session.ProviderInvalidRequest, Message: "no"}
	for _, c := range []struct {
		name    string
		summary Turn
		code    string
	}{
		{"an error", Fail(broken), session.ProviderInvalidRequest},
		{"an error after output", failing(broken, Delta("Sum")), session.ProviderInvalidRequest},
		{"blank", Say("  \n "), session.FailureCompaction},
		{"a call", Calls("echo", `{}`), session.FailureCompaction},
		{"no finish", Events(Delta("Summary")), session.ProviderIncomplete},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := crowded(t, asItIs)
			w.Provider.Script(using("One", 15_500, 500), c.summary, Say("Two"))
			id := w.Create()
			answered(w, id, words("first", 9_000), 1)
			answered(w, id, words("second", 100), 2)
			if diff := cmp.Diff([]string{"first", "One", "second"}, begins(w.Provider.Requests()[2])); diff != "" {
				t.Error(diff)
			}
			if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != c.code || got.Reason != session.CompactionAuto {
				t.Errorf("failed %+v", got)
			}
		})
		t.Run(c.name+" after an overflow", func(t *testing.T) {
			w := crowded(t, asItIs)
			w.Provider.Script(Say("One"), Fail(overflow), c.summary)
			id := w.Create()
			answered(w, id, words("first", 9_000), 1)
			answered(w, id, words("second", 100), 2)
			if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != c.code || got.Reason != session.CompactionOverflow {
				t.Errorf("failed %+v", got)
			}
			if got := ended(w, id); code(got.Error) != session.ProviderContextOverflow || !strings.HasPrefix(got.Error.Message, "prompt is too long; ") {
				t.Errorf("ended %+v", got)
			}
			if got := assistants(w, id); len(got) != 2 || code(got[1].Error) != session.ProviderContextOverflow {
				t.Errorf("transcript %+v", got)
			}
		})
	}
}

func g190(t *testing.T) {
	w := crowded(t, asItIs)
	w.Provider.Script(Say("One"), Fail(overflow), Say("Summary"), Fail(overflow), Say("too many"))
	id := w.Create()
	answered(w, id, words("first", 9_000), 1)
	answered(w, id, words("second", 100), 2)
	if diff := cmp.Diff([]string{turn, turn, summing, turn}, purposes(w)); diff != "" {
		t.Error(diff)
	}
	if got := ended(w, id); code(got.Error) != session.ProviderContextOverflow {
		t.Errorf("ended %+v", got)
	}
}

func g191(t *testing.T) {
	for _, known := range []int64{0, window} {
		w := New(t, Options{Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: known}}}})
		w.Provider.Script(Say("One"), Fail(overflow), Say("Summary"), Say("Two"))
		id := w.Create()
		answered(w, id, words("first", 9_000), 1)
		answered(w, id, words("second", 100), 2)
		if diff := cmp.Diff([]string{turn, turn, summing, turn}, purposes(w)); diff != "" {
			t.Fatalf("window %d: %s", known, diff)
		}
		if diff := cmp.Diff([]string{"<summary>", "One", "second"}, begins(w.Provider.Requests()[3])); diff != "" {
			t.Errorf("window %d: %s", known, diff)
		}
		if got := ended(w, id); got.Outcome != session.Completed {
			t.Errorf("window %d: ended %+v", known, got)
		}
		if got := assistants(w, id); len(got) != 2 {
			t.Errorf("window %d: the refusal is in the transcript: %+v", known, got)
		}
	}
	t.Run("after output", func(t *testing.T) {
		w := crowded(t, asItIs)
		w.Provider.Script(Say("One"), failing(overflow, Delta("Tw")), Say("too many"))
		id := w.Create()
		answered(w, id, words("first", 9_000), 1)
		answered(w, id, words("second", 100), 2)
		if diff := cmp.Diff([]string{turn, turn}, purposes(w)); diff != "" {
			t.Error(diff)
		}
	})
}

func g193(t *testing.T) {
	w := crowded(t, asItIs)
	reached := make(chan struct{}, 1)
	w.Provider.Script(using("One", 15_500, 500), Then(Events(Delta("Sum")), Gate(reached, nil)), Say("too many"))
	id := w.Create()
	answered(w, id, words("first", 9_000), 1)
	w.Prompt(id, words("second", 100), session.Steer)
	<-reached
	interrupt(w, id)
	if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.FailureInterrupted {
		t.Errorf("failed %+v", got)
	}
	if s, err := w.Sessions.Get(t.Context(), id); err != nil || s.Compaction != -1 || s.Compacting != nil {
		t.Errorf("session %+v, %v", s, err)
	}
	only(t, inbox(w, id))
	if got := purposes(w); len(got) != 2 {
		t.Errorf("requests %v", got)
	}
	nothingStreams(t, w, id)
}

func g194(t *testing.T) {
	w := crowded(t, unpruned)
	w.Contribute("core/tools", tool(w, "read", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		return Output(words("result", 5_500)), nil
	}))
	w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Calls("read", `{"path":"c"}`), Say("Summary"), Say("Done"))
	id := w.Create()
	answered(w, id, "prompt", 1)
	if diff := cmp.Diff([]string{turn, turn, turn, summing, turn}, purposes(w)); diff != "" {
		t.Fatal(diff)
	}
	var steps []int
	for _, started := range payloads[session.TurnStarted](w, id) {
		steps = append(steps, started.Step)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4}, steps); diff != "" {
		t.Error(diff)
	}
	only(t, payloads[session.PromptPromoted](w, id))
}
