package sqllog

import (
	"context"
	"errors"

	"github.com/plinthhost/plinth/store"
)

// Tx is a write transaction.
//
// A statement that fails for want of disk or because the database is broken must
// make the surrounding Savepoint answer store.ErrFull or store.ErrFailed,
// whatever the code between made of the statement's error.
type Tx interface {
	store.Tx
	// Savepoint runs f. When f fails its writes are undone, those before it stay,
	// and f's error is answered. When the database rolled back the whole
	// transaction, the error wraps ErrLost.
	Savepoint(ctx context.Context, f func() error) error
}

var (
	// ErrLost: the database rolled back the whole transaction, not only the
	// savepoint. Everything that ran in it must run again in a new one.
	ErrLost = errors.New("the database rolled the transaction back")
	// ErrRetry: a view lost the transaction and is stale from now on. The
	// operation itself is without fault and must run again with the others.
	ErrRetry = errors.New("the transaction was lost by a view and must run again")
)
