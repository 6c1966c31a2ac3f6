package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Activity is an activity that has not ended.
type Activity struct {
	ID     string        `json:"id"`
	Opener Opener        `json:"opener"`
	State  ActivityState `json:"state"`
	// Reason is why it is suspended, else empty.
	Reason SuspendReason `json:"reason,omitempty"`
	// Started is the sequence of its start.
	Started int64 `json:"started_seq"`
	// Turns are the provider turns so far, Steps those since the last promotion.
	Turns int `json:"turns"`
	Steps int `json:"steps"`
	// Attempts counts the crashes it has survived.
	Attempts int `json:"attempts"`
	// Turn is the sequence of the turn that was dispatched and has no output yet, or -1.
	Turn    int64   `json:"turn_seq"`
	Retries []Retry `json:"retries,omitempty"` // of the turn that is being tried
}

// ActivityState is where an activity stands.
type ActivityState string

// The states. Suspended: a shutdown parked it.
const (
	ActivityStateRunning   ActivityState = "running"
	ActivityStateSuspended ActivityState = "suspended"
)

// LoadActivity reads the session's activity; ErrNotFound when it is idle.
func LoadActivity(ctx context.Context, tx store.Tx, session string) (Activity, error) {
	var a Activity
	var retries string
	err := tx.QueryRow(ctx, `SELECT id, opener, state, reason, started_seq, turns, steps, attempts, turn_seq, retries
		FROM activity WHERE session_id = $1`, session).
		Scan(&a.ID, &a.Opener, &a.State, &a.Reason, &a.Started, &a.Turns, &a.Steps, &a.Attempts, &a.Turn, &retries)
	if isNotFound(err) {
		return Activity{}, fmt.Errorf("activity of %s: %w", session, ErrNotFound)
	}
	if err != nil {
		return Activity{}, err
	}
	if retries != "[]" {
		if err := json.Unmarshal([]byte(retries), &a.Retries); err != nil {
			return Activity{}, fmt.Errorf("activity of %s: decode retries: %w", session, err)
		}
	}
	return a, nil
}

// LoadRunning lists the sessions whose activity has not ended, or whose compaction
// has not come out, each once.
func LoadRunning(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT session_id FROM activity UNION SELECT id FROM session WHERE compacting <> ''`)
	return collect(rows, err, scanText)
}

// Totals are what a scope has spent.
type Totals struct {
	Usage    Usage `json:"usage"`
	CostNano int64 `json:"cost_nano"` // nano-dollars, of the steps with a price
	Unpriced int64 `json:"unpriced"`  // steps whose cost is unknown
	Turns    int64 `json:"turns"`
}

// Spent is what budgets look at.
func (t Totals) Spent() Spent {
	return Spent{Tokens: t.Usage.Input + t.Usage.Output, CostNano: t.CostNano, Turns: t.Turns, CostUnknown: t.Unpriced > 0}
}

// LoadTotals reads what a scope has spent: a session's id, which counts its children,
// or "day/YYYY-MM-DD" in UTC.
func LoadTotals(ctx context.Context, tx store.Tx, scope string) (Totals, error) {
	var s Totals
	err := tx.QueryRow(ctx, `SELECT input, output, reasoning, cache_read, cache_write, cost_nano, unpriced, turns
		FROM spent WHERE scope = $1`, scope).Scan(&s.Usage.Input, &s.Usage.Output, &s.Usage.Reasoning, &s.Usage.CacheRead,
		&s.Usage.CacheWrite, &s.CostNano, &s.Unpriced, &s.Turns)
	if isNotFound(err) {
		return Totals{}, nil
	}
	return s, err
}

// Task is a child session's work for a call.
type TaskRecord struct {
	TaskStarted
	// Outcome is empty while it runs.
	Outcome Outcome
}

// LoadTasks reads the tasks of a session that run.
func LoadTasks(ctx context.Context, tx store.Tx, session string) ([]TaskRecord, error) {
	rows, err := tx.Query(ctx, `SELECT body, outcome FROM task WHERE session_id = $1 AND outcome = ''`, session)
	return collect(rows, err, func(row store.Row) (TaskRecord, error) {
		var t TaskRecord
		var body string
		if err := row.Scan(&body, &t.Outcome); err != nil {
			return t, err
		}
		if err := json.Unmarshal([]byte(body), &t.TaskStarted); err != nil {
			return t, fmt.Errorf("task of %s: %w", session, err)
		}
		return t, nil
	})
}
