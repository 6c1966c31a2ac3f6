package session

import (
	"context"
	"embed"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Migrations holds the DDL of the kernel's tables, a folder per dialect.
//
//go:embed migrations
var Migrations embed.FS

// Projection keeps the kernel's tables in the event's transaction. What it
// refuses is not appended.
type Projection struct{}

// Apply writes what follows from the event. Events of other aggregates are none
// of its business.
func (Projection) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if !IsSessionID(event.Aggregate) && event.Aggregate != Host {
		return nil
	}
	payload, err := Decode(event)
	if err != nil {
		return err
	}
	p := projector{ctx: ctx, tx: tx, session: event.Aggregate, seq: event.Seq, at: event.Time.UnixMilli()}
	if event.Aggregate == Host {
		return p.host(payload)
	}
	if !begins(payload) && event.Seq == 0 {
		return fmt.Errorf("session %s: %w", p.session, ErrNotFound)
	}
	for _, project := range [...]func(projector, Payload) (bool, error){
		projector.onSession, projector.onHistory, projector.onInbox, projector.onActivity, projector.onContext, projector.onStep, projector.onAsk,
	} {
		if mine, err := project(p, payload); mine || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s is no event of a session", ErrInvalid, event.Type)
}

// begins reports an event that a session's log can begin with.
func begins(payload Payload) bool {
	_, created := payload.(Created)
	_, pruned := payload.(HistoryPruned)
	return created || pruned
}

// projector is one event being applied.
type projector struct {
	ctx     context.Context
	tx      store.Tx
	session string
	seq     int64
	at      int64 // the event's time, milliseconds
}

func (p projector) exec(query string, args ...any) error {
	_, err := p.tx.Exec(p.ctx, query, args...)
	return err
}
