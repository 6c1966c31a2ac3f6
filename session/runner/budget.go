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
	exceeded, err := t.exceeded(ctx, current)
	if err != nil {
		return err
	}
	for _, budget := range exceeded {
		if budget.Budget.Action == session.BudgetAsk && t.activity.allowed[budget.Error()] {
			continue
		}
		failure := &session.Failure{Code: session.FailureBudget, Message: budget.Error()}
		if budget.Budget.Action != session.BudgetAsk {
			return failure
		}
		asker := t.asker("")
		asker.Session, asker.Agent, asker.Location = t.session, current.Agent, current.Location
		err := t.Permissions.Authorise(ctx, asker, session.PermissionRequest{Action: "budget", Resources: []string{budget.Error()}, Before: true})
		if denied, ok := errors.AsType[*session.DeniedError](err); ok {
			if denied.Declined {
				return errDeclined
			}
			return failure
		}
		if err != nil {
			return err
		}
		t.activity.allowed[budget.Error()] = true
	}
	return nil
}

func (t *turn) exceeded(ctx context.Context, current session.Session) (exceeded []*session.BudgetError, err error) {
	err = t.Log.View(ctx, func(tx store.Tx) error {
		ancestors, err := session.LoadAncestors(ctx, tx, t.session)
		if err != nil {
			return err
		}
		day, err := session.LoadSpent(ctx, tx, "day/"+t.Encoder.Clock.Now().UTC().Format(time.DateOnly))
		if err != nil {
			return err
		}
		for _, id := range append([]string{t.session}, ancestors...) {
			spent, err := session.LoadSpent(ctx, tx, id)
			if err != nil {
				return err
			}
			own, err := session.LoadSession(ctx, tx, id)
			if err != nil {
				return err
			}
			budgets := slices.Concat(t.config.Budgets, own.Budgets)
			exceeded = append(exceeded, session.Exceeded(budgets, spent, day)...)
		}
		return nil
	})
	return exceeded, err
}
