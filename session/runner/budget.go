package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// spendable answers nil when the session, its ancestors and the day may spend more.
// A budget that asks is asked about once per activity.
func (t *turn) spendable(ctx context.Context, current session.Session) error {
	for {
		reached, scope, err := t.reached(ctx, current)
		if reached == nil || err != nil {
			return err
		}
		failure := &session.Failure{Code: session.FailureBudget, Message: reached.Error()}
		if reached.Budget.Action != session.BudgetAsk {
			return failure
		}
		asker := t.asker()
		asker.Agent, asker.Location = current.Agent, current.Location
		err = t.Permissions.Authorise(ctx, asker, session.PermissionRequest{Action: "budget", Resources: []string{reached.Error()}, Before: true})
		if denied, ok := errors.AsType[*session.DeniedError](err); ok {
			if denied.Declined {
				return errDeclined
			}
			return failure
		}
		if err != nil {
			return err
		}
		t.activity.allowed[allowance{scope, reached.Budget}] = true
	}
}

// allowance is a budget of a session that a person let the activity exceed.
type allowance struct {
	session string
	budget  session.Budget
}

// reached answers the first budget that is used up and was not allowed to be, and
// whose it is.
func (t *turn) reached(ctx context.Context, current session.Session) (reached *session.BudgetError, scope string, err error) {
	err = t.Log.View(ctx, func(tx store.Tx) error {
		day, err := session.LoadTotals(ctx, tx, "day/"+t.Encoder.Clock.Now().UTC().Format(time.DateOnly))
		if err != nil {
			return err
		}
		for whose := current; ; {
			spent, err := session.LoadTotals(ctx, tx, whose.ID)
			if err != nil {
				return err
			}
			budgets := slices.DeleteFunc(slices.Concat(t.config.Budgets, whose.Budgets), func(b session.Budget) bool {
				return t.activity.allowed[allowance{whose.ID, b}]
			})
			if reached = session.Exceeded(budgets, spent.Spent(), day.Spent()); reached != nil || whose.Parent == "" {
				scope = whose.ID
				return nil
			}
			if whose, err = session.LoadSession(ctx, tx, whose.Parent); errors.Is(err, session.ErrNotFound) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
	return reached, scope, err
}
