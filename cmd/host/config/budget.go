package config

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// budgetTable is one [[budgets]] as it is written. A nil field was not set.
type budgetTable struct {
	Tokens *int64  `toml:"tokens"`
	Cost   any     `toml:"cost"` // dollars, a number or a string
	Turns  *int64  `toml:"turns"`
	Per    *string `toml:"per"`    // session
	Action *string `toml:"action"` // stop
}

// budgets takes the tables over. Nothing else gives their settings.
func (l *loader) budgets(tables []budgetTable) {
	for i, table := range tables {
		l.config.Budgets = append(l.config.Budgets, l.budget(join("budgets", strconv.Itoa(i)), table))
	}
}

func (l *loader) budget(at string, table budgetTable) session.Budget {
	budget := session.Budget{Per: session.PerSession, Action: session.BudgetStop}
	if table.Per != nil {
		budget.Per = session.BudgetSpan(*table.Per)
		l.oneOf(join(at, "per"), *table.Per, string(session.PerSession), string(session.PerDay))
	}
	if table.Action != nil {
		budget.Action = session.BudgetAction(*table.Action)
		l.oneOf(join(at, "action"), *table.Action, string(session.BudgetStop), string(session.BudgetAsk))
	}
	budget.Tokens = l.limit(join(at, "tokens"), table.Tokens)
	budget.Turns = l.limit(join(at, "turns"), table.Turns)
	if table.Cost != nil {
		var err error
		if budget.CostNano, err = nanoDollars(table.Cost); err != nil {
			l.problem(join(at, "cost"), table.Cost, "%v", err)
		}
	}
	if table.Tokens == nil && table.Turns == nil && table.Cost == nil {
		l.problem(at, nil, "limits nothing; give tokens, cost or turns")
	}
	return budget
}

// limit answers a limit that was given; one of 0 would stop everything or nothing.
func (l *loader) limit(key string, given *int64) int64 {
	if given == nil {
		return 0
	}
	if *given < 1 {
		l.problem(key, *given, "must be at least 1; leave it out for no limit")
	}
	return *given
}

// nanoDollars reads an amount of dollars exactly: as a string, or as the shortest
// decimal number that a number of the file can be.
func nanoDollars(amount any) (int64, error) {
	wrong := errors.New(`must be an amount of dollars above 0, like "12.50", with at most nine decimals`)
	var text string
	switch v := amount.(type) {
	case string:
		text = v
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	whole, decimals, point := strings.Cut(text, ".")
	if len(decimals) > 9 || point && decimals == "" || strings.ContainsFunc(whole+decimals, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, wrong
	}
	dollars, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || dollars >= math.MaxInt64/1_000_000_000 {
		return 0, wrong
	}
	nano, err := strconv.ParseInt((decimals + "000000000")[:9], 10, 64)
	if err != nil || dollars == 0 && nano == 0 {
		return 0, wrong
	}
	return dollars*1_000_000_000 + nano, nil
}
