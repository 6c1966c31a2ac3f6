package sqlite

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

func TestResource(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want error
	}{
		{"full", sqlite3.Error{Code: sqlite3.ErrFull}, store.ErrFull},
		{"wrapped", fmt.Errorf("x: %w", sqlite3.Error{Code: sqlite3.ErrFull}), store.ErrFull},
		{"quota", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite, SystemErrno: syscall.EDQUOT}, store.ErrFull},
		{"write", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite, SystemErrno: syscall.EIO}, store.ErrFailed},
		{"sync", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync, SystemErrno: syscall.EIO}, store.ErrFailed},
		{"sync without room", sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync, SystemErrno: syscall.ENOSPC}, store.ErrFailed},
		{"corrupt", sqlite3.Error{Code: sqlite3.ErrCorrupt}, store.ErrFailed},
		{"corrupt index of a view", sqlite3.Error{Code: sqlite3.ErrCorrupt, ExtendedCode: sqlite3.ErrCorruptVTab}, nil},
		{"constraint", sqlite3.Error{Code: sqlite3.ErrConstraint}, nil},
		{"another", errors.New("x"), nil},
	}
	for _, c := range cases {
		if got := resource(c.err); !errors.Is(got, c.want) || c.want == nil && got != nil {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if err := commitFailure(sqlite3.Error{Code: sqlite3.ErrNomem}); !errors.Is(err, store.ErrFailed) {
		t.Errorf("an unknown failure of COMMIT: %v", err)
	}
	if err := commitFailure(sqlite3.Error{Code: sqlite3.ErrBusy}); errors.Is(err, store.ErrFailed) {
		t.Errorf("a busy COMMIT: %v", err)
	}
}

func failureEvent(i int) store.Event {
	return store.Event{ID: fmt.Sprint("evt_", i), Type: "test", Version: 1, Data: []byte("{}")}
}

// idle waits until the writer has done what a store does when it is opened.
func idle(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFailedCommit: when COMMIT fails for a reason that leaves its outcome open,
// everybody is refused, Fatal is told once and may close the store.
func TestFailedCommit(t *testing.T) {
	told := make(chan error, 2)
	var s *Store
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Fatal: func(err error) {
		told <- errors.Join(err, s.Close())
	}})
	if err != nil {
		t.Fatal(err)
	}
	idle(t, s)
	inCommit, goOn := make(chan struct{}), make(chan struct{})
	s.writer.commit = func(ctx context.Context) error {
		inCommit <- struct{}{}
		<-goOn
		return errors.Join(sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync}, s.writer.conn.Rollback(ctx))
	}
	answers := make(chan error)
	appendOne := func(i int) {
		_, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_0", Events: []store.Event{failureEvent(i)}})
		answers <- err
	}
	go appendOne(0)
	<-inCommit
	go appendOne(1) // waits, or comes too late: both are refused
	close(goOn)
	for range 2 {
		if err := <-answers; !errors.Is(err, store.ErrFailed) && !errors.Is(err, store.ErrClosed) {
			t.Errorf("append: %v", err)
		}
	}
	if err := <-told; !errors.Is(err, store.ErrFailed) {
		t.Errorf("fatal was told %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if len(told) > 0 {
		t.Error("fatal was told twice")
	}
}

// TestRefusedCommit: a COMMIT that certainly wrote nothing refuses its group, and
// the log goes on.
func TestRefusedCommit(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	idle(t, s)
	commit := s.writer.commit
	s.writer.commit = func(ctx context.Context) error {
		s.writer.commit = commit
		return errors.Join(sqlite3.Error{Code: sqlite3.ErrFull}, s.writer.conn.Rollback(ctx))
	}
	for i, want := range []error{store.ErrFull, nil} {
		written, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_0", Events: []store.Event{failureEvent(7)}})
		if !errors.Is(err, want) || err == nil && written[0].Seq != 0 {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}

// TestFullBesideOthers: of the writes of one group only those that found no room
// are refused.
func TestFullBesideOthers(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.KV().Set(t.Context(), "n", "k", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMaxPages(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	group := make([]*request, 3)
	for i := range group {
		group[i] = &request{done: make(chan error, 1), run: func(ctx context.Context, tx sqllog.Tx) error {
			if i == 1 {
				return sqllog.KVSet(ctx, tx, "n", "large", make([]byte, 100_000))
			}
			return sqllog.KVSet(ctx, tx, "n", "k", fmt.Append(nil, i))
		}}
	}
	s.writer.queue.pushAll(group)
	for i, want := range []error{nil, store.ErrFull, nil} {
		if err := <-group[i].done; !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
	if got, err := s.KV().Get(t.Context(), "n", "k"); err != nil || string(got) != "2" {
		t.Errorf("%q %v", got, err)
	}
}

// pushAll adds requests so that the writer takes them together.
func (q *queue) pushAll(group []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, group...)
	q.signal()
}
