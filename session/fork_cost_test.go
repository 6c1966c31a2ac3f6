package session_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// countingProjection counts the statements of messages that are taken over.
type countingProjection struct {
	session.Projection
	messages, statements int
}

func (p *countingProjection) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if event.Type != (session.MessageImported{}).EventType() {
		return p.Projection.Apply(ctx, tx, event)
	}
	p.messages++
	return p.Projection.Apply(ctx, &countingTx{Tx: tx, count: &p.statements}, event)
}

type countingTx struct {
	store.Tx
	count *int
}

func (c *countingTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	*c.count++
	return c.Tx.Exec(ctx, query, args...)
}

func (c *countingTx) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	*c.count++
	return c.Tx.Query(ctx, query, args...)
}

func (c *countingTx) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	*c.count++
	return c.Tx.QueryRow(ctx, query, args...)
}

// A message that a fork takes over costs two statements: itself, and its parts or the
// note that its prompt is answered.
func TestAForkCostsFewStatements(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.Create()
	r.rounds(id, 5, 10)
	fork := r.fork(session.ForkRequest{Session: id})
	page, err := r.Log.Read(t.Context(), fork.ID, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingProjection{}
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Projections: []store.Projection{counting},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if counting.messages != 10 || counting.statements > 2*counting.messages {
		t.Errorf("%d messages took %d statements", counting.messages, counting.statements)
	}
}
