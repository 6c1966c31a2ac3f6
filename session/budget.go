package session

import "fmt"

// Budget is a rule on what may be spent: the limits that are set, over a span.
type Budget struct {
	Tokens   int64        `json:"tokens,omitempty"`    // input and output; 0: no limit
	CostNano int64        `json:"cost_nano,omitempty"` // nano-dollars; 0: no limit
	Turns    int64        `json:"turns,omitempty"`     // provider turns; 0: no limit
	Per      BudgetSpan   `json:"per"`
	Action   BudgetAction `json:"action"`
}

// BudgetSpan is over what a budget counts.
type BudgetSpan string

// The spans. A session counts with its children, a day is of UTC and over all sessions.
const (
	PerSession BudgetSpan = "session"
	PerDay     BudgetSpan = "day"
)

// BudgetAction is what happens when a budget is reached.
type BudgetAction string

// The actions.
const (
	BudgetStop BudgetAction = "stop"
	BudgetAsk  BudgetAction = "ask"
)

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
