package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/store/sqlite"
)

// raw writes the rows that the log writes, with nothing around them: the same
// tables, the same settings, prepared statements and one goroutine.
type raw struct {
	*sql.DB
	position int64
	seqs     map[int]int64
}

const (
	insertAggregate = `INSERT INTO log_aggregate (num, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	insertEvent     = `INSERT INTO log_event (position, aggregate, seq, id, type, version, time, actor, cause, trace, fence, data, digest)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
)

func openRaw(dir string) (*raw, error) {
	l, err := openLog(dir, 0) // makes the tables
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	return &raw{DB: sqlite.OpenDatabase(filepath.Join(dir, "plinth.db")), seqs: make(map[int]int64)}, nil
}

func (r *raw) fill(writers, each int, run string, group int) (time.Duration, error) {
	ctx := context.Background()
	start := time.Now()
	conn, err := r.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 16384"); err != nil { // as long as the log's
		return 0, err
	}
	for done := 0; done < writers*each; {
		if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return 0, err
		}
		for n := 0; n < group && done < writers*each; n++ {
			if err := r.insert(ctx, conn, done%writers, done/writers, run); err != nil {
				return 0, err
			}
			done++
		}
		if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func (r *raw) insert(ctx context.Context, conn *sql.Conn, writer, i int, run string) error {
	name := aggregate(writer)
	e := event(name, i, run)
	seq, known := r.seqs[writer]
	if !known {
		if _, err := conn.ExecContext(ctx, insertAggregate, writer+1, name); err != nil {
			return err
		}
	}
	r.seqs[writer] = seq + 1
	r.position++
	if _, err := conn.ExecContext(ctx, insertEvent, r.position, writer+1, seq, e.ID, e.Type, e.Version,
		e.Time.UnixMilli(), e.Actor, e.Cause, e.Trace, 0, e.Data, nil); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, upsertHead, name, seq, e.Time.UnixMilli()); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, insertMessage, name, seq, e.Type, e.Data)
	return err
}
