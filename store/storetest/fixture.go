package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
)

// fixture is one open log with the suite's projection on it.
type fixture struct {
	Subject
	t       *testing.T // the one that opened it, which may be the parent of others
	harness Harness
	setup   Setup
	tally   *tally
}

func open(t *testing.T, h Harness) *fixture {
	t.Helper()
	tally := &tally{holds: make(chan hold)}
	b := &fixture{t: t, harness: h, tally: tally, setup: Setup{
		Dir: t.TempDir(),
		Schema: []string{
			`CREATE TABLE storetest_tally (aggregate TEXT PRIMARY KEY, total BIGINT NOT NULL, last BIGINT NOT NULL)`,
			`CREATE TABLE storetest_row (aggregate TEXT NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (aggregate, seq))`,
			`CREATE TABLE storetest_trap (id BIGINT PRIMARY KEY)`,
		},
		Projections: []store.Projection{tally},
	}}
	b.Subject = h.Open(t, b.setup)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// reopen closes the log and opens it again.
func (b *fixture) reopen(t *testing.T) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	b.Subject = b.harness.Open(b.t, b.setup)
}

// append must succeed.
func (b *fixture) append(t *testing.T, aggregate string, mode store.Mode, events ...store.Event) []store.Event {
	t.Helper()
	written, err := b.Append(t.Context(), store.Batch{Aggregate: aggregate, Mode: mode, Events: events})
	if err != nil {
		t.Fatalf("append to %s: %v", aggregate, err)
	}
	return written
}

// read answers all events of an aggregate.
func (b *fixture) read(t *testing.T, aggregate string) []store.Event {
	t.Helper()
	page, err := b.Read(t.Context(), aggregate, -1, 1<<20)
	if err != nil {
		t.Fatalf("read %s: %v", aggregate, err)
	}
	return page.Events
}

// total answers what the projection counted for an aggregate, with its last
// sequence; -1 and -1 when it has no row.
func (b *fixture) total(t *testing.T, aggregate string) (total, last int64) {
	t.Helper()
	err := b.View(t.Context(), func(tx store.Tx) error {
		err := tx.QueryRow(t.Context(), `SELECT total, last FROM storetest_tally WHERE aggregate = $1`, aggregate).Scan(&total, &last)
		if errors.Is(err, store.ErrNotFound) {
			total, last = -1, -1
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	return total, last
}

// wholeData compares data as one value: large data byte by byte takes seconds.
var wholeData = cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })

// expect compares the events of an aggregate and what the projection has of them.
func (b *fixture) expect(t *testing.T, aggregate string, want []store.Event) {
	t.Helper()
	if diff := cmp.Diff(want, b.read(t, aggregate), wholeData); diff != "" {
		t.Errorf("events of %s (-want +got):\n%s", aggregate, diff)
	}
	if total, last := b.total(t, aggregate); len(want) > 0 && (total != int64(len(want)) || last != want[len(want)-1].Seq) {
		t.Errorf("projection of %s has %d events up to %d, want %d", aggregate, total, last, len(want))
	}
}

var lastID atomic.Int64

// event makes an event with an id of its own.
func event(kind string) store.Event {
	return store.Event{
		ID: fmt.Sprintf("evt_%012d", lastID.Add(1)), Type: kind, Version: 1,
		Time: time.UnixMilli(1_700_000_000_123).UTC(), Actor: "system", Cause: "req_1",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Data:  []byte(`{"kind":"` + kind + `"}`),
	}
}

func events(n int) []store.Event {
	list := make([]store.Event, n)
	for i := range list {
		list[i] = event("plain")
	}
	return list
}

func large(size int) store.Event {
	e := event("large")
	e.Data = []byte(`"` + strings.Repeat(e.ID[4:], size/12) + `"`)
	return e
}

// tally is the suite's projection: it counts events and does as their type says.
type tally struct {
	holds chan hold
	lose  atomic.Value // string: the statement of "lose" and "swallow"
}

// hold is one event of type "hold" that waits in the projection.
type hold struct{ release chan struct{} }

var errRejected = errors.New("rejected by the projection")

func (p *tally) Apply(ctx context.Context, tx store.Tx, e store.Event) error {
	switch e.Type {
	case "hold":
		h := hold{release: make(chan struct{})}
		p.holds <- h
		<-h.release
	case "lose", "swallow":
		if err := p.twice(ctx, tx); err != nil && e.Type == "lose" {
			return err
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO storetest_tally (aggregate, total, last) VALUES ($1, 1, $2)
ON CONFLICT (aggregate) DO UPDATE SET total = storetest_tally.total + 1, last = excluded.last`, e.Aggregate, e.Seq)
	if e.Type == "reject" {
		return errRejected
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO storetest_row (aggregate, seq) VALUES ($1, $2)`, e.Aggregate, e.Seq)
	return err
}

func (p *tally) twice(ctx context.Context, tx store.Tx) error {
	statement := p.lose.Load().(string)
	_, first := tx.Exec(ctx, statement)
	_, second := tx.Exec(ctx, statement)
	return errors.Join(first, second)
}

func (p *tally) Forget(ctx context.Context, tx store.Tx, aggregate string, limit int) (bool, error) {
	if _, err := tx.Exec(ctx, `DELETE FROM storetest_tally WHERE aggregate = $1`, aggregate); err != nil {
		return false, err
	}
	removed, err := tx.Exec(ctx, `DELETE FROM storetest_row WHERE aggregate = $1 AND seq IN (
SELECT seq FROM storetest_row WHERE aggregate = $2 ORDER BY seq LIMIT $3)`, aggregate, aggregate, limit)
	return removed == int64(limit), err
}

// watched tells when the log begins to wait for the context.
type watched struct {
	context.Context
	once  *sync.Once
	asked chan struct{}
}

func watch(ctx context.Context) watched {
	return watched{Context: ctx, once: new(sync.Once), asked: make(chan struct{})}
}

func (w watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}

// outcome is what an Append answered.
type outcome struct {
	events []store.Event
	err    error
}

// burst appends all batches at once: the log is held until every one of them
// waits, so that an implementation that groups writes them together.
func (b *fixture) burst(t *testing.T, batches ...store.Batch) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(batches))
	var done sync.WaitGroup
	done.Go(func() { b.append(t, "holder", store.Any(), event("hold")) })
	held := <-b.tally.holds
	for i, batch := range batches {
		ctx := watch(t.Context())
		done.Go(func() {
			outcomes[i].events, outcomes[i].err = b.Append(ctx, batch)
		})
		<-ctx.asked
	}
	close(held.release)
	done.Wait()
	return outcomes
}
