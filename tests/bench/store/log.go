package main

import (
	"context"
	"errors"
	"fmt"
	"testing/fstest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// Two tables like the kernel's: a head that every event changes and a message
// that every event adds.
const (
	schema = `-- +goose Up
CREATE TABLE bench_head (aggregate TEXT PRIMARY KEY, seq INTEGER NOT NULL, updated INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE bench_message (aggregate TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (aggregate, seq)) STRICT, WITHOUT ROWID;
`
	upsertHead = `INSERT INTO bench_head (aggregate, seq, updated) VALUES ($1, $2, $3)
ON CONFLICT (aggregate) DO UPDATE SET seq = excluded.seq, updated = excluded.updated`
	insertMessage = `INSERT INTO bench_message (aggregate, seq, kind, body) VALUES ($1, $2, $3, $4)`
)

type projection struct{}

func (projection) Apply(ctx context.Context, tx store.Tx, e store.Event) error {
	if _, err := tx.Exec(ctx, upsertHead, e.Aggregate, e.Seq, e.Time.UnixMilli()); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertMessage, e.Aggregate, e.Seq, e.Type, e.Data)
	return err
}

func (projection) Forget(context.Context, store.Tx, string, int) (bool, error) {
	return false, errors.New("the bench deletes nothing")
}

// log is a store under load.
type log struct {
	*sqlite.Store
	options sqlite.Options
}

func openLog(dir string, maxGroup int) (*log, error) {
	options := sqlite.Options{
		Dir:         dir,
		Projections: []store.Projection{projection{}},
		Migrations:  []sqlite.Migration{{Name: "bench", FS: fstest.MapFS{"001_bench.sql": {Data: []byte(schema)}}}},
		MaxGroup:    maxGroup,
	}
	s, err := sqlite.Open(context.Background(), options)
	return &log{Store: s, options: options}, err
}

// fill has the writers append their events at the same time, one by one.
func (l *log) fill(writers, each int, run string) (time.Duration, error) {
	start := time.Now()
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			for i := range each {
				if err := l.append(aggregate(w), i, run); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(start), err
}

func (l *log) append(aggregate string, i int, run string) error {
	_, err := l.Append(context.Background(), store.Batch{Aggregate: aggregate, Events: []store.Event{event(aggregate, i, run)}})
	return err
}

func aggregate(writer int) string { return fmt.Sprintf("ses_0193a7c2%022d", writer) }

// event is one of about 500 bytes with an id that ascends as real ones do.
func event(aggregate string, i int, run string) store.Event {
	now := time.Now()
	return store.Event{
		ID:   fmt.Sprintf("evt_%012x%04x%s%s", now.UnixMilli(), i, run, aggregate[20:]),
		Type: "session.text.ended", Version: 1, Time: now, Actor: "plugin:anthropic@1",
		Cause: "evt_0193a7c2f1d00001abcdefghijklmn",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Data:  fmt.Appendf(nil, `{"message":"msg_0193a7c2f1d00001abcdefghijklmn","part":%d,"text":"%0200d"}`, i, i),
	}
}
