package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// conn is the one connection that writes. It is used by one goroutine.
type conn struct {
	tx
	sql    *sql.Conn
	hooks  *hooks
	failed error // what the database's own errors since Begin mean; nil without any
}

var _ sqllog.Tx = (*conn)(nil)

// hooks follow the transactions of a connection from inside SQLite.
type hooks struct {
	// closed refuses every COMMIT: one that a projection runs would make its
	// neighbours' halves durable. It becomes a rollback instead.
	closed bool
	// lost is set when a transaction was rolled back as a whole.
	lost bool
}

func (h *hooks) register(c *sqlite3.SQLiteConn) {
	c.RegisterCommitHook(func() int {
		if h.closed {
			return 1
		}
		return 0
	})
	c.RegisterRollbackHook(func() { h.lost = true })
}

func newConn(ctx context.Context, db *sql.DB, hooks *hooks) (*conn, error) {
	pinned, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	hooks.closed = true
	c := &conn{sql: pinned, hooks: hooks}
	c.tx = tx{on: pinned, note: c.note}
	return c, nil
}

// note keeps the worst of the database's own errors.
func (c *conn) note(err error) {
	if found := resource(err); found != nil && !errors.Is(c.failed, store.ErrFailed) {
		c.failed = found
	}
}

func (c *conn) control(ctx context.Context, statement string) error {
	_, err := c.sql.ExecContext(ctx, statement)
	return err
}

// Begin opens a write transaction.
func (c *conn) Begin(ctx context.Context) error {
	c.hooks.lost, c.failed = false, nil
	return c.control(ctx, "BEGIN IMMEDIATE")
}

// Commit makes the transaction durable. On an error nothing of it is left open.
func (c *conn) Commit(ctx context.Context) error {
	c.hooks.closed = false
	err := c.control(ctx, "COMMIT")
	c.hooks.closed = true
	if err != nil {
		return errors.Join(err, c.Rollback(ctx))
	}
	return nil
}

// Rollback ends the transaction if there still is one.
func (c *conn) Rollback(ctx context.Context) error {
	if c.autocommit() {
		return nil
	}
	return c.control(ctx, "ROLLBACK")
}

// part runs one request in a savepoint of its own.
func (c *conn) part(ctx context.Context, run func(context.Context, sqllog.Tx) error) error {
	c.failed = nil
	return c.Savepoint(ctx, func() error { return run(ctx, c) })
}

// Savepoint runs f so that its writes can be undone alone.
func (c *conn) Savepoint(ctx context.Context, f func() error) error {
	if err := c.control(ctx, "SAVEPOINT part"); err != nil {
		return c.lose(ctx, err)
	}
	err := f()
	if c.isLost() {
		return c.lose(ctx, err)
	}
	if err == nil && c.failed == nil {
		err = c.control(ctx, "RELEASE part")
		if err == nil {
			return nil
		}
		c.note(err)
	}
	if undo := c.control(ctx, "ROLLBACK TO part; RELEASE part"); undo != nil {
		return c.lose(ctx, errors.Join(err, undo))
	}
	if c.failed != nil {
		return c.failed
	}
	return err
}

// lose answers that the whole transaction is gone and makes sure that it is.
func (c *conn) lose(ctx context.Context, cause error) error {
	if cause == nil {
		cause = errors.New("a statement ended the transaction")
	}
	c.note(cause)
	if c.failed != nil {
		cause = c.failed
	}
	c.hooks.lost = true
	return errors.Join(fmt.Errorf("%w: %w", sqllog.ErrLost, cause), c.Rollback(ctx))
}

func (c *conn) isLost() bool { return c.hooks.lost || c.autocommit() }

// autocommit tells whether no transaction is open.
func (c *conn) autocommit() (on bool) {
	err := c.sql.Raw(func(raw any) error {
		on = raw.(*sqlite3.SQLiteConn).AutoCommit()
		return nil
	})
	return on || err != nil
}
