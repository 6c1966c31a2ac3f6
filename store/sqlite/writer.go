package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// writer owns the connection that writes. Its goroutine takes what waits, writes
// it in one transaction and answers everybody after the commit. It works under a
// context of its own that never ends: a caller that goes away must not interrupt
// SQLite, which would roll back its neighbours.
type writer struct {
	queue      *queue
	conn       *conn
	log        *sqllog.Log
	checkpoint *checkpointer
	maxGroup   int
	fatal      func(error)
	// commit is conn.Commit; tests put failures in its place.
	commit func(ctx context.Context) error

	groups atomic.Int64
	writes atomic.Int64
	done   chan struct{}
}

func (w *writer) start() {
	w.done = make(chan struct{})
	go w.run()
}

// stop serves what waits and ends the goroutine.
func (w *writer) stop() {
	w.queue.close(store.ErrClosed, false)
	<-w.done
}

// do queues a request and waits for its outcome.
func (w *writer) do(ctx context.Context, r *request) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	r.done = make(chan error, 1)
	if err := w.queue.push(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if w.queue.drop(r) {
			return ended(ctx)
		}
		return <-r.done
	}
}

func (w *writer) run() {
	failure := w.serve()
	close(w.done)
	if failure != nil {
		w.fatal(failure) // last, so that it may close the store
	}
}

// serve runs until the queue is closed, or until the log has failed.
func (w *writer) serve() error {
	ctx := context.Background()
	for {
		group := w.queue.take(w.maxGroup)
		if len(group) == 0 {
			return nil
		}
		if err := w.write(ctx, group); err != nil {
			w.queue.close(err, true)
			return err
		}
		if err := w.checkpoint.written(ctx, w.conn, group); err != nil {
			w.queue.close(err, true)
			return err
		}
	}
}

// write brings a group to its outcome and answers every request. It answers an
// error only when the log has failed.
func (w *writer) write(ctx context.Context, group []*request) error {
	for len(group) > 0 {
		outcomes, culprit, err := w.attempt(ctx, group)
		switch {
		case errors.Is(err, store.ErrFailed):
			answerAll(group, err)
			return err
		case err == nil:
			w.finish(group, outcomes)
			return nil
		case culprit >= 0:
			group[culprit].done <- err
			group = append(group[:culprit:culprit], group[culprit+1:]...)
		case !errors.Is(err, sqllog.ErrRetry):
			answerAll(group, err)
			return nil
		}
	}
	return nil
}

// attempt writes the group in one transaction. Without an error it is committed
// and outcomes has each request's own error. With one nothing was written, and
// culprit is the index of the request that lost the transaction for all, or -1.
func (w *writer) attempt(ctx context.Context, group []*request) (outcomes []error, culprit int, err error) {
	if err := w.conn.Begin(ctx); err != nil {
		return nil, -1, beginFailure(err)
	}
	outcomes = make([]error, len(group))
	written := 0
	for i, r := range group {
		err := w.conn.part(ctx, r.run)
		switch {
		case errors.Is(err, sqllog.ErrRetry):
			return nil, -1, err
		case errors.Is(err, store.ErrFailed):
			return nil, -1, errors.Join(err, w.conn.Rollback(ctx))
		case errors.Is(err, sqllog.ErrLost):
			return nil, i, err
		case err == nil:
			written++
		}
		outcomes[i] = err
	}
	if written == 0 {
		return outcomes, -1, w.conn.Rollback(ctx)
	}
	return outcomes, -1, w.seal(ctx, written)
}

// seal commits what the group has written.
func (w *writer) seal(ctx context.Context, written int) error {
	saved, err := w.log.SaveViews(ctx, w.conn)
	if err != nil {
		return errors.Join(beginFailure(err), w.conn.Rollback(ctx))
	}
	if err := w.commit(ctx); err != nil {
		return commitFailure(err)
	}
	saved()
	w.groups.Add(1)
	w.writes.Add(int64(written))
	return nil
}

// finish tells the watchers first and the callers then.
func (w *writer) finish(group []*request, outcomes []error) {
	for i, r := range group {
		if outcomes[i] == nil && r.committed != nil {
			r.committed()
		}
	}
	for i, r := range group {
		r.done <- outcomes[i]
	}
}

func answerAll(group []*request, err error) {
	for _, r := range group {
		r.done <- err
	}
}
