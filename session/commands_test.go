package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

// roster is the default agents, of which build and plan can be chosen.
func roster(t *testing.T) *session.Agents {
	t.Helper()
	agents, err := session.NewAgents(session.DefaultAgents(), session.DefaultAgent)
	if err != nil {
		t.Fatal(err)
	}
	return agents
}

func TestChange(t *testing.T) {
	d := newDesk(t, session.SessionOptions{Agents: roster(t)})
	id := d.create()
	ctx, by := t.Context(), session.System()
	model := session.ModelRef{Provider: "p", Model: "m/x"}
	rules := []session.Rule{{Action: "bash", Resource: "git *", Effect: session.Ask}}
	budgets := []session.Budget{{Turns: 3, Per: session.PerSession, Action: session.BudgetStop}}
	commands := map[string]func() (session.Session, error){
		"agent":   func() (session.Session, error) { return d.sessions.SwitchAgent(ctx, by, id, "plan") },
		"model":   func() (session.Session, error) { return d.sessions.SwitchModel(ctx, by, id, model) },
		"rules":   func() (session.Session, error) { return d.sessions.SetRules(ctx, by, id, rules) },
		"budgets": func() (session.Session, error) { return d.sessions.SetBudgets(ctx, by, id, budgets) },
		"move":    func() (session.Session, error) { return d.sessions.Move(ctx, by, id, "/elsewhere") },
	}
	for _, name := range []string{"agent", "model", "rules", "budgets", "move"} {
		before := len(d.types(id))
		for range 2 { // the second finds it as it shall be
			if _, err := commands[name](); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if recorded := len(d.types(id)) - before; recorded != 1 {
			t.Errorf("%s recorded %d events", name, recorded)
		}
	}
	want := []string{"session.agent.switched", "session.model.switched", "session.rules.changed", "session.budgets.changed", "session.moved"}
	if diff := cmp.Diff(want, d.types(id)); diff != "" {
		t.Error(diff)
	}
	s := d.session(id)
	if s.Agent != "plan" || s.Model != model || s.Location.Directory != "/elsewhere" || !slices.Equal(s.Rules, rules) || !slices.Equal(s.Budgets, budgets) {
		t.Errorf("%+v", s)
	}
	none := []session.Rule(nil)
	s, err := d.sessions.Change(ctx, by, id, session.Change{Agent: "build", Rules: &none, Budgets: &budgets})
	if err != nil || s.Agent != "build" || len(s.Rules) != 0 || len(s.Budgets) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if n := len(d.types(id)); n != 7 {
		t.Errorf("%v", d.types(id))
	}
	if len(d.wakes.take()) != 0 {
		t.Error("a change woke the session")
	}
}

func TestChangeRefuses(t *testing.T) {
	d := newDesk(t, session.SessionOptions{Agents: roster(t)})
	id := d.create()
	ctx, by := t.Context(), session.System()
	change := func(c session.Change) error { _, err := d.sessions.Change(ctx, by, id, c); return err }
	rule := func(r session.Rule) error { return change(session.Change{Agent: "plan", Rules: &[]session.Rule{r}}) }
	budget := func(b session.Budget) error {
		return change(session.Change{Agent: "plan", Budgets: &[]session.Budget{b}})
	}
	for name, err := range map[string]error{
		"no agent":              second(d.sessions.SwitchAgent(ctx, by, id, "")),
		"unknown agent":         change(session.Change{Agent: "none"}),
		"agent's name":          change(session.Change{Agent: "a b"}),
		"model without name":    change(session.Change{Agent: "plan", Model: &session.ModelRef{Provider: "p"}}),
		"rule's effect":         rule(session.Rule{Action: "a", Resource: "*", Effect: "maybe"}),
		"rule's resource":       rule(session.Rule{Action: "a", Effect: session.Deny}),
		"too many rules":        change(session.Change{Rules: new(make([]session.Rule, 257))}),
		"budget of nothing":     budget(session.Budget{Per: session.PerDay, Action: session.BudgetAsk}),
		"budget below 0":        budget(session.Budget{Turns: -1, Per: session.PerDay, Action: session.BudgetAsk}),
		"budget's span":         budget(session.Budget{Turns: 1, Per: "year", Action: session.BudgetAsk}),
		"budget's action":       budget(session.Budget{Turns: 1, Per: session.PerDay, Action: "pay"}),
		"place elsewhere":       second(d.sessions.Move(ctx, by, id, "remote")),
		"no place":              second(d.sessions.Move(ctx, by, id, "")),
		"synthetic of no text":  second(d.sessions.Synthetic(ctx, by, session.SyntheticRequest{Session: id})),
		"synthetic's id":        second(d.sessions.Synthetic(ctx, by, session.SyntheticRequest{ID: "msg_1", Session: id, Text: "x"})),
		"created by a stranger": third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Agent: "none"})),
		"created with a rule":   third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Rules: []session.Rule{{}}})),
		"created with a budget": third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Budgets: []session.Budget{{}}})),
		"created with no title": third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Title: " "})),
		"created with lines":    third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Title: "a\nb"})),
		"created with a novel":  third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Title: strings.Repeat("ü", session.MaxTitle+1)})),
		"created elsewhere":     third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "remote"})),
	} {
		if !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := d.types(id); len(got) != 0 {
		t.Errorf("a refused command left %v", got)
	}
	none := d.id(session.PrefixSession)
	for name, err := range map[string]error{
		"change":    second(d.sessions.Change(ctx, by, none, session.Change{Agent: "plan"})),
		"move":      second(d.sessions.Move(ctx, by, none, "/w")),
		"resume":    second(d.sessions.Resume(ctx, by, none)),
		"interrupt": second(d.sessions.Interrupt(ctx, by, none)),
		"synthetic": second(d.sessions.Synthetic(ctx, by, session.SyntheticRequest{Session: none, Text: "x"})),
		"children":  second(d.sessions.Children(ctx, none)),
		"spent":     second(d.sessions.Totals(ctx, none)),
		"timeline":  second(d.sessions.Timeline(ctx, none, -1, 1)),
	} {
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s of a session that is not there: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func third[A, B any](_ A, _ B, err error) error { return err }

// TestResume: the request is durable, and the wake has its sequence.
func TestResume(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	seq, err := d.sessions.Resume(t.Context(), session.Origin{Actor: "token:ann", Cause: "req"}, id)
	if err != nil {
		t.Fatal(err)
	}
	event := d.events(id)[1]
	if event.Type != "session.resume.requested" || event.Seq != seq || event.Actor != "token:ann" || event.Cause != "req" {
		t.Errorf("%+v", event)
	}
	if got := d.wakes.take(); !slices.Equal(got, []int64{seq}) || d.session(id).Resume != seq {
		t.Errorf("woken by %v, resume %d", got, d.session(id).Resume)
	}
	d.append(id, session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByResume})
	if got := d.session(id).Resume; got != -1 {
		t.Errorf("served, and still %d", got)
	}
}

func TestSynthetic(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	ctx, by := t.Context(), session.System()
	request := session.SyntheticRequest{ID: d.id(session.PrefixMessage), Session: id, Text: "The shell said 2", Description: "from the shell", Ignored: true}
	for range 2 {
		if got, err := d.sessions.Synthetic(ctx, by, request); err != nil || got != request.ID {
			t.Errorf("%s, %v", got, err)
		}
	}
	messages := d.messages(id)
	if len(messages) != 1 || messages[0].Type != session.MessageSynthetic || messages[0].Text != request.Text || !messages[0].Ignored {
		t.Errorf("%+v", messages)
	}
	other := request
	other.Ignored = false
	_, err := d.sessions.Synthetic(ctx, by, other)
	wantConflict(t, err)
	other.Session = d.create()
	_, err = d.sessions.Synthetic(ctx, by, other)
	wantConflict(t, err)
	if made, err := d.sessions.Synthetic(ctx, by, session.SyntheticRequest{Session: id, Text: "x"}); err != nil || session.CheckID(session.PrefixMessage, made) != nil {
		t.Errorf("%s, %v", made, err)
	}
	if len(d.wakes.take()) != 0 {
		t.Error("a message woke the session")
	}
}

func TestChildrenAndSpent(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	parent := d.create()
	ctx, by := t.Context(), session.System()
	var want []string
	for range 3 {
		child, _, err := d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/work", Parent: parent, Depth: 1,
			Rules: []session.Rule{{Action: "*", Resource: "*", Effect: session.Deny}}, Budgets: []session.Budget{{Tokens: 5, Per: session.PerSession, Action: session.BudgetAsk}}})
		if err != nil || child.Parent != parent || child.Depth != 1 || len(child.Rules) != 1 || len(child.Budgets) != 1 {
			t.Fatalf("%+v, %v", child, err)
		}
		want = append(want, child.ID)
	}
	children, err := d.sessions.Children(ctx, parent)
	var got []string
	for _, child := range children {
		got = append(got, child.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	cost := int64(7)
	message := d.assistant(got[0])
	d.append(got[0], session.StepEnded{Message: message, Finish: session.FinishStop, Usage: &session.Usage{Input: 3, Output: 2}, Cost: &cost})
	mine := d.assistant(parent)
	d.append(parent, session.StepEnded{Message: mine, Finish: session.FinishStop, Usage: &session.Usage{Input: 10}})
	spent, err := d.sessions.Totals(ctx, parent)
	if diff := cmp.Diff(session.Totals{Usage: session.Usage{Input: 13, Output: 2}, CostNano: 7, Unpriced: 1}, spent); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestTimeline(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	prompt := session.Prompt{Text: "@plan do", Agents: []session.PromptAgent{{Name: "plan", Source: &session.PromptSource{Start: 0, End: 5, Text: "@plan"}}}}
	d.promote(d.admit(session.PromptRequest{Session: id, Prompt: prompt}))
	d.append(id, session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByPrompt},
		session.TurnStarted{Activity: "act_1", Turn: 1, Step: 1, Attempt: 1},
		session.RetryScheduled{Activity: "act_1", Turn: 1, Attempt: 2, At: 99, Error: session.Failure{Code: session.ProviderRateLimit}})
	message := d.assistant(id)
	d.append(id, session.TextEnded{Message: message, Part: "text-0", Text: "done"},
		session.StepEnded{Message: message, Finish: session.FinishStop, Snapshot: "s2", Files: []session.FileDiff{{Path: "a", Additions: 1}}})
	messages, err := d.sessions.Timeline(t.Context(), id, -1, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		for _, part := range m.Parts {
			got = append(got, part.Type)
		}
	}
	want := []string{"text", "agent", "step_start", "retry", "text", "snapshot", "patch", "step_finish"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
