package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// priced has a model that costs a nano-dollar per token.
func priced() Models {
	price := &session.Price{Input: 1_000_000, Output: 1_000_000}
	return Models{"scripted/m1": {ModelInfo: session.ModelInfo{Price: price}}}
}

func limited(budget session.Budget) runner.Config {
	return configured(func(c *runner.Config) { c.Budgets = []session.Budget{budget} })
}

// Say uses 12 tokens, so after one answer a session has spent 12 tokens, 12
// nano-dollars and one turn.
func TestABudgetThatStops(t *testing.T) {
	for name, test := range map[string]struct {
		budget session.Budget
		models Models
		stops  bool
		says   string
	}{
		"tokens used up":        {session.Budget{Tokens: 12, Per: session.PerSession}, nil, true, "12 tokens"},
		"tokens left":           {session.Budget{Tokens: 13, Per: session.PerSession}, nil, false, ""},
		"cost used up":          {session.Budget{CostNano: 12, Per: session.PerSession}, priced(), true, "$0.000000012"},
		"cost left":             {session.Budget{CostNano: 13, Per: session.PerSession}, priced(), false, ""},
		"cost that is unknown":  {session.Budget{CostNano: 1, Per: session.PerSession}, nil, false, ""},
		"turns used up":         {session.Budget{Turns: 1, Per: session.PerSession}, nil, true, "1 turns"},
		"turns left":            {session.Budget{Turns: 2, Per: session.PerSession}, nil, false, ""},
		"the day's are used up": {session.Budget{Tokens: 12, Per: session.PerDay}, nil, true, "budget of the day"},
	} {
		t.Run(name, func(t *testing.T) {
			test.budget.Action = session.BudgetStop
			w := New(t, Options{Models: test.models, Config: limited(test.budget)})
			w.Provider.Script(Say("Hello"), Say("Again"))
			id := w.Create()
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
			if got := ended(w, id); got.Outcome != session.Completed {
				t.Fatalf("the first activity ended with %+v", got)
			}
			w.Prompt(id, "More", session.Steer)
			got := outcome(t, w, id, 2)
			if !test.stops {
				if got.Outcome != session.Completed || len(inbox(w, id)) != 0 {
					t.Errorf("ended %+v", got)
				}
				return
			}
			if got.Outcome != session.Failed || code(got.Error) != session.FailureBudget || !strings.Contains(got.Error.Message, test.says) {
				t.Errorf("ended %+v", got.Error)
			}
			only(t, w.Provider.Requests())
			if waiting := only(t, inbox(w, id)); waiting.Prompt.Text != "More" {
				t.Errorf("waiting %+v", waiting)
			}
		})
	}
}

// What stops in the middle of an activity ends it before its next turn.
func TestABudgetStopsAnActivity(t *testing.T) {
	w := New(t, Options{Config: limited(session.Budget{Turns: 1, Per: session.PerSession, Action: session.BudgetStop})})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Say("too many"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	if got := outcome(t, w, id, 1); got.Outcome != session.Failed || code(got.Error) != session.FailureBudget {
		t.Errorf("ended %+v", got)
	}
	only(t, w.Provider.Requests())
}

// The day is everybody's, a session's own budget is its own, and what a child spends
// its ancestors spend too.
func TestWhoseBudgetItIs(t *testing.T) {
	spends := func(w *World, id string) session.ActivityEnded {
		w.Provider.Script(Say("Hello"))
		n := len(payloads[session.ActivityEnded](w, id))
		w.Prompt(id, "Hi", session.Steer)
		return outcome(w.T.(*testing.T), w, id, n+1)
	}
	one := session.Budget{Turns: 1, Per: session.PerSession, Action: session.BudgetStop}
	t.Run("each session has its own", func(t *testing.T) {
		w := New(t, Options{Config: limited(one)})
		for range 2 {
			if got := spends(w, w.Create()); got.Outcome != session.Completed {
				t.Errorf("ended %+v", got)
			}
		}
	})
	t.Run("all share the day", func(t *testing.T) {
		day := one
		day.Per = session.PerDay
		w := New(t, Options{Config: limited(day)})
		spends(w, w.Create())
		if got := spends(w, w.Create()); code(got.Error) != session.FailureBudget {
			t.Errorf("ended %+v", got)
		}
	})
	t.Run("of a session alone", func(t *testing.T) {
		w := New(t, Options{})
		bounded := w.Create()
		put(w, bounded, session.BudgetsChanged{Budgets: []session.Budget{one}})
		spends(w, bounded)
		if got := spends(w, bounded); code(got.Error) != session.FailureBudget {
			t.Errorf("ended %+v", got)
		}
		if got := spends(w, w.Create()); got.Outcome != session.Completed {
			t.Errorf("ended %+v", got)
		}
	})
	t.Run("a child spends its parent's", func(t *testing.T) {
		w := New(t, Options{})
		parent := w.Create()
		put(w, parent, session.BudgetsChanged{Budgets: []session.Budget{one}})
		child := childOf(w, parent)
		if got := spends(w, child); got.Outcome != session.Completed {
			t.Errorf("ended %+v", got)
		}
		for _, id := range []string{child, parent} {
			if got := spends(w, id); code(got.Error) != session.FailureBudget {
				t.Errorf("ended %+v", got)
			}
		}
	})
}

// childOf makes a session under another.
func childOf(w *World, parent string) string {
	w.T.Helper()
	id := w.Encoder.IDs.New(session.PrefixSession)
	put(w, id, session.Created{Parent: parent, Depth: 1, Agent: session.DefaultAgent, Location: session.Location{Directory: "/work", Root: "/work"},
		Model: session.ModelRef{Provider: "scripted", Model: "m1"}})
	return id
}

// asksOver is a world whose second turn is over a budget that asks.
func asksOver(t *testing.T) (w *World, id string) {
	w = New(t, Options{Rules: []session.Rule{{Action: "budget", Resource: "*", Effect: session.Ask}},
		Config: limited(session.Budget{Turns: 1, Per: session.PerSession, Action: session.BudgetAsk})})
	w.Contribute("core/tools", w.Kinds.Tools.Contribute("work", 0, session.Tool(Tool{Define: session.ToolDefinition{Name: "work"}, Run: quiet})))
	w.Provider.Script(Calls("work", `{"n":1}`), Calls("work", `{"n":2}`), Say("Done"))
	id = w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Await(id, session.PermissionAsked{}.EventType(), 1)
	return w, id
}

func TestABudgetThatAsks(t *testing.T) {
	t.Run("allowed to the activity's end", func(t *testing.T) {
		w, id := asksOver(t)
		asked := only(t, payloads[session.PermissionAsked](w, id))
		if asked.Ask.Action != "budget" || !strings.Contains(asked.Ask.Resources[0], "allow the request to go on") {
			t.Errorf("asked %+v", asked.Ask)
		}
		reply(w, asked.Request, session.ReplyOnce)
		if got := outcome(t, w, id, 1); got.Outcome != session.Completed || len(w.Provider.Requests()) != 3 {
			t.Errorf("ended %+v after %d requests", got, len(w.Provider.Requests()))
		}
		only(t, payloads[session.PermissionAsked](w, id))
		// The next activity is asked about again.
		w.Provider.Script(Say("More"))
		w.Prompt(id, "More", session.Steer)
		w.Await(id, session.PermissionAsked{}.EventType(), 2)
		reply(w, payloads[session.PermissionAsked](w, id)[1].Request, session.ReplyReject)
		// The prompt waits and asks no more by itself.
		if got := outcome(t, w, id, 2); got.Outcome != session.Halted || len(inbox(w, id)) != 1 {
			t.Errorf("ended %+v with %d waiting", got, len(inbox(w, id)))
		}
		if got := payloads[session.PermissionAsked](w, id); len(got) != 2 {
			t.Errorf("asked %d times", len(got))
		}
	})
	t.Run("declined", func(t *testing.T) {
		w, id := asksOver(t)
		reply(w, only(t, payloads[session.PermissionAsked](w, id)).Request, session.ReplyReject)
		if got := outcome(t, w, id, 1); got.Outcome != session.Halted || code(got.Error) != session.FailureDeclined {
			t.Errorf("ended %+v", got)
		}
		only(t, w.Provider.Requests())
	})
	t.Run("interrupted", func(t *testing.T) {
		w, id := asksOver(t)
		interrupt(w, id)
		if got := outcome(t, w, id, 1); got.Outcome != session.Interrupted {
			t.Errorf("ended %+v", got)
		}
		if open, err := w.Permissions.List(t.Context(), id); err != nil || len(open) != 0 {
			t.Errorf("left open: %v, %v", open, err)
		}
	})
}

// A boundary that waited when its process died asks again, and only once.
func TestABudgetIsAskedAgainAfterACrash(t *testing.T) {
	dead, id := asksOver(t)
	w := New(t, Options{Dir: crashed(t, dead, id, session.PermissionAsked{}.EventType(), 1)})
	if again, err := w.Runner.Recover(t.Context(), id); err != nil || !again {
		t.Fatalf("goes on by itself: %v, %v", again, err)
	}
	if open, err := w.Permissions.List(t.Context(), id); err != nil || len(open) != 0 {
		t.Errorf("left open: %v, %v", open, err)
	}
}

// A shutdown does not wait for the answer, and the next host asks again.
func TestAShutdownWhileABudgetAsks(t *testing.T) {
	rules := []session.Rule{{Action: "budget", Resource: "*", Effect: session.Ask}}
	bubble(t, Options{Rules: rules, Config: limited(session.Budget{Turns: 1, Per: session.PerSession, Action: session.BudgetAsk})},
		func(t *testing.T, w *World, id string) {
			w.Contribute("core/tools", echo(w))
			w.Provider.Script(Calls("echo", `{}`))
			w.Prompt(id, "Go", session.Steer)
			synctest.Wait()
			only(t, payloads[session.PermissionAsked](w, id))
			began := time.Now()
			w.Coordinator.Close(time.Hour)
			if passed := time.Since(began); passed != 0 {
				t.Errorf("the shutdown took %v", passed)
			}
			if got := only(t, payloads[session.ActivitySuspended](w, id)); got.Reason != session.SuspendedByShutdown {
				t.Errorf("suspended %+v", got)
			}
			if open, err := w.Permissions.List(t.Context(), id); err != nil || len(open) != 0 {
				t.Errorf("left open: %v, %v", open, err)
			}
		})
}

// The day's budget is asked about once, however many ancestors share it.
func TestTheDayIsAskedAboutOnce(t *testing.T) {
	w := New(t, Options{Rules: []session.Rule{{Action: "budget", Resource: "*", Effect: session.Ask}},
		Config: limited(session.Budget{Turns: 1, Per: session.PerDay, Action: session.BudgetAsk})})
	parent := w.Create()
	w.Provider.Script(Say("One"), Say("Two"))
	w.Prompt(parent, "Hi", session.Steer)
	w.Settled(parent, 1)
	child := childOf(w, parent)
	w.Prompt(child, "Hi", session.Steer)
	w.Await(child, session.PermissionAsked{}.EventType(), 1)
	reply(w, only(t, payloads[session.PermissionAsked](w, child)).Request, session.ReplyOnce)
	if got := outcome(t, w, child, 1); got.Outcome != session.Completed {
		t.Errorf("ended %+v", got)
	}
	only(t, payloads[session.PermissionAsked](w, child))
}

// What a step cost is with the step and in the totals; unknown stays unknown.
func TestCostOfAStep(t *testing.T) {
	for name, test := range map[string]struct {
		models   Models
		cost     int64
		unpriced int64
	}{"priced": {priced(), 12, 0}, "unknown": {nil, -1, 1}} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Models: test.models})
			w.Provider.Script(Say("Hello"))
			id := w.Create()
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
			step := only(t, assistants(w, id))
			if known := step.Cost != nil; known != (test.cost >= 0) || known && *step.Cost != test.cost {
				t.Errorf("cost %v, want %d", step.Cost, test.cost)
			}
			var totals session.Totals
			err := w.Log.View(t.Context(), func(tx store.Tx) (err error) {
				totals, err = session.LoadTotals(t.Context(), tx, id)
				return err
			})
			want := session.Totals{Usage: session.Usage{Input: 10, Output: 2}, CostNano: max(test.cost, 0), Unpriced: test.unpriced, Turns: 1}
			if err != nil || totals != want {
				t.Errorf("totals %+v, want %+v: %v", totals, want, err)
			}
		})
	}
}
