package session

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
