package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// TestPermissionCases are the cases of what is allowed, asked and answered.
func TestPermissionCases(t *testing.T) {
	t.Parallel()
	sessiontest.Cases(t, "J", []sessiontest.Case{
		{Number: 259, Text: "What no rule matches is asked; of the rules that match the last one counts, also after a narrower one.", Run: lastMatch},
		{Number: 260, Text: "`git *` matches git and git push but not gitk, `*.env` matches a/b.env, and `?` in `src/?.go` is exactly one character.",
			Run: wildcards},
		{Number: 262, Text: "Of several resources the strictest effect decides: allowed and asked is asked, allowed and denied is denied.", Run: strictest},
		{Number: 263, Text: "An agent that does not exist may do nothing; in a session that does not exist the answer is not found.",
			Ours: "It is offered no tool either, and is denied also what names no resource.", Run: unknownAgent},
		{Number: 265, Text: "What is allowed or denied is answered at once and leaves no request; what is asked leaves one, with one event.",
			Ours: "Who asks waits for the answer in the same call; who only wants to know the effects leaves no request, whatever they are.", Run: asksOnce},
		{Number: 266, Text: "A request that is answered with once is resolved, and nothing is saved.", Run: onceSavesNothing},
		{Number: 268, Text: "Always, where there is nothing to save, is once.",
			Ours: "The host computes what is saved, and saves nothing for a resource that would read as a pattern.", Run: nothingToSave},
		{Number: 269, Text: "A rejection resolves its request and rejects all others of the same session, and none of another one; a message " +
			"with it reaches the first alone.",
			Ours: "The session's open questions are dismissed with them.", Run: rejects},
		{Number: 271, Text: "An interrupt of a tool that waits for an answer takes its request off the list.",
			Ours: "The request is withdrawn by an event, also when it would have outlived a shutdown.",
			Run: func(t *testing.T) {
				waitEnds(t, false, session.ErrInterrupted, 0)
				waitEnds(t, true, session.ErrInterrupted, 0)
			}},
		{Number: 272, Text: "Approvals are listed by project, a second one of the same kind adds nothing, and one is removed by its id.",
			Ours: "The id says what is approved: given again after its removal, an approval has the id that it had.", Run: savedApprovals},
		{Number: 274, Text: "A shutdown rejects what is open.",
			Ours: "A request that came before any effect stays open, for the next host to go on with; one of a call that had an effect is withdrawn.",
			Run: func(t *testing.T) {
				waitEnds(t, false, session.ErrShutdown, 0)
				waitEnds(t, true, session.ErrShutdown, 1)
			}},
	})
}

// waitEnds ends the wait of a call that has had an effect, or none before it, and
// counts the requests that stay open.
func waitEnds(t *testing.T, before bool, cause error, left int) {
	t.Helper()
	d := newOffice(t, nil, askBash())
	id := d.make("/p", "")
	ctx, stop := context.WithCancelCause(t.Context())
	request := bash("ls")
	request.Before = before
	done := d.authorise(ctx, d.asker(id), request)
	d.asked(id, 1)
	stop(cause)
	if err := outcomeOf(t, done); !errors.Is(err, cause) {
		t.Errorf("before an effect %v: got %v", before, err)
	}
	if open := d.asked(id, 0); len(open) != left {
		t.Errorf("before an effect %v: open %+v", before, open)
	}
	withdrawn := 0
	for _, reply := range d.events(id, session.PermissionReplied{}) {
		if strings.Contains(reply, `"withdrawn"`) {
			withdrawn++
		}
	}
	equal(t, "withdrawals", 1-left, withdrawn)
}

func lastMatch(t *testing.T) {
	if got, _ := session.Decide(nil, nil, "bash", []string{"ls"}); got != session.Ask {
		t.Errorf("without a rule: %s", got)
	}
	rules := []session.Rule{{Action: "bash", Resource: "rm x", Effect: session.Deny}, {Action: "bash", Resource: "rm *", Effect: session.Allow}}
	if got, _ := session.Decide(rules, nil, "bash", []string{"rm x"}); got != session.Allow {
		t.Errorf("the last match: %s", got)
	}
}

func wildcards(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"git *", "git", true}, {"git *", "git push", true}, {"git *", "gitk", false}, {"*.env", "a/b.env", true},
		{"src/?.go", "src/a.go", true}, {"src/?.go", "src/ab.go", false}, {"src/?.go", "src/.go", false},
	} {
		if got := session.Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func strictest(t *testing.T) {
	rules := []session.Rule{{Action: "bash", Resource: "ls", Effect: session.Allow}, {Action: "bash", Resource: "rm", Effect: session.Deny}}
	if got, on := session.Decide(rules, nil, "bash", []string{"ls", "cp"}); got != session.Ask || on != "cp" {
		t.Errorf("allowed and asked: %s on %q", got, on)
	}
	if got, on := session.Decide(rules, nil, "bash", []string{"ls", "rm"}); got != session.Deny || on != "rm" {
		t.Errorf("allowed and denied: %s on %q", got, on)
	}
}

func unknownAgent(t *testing.T) {
	d := newOffice(t, nil, session.Rule{Action: "*", Resource: "*", Effect: session.Allow})
	asker := d.asker(d.make("/p", ""))
	asker.Agent = "nobody"
	if denied := refusal(t, d.Authorise(t.Context(), asker, bash("ls"))); denied.Declined || denied.Resource != "ls" {
		t.Errorf("an unknown agent: %+v", denied)
	}
	if denied := refusal(t, d.Authorise(t.Context(), asker, bash())); denied.Resource != "" {
		t.Errorf("without resources: %+v", denied)
	}
	if got, err := d.Effects(t.Context(), asker, "", "read", []string{"a"}); err != nil || !slices.Equal(got, []session.Effect{session.Deny}) {
		t.Errorf("its effects: %v, %v", got, err)
	}
	if !d.Hides([]session.Session{{}}, "nobody", "", "read") {
		t.Error("an unknown agent is offered tools")
	}
	asker.Session = d.Encoder.IDs.New(session.PrefixSession)
	if err := d.Authorise(t.Context(), asker, bash("ls")); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a missing session: %v", err)
	}
}

func asksOnce(t *testing.T) {
	d := newOffice(t, nil, askBash(), session.Rule{Action: "bash", Resource: "rm *", Effect: session.Deny})
	id := d.make("/p", "")
	if err := d.Authorise(t.Context(), d.asker(id), session.PermissionRequest{Action: "read", Resources: []string{"a"}}); err != nil {
		t.Error(err)
	}
	refusal(t, d.Authorise(t.Context(), d.asker(id), bash("rm x")))
	effects, err := d.Effects(t.Context(), d.asker(id), "", "bash", []string{"ls", "rm x"})
	if err != nil || !slices.Equal(effects, []session.Effect{session.Ask, session.Deny}) {
		t.Errorf("effects %v, %v", effects, err)
	}
	if open := d.asked(id, 0); len(open) != 0 {
		t.Fatalf("open %+v", open)
	}
	done := d.authorise(t.Context(), d.asker(id), bash("ls"))
	open := d.asked(id, 1)
	if len(open) != 1 || open[0].Agent != "build" || open[0].Call != "call" || open[0].Message != "msg" {
		t.Fatalf("open %+v", open)
	}
	d.reply(open[0].Request, session.ReplyOnce, "")
	if err := outcomeOf(t, done); err != nil {
		t.Error(err)
	}
	if asked := d.events(id, session.PermissionAsked{}); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
}

func onceSavesNothing(t *testing.T) {
	d := newOffice(t, nil, askBash())
	id := d.make("/p", "")
	done := d.authorise(t.Context(), d.asker(id), bash("ls"))
	request := d.asked(id, 1)[0]
	d.reply(request.Request, session.ReplyOnce, "")
	if err := outcomeOf(t, done); err != nil {
		t.Error(err)
	}
	if saved, err := d.Approvals(t.Context(), ""); err != nil || len(saved) != 0 {
		t.Errorf("saved %+v, %v", saved, err)
	}
	if want := []string{fmt.Sprint(id, " ", request.Seq+1)}; !slices.Equal(d.woken(), want) {
		t.Errorf("woken %q, want %q", d.woken(), want)
	}
}

func rejects(t *testing.T) {
	for _, feedback := range []string{"", "use another"} {
		d := newOffice(t, nil, askBash())
		id, other := d.make("/p", ""), d.make("/p", "")
		first := d.authorise(t.Context(), d.asker(id), bash("a"))
		request := d.asked(id, 1)[0]
		second := d.authorise(t.Context(), d.asker(id), bash("b"))
		d.asked(id, 2)
		question := d.question(t.Context(), d.asker(id), colour())
		d.Await(id, session.QuestionAsked{}.EventType(), 1)
		elsewhere := d.authorise(t.Context(), d.asker(other), bash("a"))
		untouched := d.asked(other, 1)[0]
		d.reply(request.Request, session.ReplyReject, feedback)
		if got := refusal(t, outcomeOf(t, first)); got.Feedback != feedback || got.Declined != (feedback == "") {
			t.Errorf("the first: %+v", got)
		}
		if got := refusal(t, outcomeOf(t, second)); got.Feedback != "" || !got.Declined {
			t.Errorf("the second: %+v", got)
		}
		if got := refusal(t, outcomeOf(t, question)); got.Action != "question" || !got.Declined {
			t.Errorf("the question: %+v", got)
		}
		if open := d.asked(other, 0); len(open) != 1 {
			t.Errorf("the other session: %+v", open)
		}
		if page, err := d.Log.Read(t.Context(), id, request.Seq+2, 10); err != nil || len(page.Events) != 3 || page.Events[2].Cause != request.Request {
			t.Errorf("three closings, each because of the first: %+v, %v", page.Events, err)
		}
		d.reply(untouched.Request, session.ReplyOnce, "")
		if err := outcomeOf(t, elsewhere); err != nil {
			t.Error(err)
		}
	}
}
