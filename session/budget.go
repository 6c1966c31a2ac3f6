package session

import (
	"fmt"
	"strconv"
	"strings"
)

// Budget bounds what is spent. A limit of 0 is none.
type Budget struct {
	Tokens   int64        `json:"tokens,omitempty"`    // of input and output together, cached ones too
	CostNano int64        `json:"cost_nano,omitempty"` // nano-dollars
	Turns    int64        `json:"turns,omitempty"`     // provider turns
	Per      BudgetSpan   `json:"per"`
	Action   BudgetAction `json:"action"`
}

// BudgetSpan is what a budget is for.
type BudgetSpan string

// The spans.
const (
	PerSession BudgetSpan = "session" // each session by itself
	PerDay     BudgetSpan = "day"     // all sessions together on one day of UTC
)

// BudgetAction is what happens when a budget is reached.
type BudgetAction string

// The actions.
const (
	BudgetStop BudgetAction = "stop" // the activity ends
	BudgetAsk  BudgetAction = "ask"  // a person decides
)

// Spent is what was spent in a span.
type Spent struct {
	Tokens   int64
	CostNano int64
	Turns    int64
	// CostUnknown: for something of it no price is known, so CostNano is the least it
	// can have been.
	CostUnknown bool
}

// BudgetError is a budget that is reached.
type BudgetError struct {
	Budget Budget
	// Limit is the key of the limit: tokens, cost or turns.
	Limit string
	Spent Spent
}

// Exceeded answers the first budget that stops and is reached, else the first that
// asks, nil when none is: an answer to a question must not lead past a stop. A cost
// that is not known in full reaches a limit only by its known part.
func Exceeded(budgets []Budget, session, day Spent) *BudgetError {
	var asks *BudgetError
	for _, budget := range budgets {
		spent := budget.of(session, day)
		limit := budget.reached(spent)
		if limit == "" {
			continue
		}
		reached := &BudgetError{Budget: budget, Limit: limit, Spent: spent}
		if budget.Action == BudgetStop {
			return reached
		}
		if asks == nil {
			asks = reached
		}
	}
	return asks
}

// Unpriced answers what to tell a person of a cost budget that cannot be kept,
// because prices are missing; "" when there is none. It does not stop anything: the
// caller says it once per span, and budgets of tokens and turns hold as before.
func Unpriced(budgets []Budget, session, day Spent) string {
	for _, budget := range budgets {
		if spent := budget.of(session, day); budget.CostNano > 0 && spent.CostUnknown {
			return fmt.Sprintf("%s of %s counts only what has a price, %s so far: a model without prices was used; "+
				"give its prices in the configuration, or set tokens or turns in [[budgets]]", budget.name(), dollars(budget.CostNano), dollars(spent.CostNano))
		}
	}
	return ""
}

func (b Budget) of(session, day Spent) Spent {
	if b.Per == PerDay {
		return day
	}
	return session
}

// reached answers the key of the first limit that is reached, "" when none is.
func (b Budget) reached(spent Spent) string {
	for _, one := range []struct {
		key          string
		spent, limit int64
	}{{"tokens", spent.Tokens, b.Tokens}, {"cost", spent.CostNano, b.CostNano}, {"turns", spent.Turns, b.Turns}} {
		if one.limit > 0 && one.spent >= one.limit {
			return one.key
		}
	}
	return ""
}

func (b Budget) name() string {
	if b.Per == PerDay {
		return "the budget of the day"
	}
	return "the session's budget"
}

func (e *BudgetError) Error() string {
	var spent, limit string
	switch e.Limit {
	case "tokens":
		spent, limit = strconv.FormatInt(e.Spent.Tokens, 10), strconv.FormatInt(e.Budget.Tokens, 10)+" tokens"
	case "cost":
		spent, limit = dollars(e.Spent.CostNano), dollars(e.Budget.CostNano)
		if e.Spent.CostUnknown {
			spent = "at least " + spent
		}
	default:
		spent, limit = strconv.FormatInt(e.Spent.Turns, 10), strconv.FormatInt(e.Budget.Turns, 10)+" turns"
	}
	way := "start a new session"
	switch {
	case e.Budget.Action == BudgetAsk:
		way = "allow the request to go on"
	case e.Budget.Per == PerDay:
		way = "wait for the next day (UTC)"
	}
	return fmt.Sprintf("%s of %s is used up, with %s spent; raise %s in [[budgets]] of the configuration, or %s",
		e.Budget.name(), limit, spent, e.Limit, way)
}

// dollars writes nano-dollars exactly, with at least two places.
func dollars(nano int64) string {
	places := strings.TrimRight(fmt.Sprintf("%09d", nano%1e9), "0")
	return fmt.Sprintf("$%d.%s", nano/1e9, places+strings.Repeat("0", max(0, 2-len(places))))
}

// maxBudgets bounds a session's own budgets.
const maxBudgets = 16

func checkBudgets(budgets []Budget) error {
	if len(budgets) > maxBudgets {
		return fmt.Errorf("%w: budgets has %d entries, the limit is %d", ErrInvalid, len(budgets), maxBudgets)
	}
	for i, b := range budgets {
		var reason string
		switch {
		case b.Tokens < 0 || b.CostNano < 0 || b.Turns < 0:
			reason = "has a limit below 0"
		case b.Tokens == 0 && b.CostNano == 0 && b.Turns == 0:
			reason = "limits nothing; set tokens, cost_nano or turns"
		case b.Per != PerSession && b.Per != PerDay:
			reason = fmt.Sprintf("is per %q; it must be session or day", clip(string(b.Per)))
		case b.Action != BudgetStop && b.Action != BudgetAsk:
			reason = fmt.Sprintf("has the action %q; it must be stop or ask", clip(string(b.Action)))
		default:
			continue
		}
		return fmt.Errorf("%w: budgets[%d] %s", ErrInvalid, i, reason)
	}
	return nil
}
