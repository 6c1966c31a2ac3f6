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
		err = t.authorise(ctx, asker, session.PermissionRequest{Action: "budget", Resources: []string{reached.Error()}})
		if denied, ok := errors.AsType[*session.DeniedError](err); ok {
			if denied.Declined {
				return errDeclined
			}
			return failure
		}
		if err != nil {
			return err
		}
		t.activity.allowed[allowed(scope, reached.Budget)] = true
	}
}

// authorise waits for a person, until the host shuts down: the next one asks again.
func (t *turn) authorise(ctx context.Context, asker session.Asker, request session.PermissionRequest) error {
	ctx, cancel := t.untilParked(ctx)
	defer cancel(nil)
	err := t.Permissions.Authorise(ctx, asker, request)
	if err != nil && errors.Is(context.Cause(ctx), session.ErrShutdown) {
		return session.ErrShutdown
	}
	return err
}

// allowance is a budget that a person let the activity exceed: of a session, or of
// the day, which is everybody's.
type allowance struct {
	session string
	budget  session.Budget
}

func allowed(scope string, budget session.Budget) allowance {
	if budget.Per == session.PerDay {
		scope = ""
	}
	return allowance{scope, budget}
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
				return t.activity.allowed[allowed(whose.ID, b)]
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
