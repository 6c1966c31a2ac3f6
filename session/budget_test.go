package session_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

func TestExceeded(t *testing.T) {
	tokens := session.Budget{Tokens: 100, Per: session.PerSession, Action: session.BudgetStop}
	cost := session.Budget{CostNano: 5e9, Per: session.PerDay, Action: session.BudgetStop}
	turns := session.Budget{Turns: 3, Per: session.PerSession, Action: session.BudgetAsk}
	all := session.Budget{Tokens: 10, CostNano: 10, Turns: 10, Per: session.PerDay, Action: session.BudgetAsk}
	for name, test := range map[string]struct {
		budgets      []session.Budget
		session, day session.Spent
		want         *session.BudgetError
	}{
		"none":           {nil, session.Spent{Tokens: 1e9}, session.Spent{}, nil},
		"below":          {[]session.Budget{tokens, cost, turns}, session.Spent{Tokens: 99, CostNano: 9e9, Turns: 2}, session.Spent{CostNano: 5e9 - 1}, nil},
		"at the limit":   {[]session.Budget{tokens}, session.Spent{Tokens: 100}, session.Spent{}, &session.BudgetError{Budget: tokens, Limit: "tokens", Spent: session.Spent{Tokens: 100}}},
		"of the day":     {[]session.Budget{tokens, cost}, session.Spent{}, session.Spent{Tokens: 1e6, CostNano: 6e9}, &session.BudgetError{Budget: cost, Limit: "cost", Spent: session.Spent{Tokens: 1e6, CostNano: 6e9}}},
		"first of two":   {[]session.Budget{turns, all}, session.Spent{Turns: 3}, session.Spent{Turns: 10}, &session.BudgetError{Budget: turns, Limit: "turns", Spent: session.Spent{Turns: 3}}},
		"stop beats ask": {[]session.Budget{turns, tokens}, session.Spent{Turns: 3, Tokens: 100}, session.Spent{}, &session.BudgetError{Budget: tokens, Limit: "tokens", Spent: session.Spent{Turns: 3, Tokens: 100}}},
		"limits of one":  {[]session.Budget{all}, session.Spent{Tokens: 99}, session.Spent{Tokens: 9, CostNano: 11, Turns: 11}, &session.BudgetError{Budget: all, Limit: "cost", Spent: session.Spent{Tokens: 9, CostNano: 11, Turns: 11}}},
		"cost unknown":   {[]session.Budget{cost}, session.Spent{}, session.Spent{CostUnknown: true}, nil},
		"unknown, turns": {[]session.Budget{all}, session.Spent{}, session.Spent{CostUnknown: true, Turns: 10}, &session.BudgetError{Budget: all, Limit: "turns", Spent: session.Spent{CostUnknown: true, Turns: 10}}},
		"known part":     {[]session.Budget{cost}, session.Spent{}, session.Spent{CostNano: 5e9, CostUnknown: true}, &session.BudgetError{Budget: cost, Limit: "cost", Spent: session.Spent{CostNano: 5e9, CostUnknown: true}}},
	} {
		if diff := cmp.Diff(test.want, session.Exceeded(test.budgets, test.session, test.day)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBudgetError(t *testing.T) {
	for want, err := range map[string]session.BudgetError{
		"the session's budget of 100 tokens is used up, with 120 spent; raise tokens in [[budgets]] of the configuration, or start a new session": {
			Budget: session.Budget{Tokens: 100, Per: session.PerSession, Action: session.BudgetStop}, Limit: "tokens", Spent: session.Spent{Tokens: 120}},
		"the budget of the day of $5.00 is used up, with $5.000000001 spent; raise cost in [[budgets]] of the configuration, or wait for the next day (UTC)": {
			Budget: session.Budget{CostNano: 5e9, Per: session.PerDay, Action: session.BudgetStop}, Limit: "cost", Spent: session.Spent{CostNano: 5e9 + 1}},
		"the session's budget of $0.125 is used up, with at least $1.20 spent; raise cost in [[budgets]] of the configuration, or allow the request to go on": {
			Budget: session.Budget{CostNano: 125e6, Per: session.PerSession, Action: session.BudgetAsk}, Limit: "cost", Spent: session.Spent{CostNano: 12e8, CostUnknown: true}},
		"the budget of the day of 7 turns is used up, with 7 spent; raise turns in [[budgets]] of the configuration, or allow the request to go on": {
			Budget: session.Budget{Turns: 7, Per: session.PerDay, Action: session.BudgetAsk}, Limit: "turns", Spent: session.Spent{Turns: 7}},
	} {
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUnpriced(t *testing.T) {
	budgets := []session.Budget{{Tokens: 5, Per: session.PerSession}, {CostNano: 2e9, Per: session.PerDay}}
	if said := session.Unpriced(budgets, session.Spent{CostUnknown: true}, session.Spent{CostNano: 3e9}); said != "" {
		t.Errorf("of a day whose cost is known: %s", said)
	}
	said := session.Unpriced(budgets, session.Spent{}, session.Spent{CostNano: 15e8, CostUnknown: true})
	if !strings.HasPrefix(said, "the budget of the day of $2.00 counts only what has a price, $1.50 so far") {
		t.Error(said)
	}
}
