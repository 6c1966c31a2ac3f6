package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/plinthhost/plinth/store"
)

// querier is what *sql.Conn and *sql.Tx share.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// tx is a store.Tx over a connection. It tells note of every error.
type tx struct {
	on   querier
	note func(error)
}

func (t *tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.on.ExecContext(ctx, query, args...)
	if err != nil {
		t.note(err)
		return 0, err
	}
	return result.RowsAffected()
}

func (t *tx) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	found, err := t.on.QueryContext(ctx, query, args...)
	if err != nil {
		t.note(err)
		return nil, err
	}
	return &rows{Rows: found, note: t.note}, nil
}

func (t *tx) QueryRow(ctx context.Context, query string, args ...any) store.Row {
	return &row{row: t.on.QueryRowContext(ctx, query, args...), note: t.note}
}

type rows struct {
	*sql.Rows
	note func(error)
}

func (r *rows) Err() error {
	err := r.Rows.Err()
	if err != nil {
		r.note(err)
	}
	return err
}

type row struct {
	row  *sql.Row
	note func(error)
}

func (r *row) Scan(dest ...any) error {
	err := r.row.Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	if err != nil {
		r.note(err)
	}
	return err
}
