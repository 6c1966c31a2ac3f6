package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
)

func TestBudgets(t *testing.T) {
	_, environ := home(t, `
[[budgets]]
tokens = 500000
[[budgets]]
cost = 12.1
per = "day"
action = "ask"
[[budgets]]
cost = "0.000000001"
turns = 3
[[budgets]]
cost = 7
[[budgets]]
cost = "9223372035.999999999"
`)
	loaded, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	want := []session.Budget{
		{Tokens: 500000, Per: session.PerSession, Action: session.BudgetStop},
		{CostNano: 12_100_000_000, Per: session.PerDay, Action: session.BudgetAsk},
		{CostNano: 1, Turns: 3, Per: session.PerSession, Action: session.BudgetStop},
		{CostNano: 7_000_000_000, Per: session.PerSession, Action: session.BudgetStop},
		{CostNano: 9223372035_999_999_999, Per: session.PerSession, Action: session.BudgetStop},
	}
	if diff := cmp.Diff(want, loaded.Budgets); diff != "" {
		t.Error(diff)
	}
}

func TestProblemsOfBudgets(t *testing.T) {
	const amount = `: must be an amount of dollars above 0, like "12.50", with at most nine decimals`
	for name, test := range map[string]struct{ text, want string }{
		"nothing":       {"[[budgets]]\ntokens = 1\n[[budgets]]\nper = \"day\"", "FILE:3: budgets.1: limits nothing; give tokens, cost or turns"},
		"unknown":       {"[[budgets]]\ntokens = 1\ntoken = 1", "FILE:3: budgets.0.token: unknown key; known here: tokens, cost, turns, per, action"},
		"tokens":        {"[[budgets]]\ntokens = 0", "FILE:2: budgets.0.tokens = 0: must be at least 1; leave it out for no limit"},
		"turns":         {"[[budgets]]\nturns = -1", "FILE:2: budgets.0.turns = -1: must be at least 1"},
		"tokens' kind":  {"[[budgets]]\ntokens = \"1\"", "FILE:2: budgets.tokens: must be a whole number"},
		"per":           {"[[budgets]]\ntokens = 1\nper = \"month\"", `FILE:3: budgets.0.per = "month": must be one of session, day`},
		"action":        {"[[budgets]]\ntokens = 1\naction = \"warn\"", `FILE:3: budgets.0.action = "warn": must be one of stop, ask`},
		"cost":          {"[[budgets]]\ncost = \"5 EUR\"", `FILE:2: budgets.0.cost = "5 EUR"` + amount},
		"no cost":       {"[[budgets]]\ncost = 0", "FILE:2: budgets.0.cost = 0" + amount},
		"negative":      {"[[budgets]]\ncost = -0.5", "FILE:2: budgets.0.cost = -0.5" + amount},
		"signed":        {"[[budgets]]\ncost = \"+1\"", `FILE:2: budgets.0.cost = "+1"` + amount},
		"too fine":      {"[[budgets]]\ncost = \"0.0000000001\"", `FILE:2: budgets.0.cost = "0.0000000001"` + amount},
		"too much":      {"[[budgets]]\ncost = \"9223372036\"", `FILE:2: budgets.0.cost = "9223372036"` + amount},
		"infinite":      {"[[budgets]]\ncost = inf", "FILE:2: budgets.0.cost = +Inf" + amount},
		"no decimals":   {"[[budgets]]\ncost = \"1.\"", `FILE:2: budgets.0.cost = "1."` + amount},
		"another kind":  {"[[budgets]]\ncost = true", "FILE:2: budgets.0.cost = true" + amount},
		"budgets' kind": {"budgets = 1", "FILE:1: budgets: must be a list of tables"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, environ := home(t, test.text)
			oneProblem(t, dir, environ, test.want)
		})
	}
}

func TestRunner(t *testing.T) {
	_, environ := home(t, `
[runner]
max_calls_per_turn = 1
recovery = "resume"
retry_attempts = 0
retry_max_wait_ms = 2
first_event_ms = 3
idle_ms = 4
shutdown_grace_ms = 0
max_pending = 5
max_steers = 6
structured_retries = 0
`)
	loaded, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Runner{MaxTurns: 25, MaxParallelTools: 16, MaxCallsPerTurn: 1, Recovery: session.RecoverResume, RetryMaxWaitMS: 2,
		FirstEventMS: 3, IdleMS: 4, MaxPending: 5, MaxSteers: 6}
	if diff := cmp.Diff(want, loaded.Runner); diff != "" {
		t.Error(diff)
	}
	for text, problem := range map[string]string{
		"max_calls_per_turn = 0":       "FILE:2: runner.max_calls_per_turn = 0: must be from 1 to 1024",
		"recovery = \"always\"":        `FILE:2: runner.recovery = "always": must be one of off, ask, resume`,
		"retry_attempts = -1":          "FILE:2: runner.retry_attempts = -1: must be from 0 to 100",
		"retry_max_wait_ms = 0":        "FILE:2: runner.retry_max_wait_ms = 0: must be from 1 to 86400000",
		"first_event_ms = 0":           "FILE:2: runner.first_event_ms = 0: must be from 1 to 86400000",
		"idle_ms = 90000000":           "FILE:2: runner.idle_ms = 90000000: must be from 1 to 86400000",
		"shutdown_grace_ms = 10000000": "FILE:2: runner.shutdown_grace_ms = 10000000: must be from 0 to 600000",
		"max_pending = 0":              "FILE:2: runner.max_pending = 0: must be from 1 to 10000",
		"max_steers = 0":               "FILE:2: runner.max_steers = 0: must be from 1 to 1000",
		"structured_retries = 11":      "FILE:2: runner.structured_retries = 11: must be from 0 to 10",
	} {
		t.Run(text, func(t *testing.T) {
			dir, environ := home(t, "[runner]\n"+text)
			oneProblem(t, dir, environ, problem)
		})
	}
}
