package sqllog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/plinthhost/plinth/store"
)

// View keeps tables that can be dropped and filled again from the log. It can
// never veto an append: when it fails it is stale and left alone until it is
// rebuilt.
type View interface {
	// Name is the view's name and that of its migration line: a-z and "_".
	Name() string
	// Migrations are the view's tables, numbered SQL files.
	Migrations() fs.FS
	// Clear removes all rows of the view.
	Clear(ctx context.Context, tx store.Tx) error
	store.Projection
}

// StaleView is a view that misses events.
type StaleView struct {
	Name   string
	Reason string
}

const (
	reasonNew     = "it is new to this log"
	reasonChanged = "its tables were changed"
	reasonRebuild = "it is being rebuilt"
)

// viewState is a view and why it is stale, empty when it is fresh. saved is set
// once the reason stands in the database.
type viewState struct {
	view   View
	reason string
	saved  bool
}

// views is written by the goroutine that writes and read by anybody.
type views struct {
	mu  sync.Mutex
	all []*viewState
}

func newViews(list []View) *views {
	v := &views{}
	for _, view := range list {
		v.all = append(v.all, &viewState{view: view, saved: true})
	}
	return v
}

func (v *views) load(ctx context.Context, tx store.Tx, changed map[string]bool, hasEvents bool) error {
	reasons, err := readReasons(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the state of the views: %w", err)
	}
	for _, s := range v.all {
		name := s.view.Name()
		reason, known := reasons[name]
		switch {
		case hasEvents && !known:
			reason = reasonNew
		case hasEvents && changed[name] && reason == "":
			reason = reasonChanged
		}
		if !known || reason != reasons[name] {
			if _, err := tx.Exec(ctx, upsertView, name, reason); err != nil {
				return fmt.Errorf("store the state of view %s: %w", name, err)
			}
		}
		s.reason = reason
	}
	return nil
}

func readReasons(ctx context.Context, tx store.Tx) (reasons map[string]string, err error) {
	rows, err := tx.Query(ctx, selectViews)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	reasons = make(map[string]string)
	for rows.Next() {
		var name, reason string
		if err := rows.Scan(&name, &reason); err != nil {
			return nil, err
		}
		reasons[name] = reason
	}
	return reasons, rows.Err()
}

// StaleViews answers the views that miss events, in the order of the options.
func (l *Log) StaleViews() []StaleView {
	l.views.mu.Lock()
	defer l.views.mu.Unlock()
	var stale []StaleView
	for _, s := range l.views.all {
		if s.reason != "" {
			stale = append(stale, StaleView{Name: s.view.Name(), Reason: s.reason})
		}
	}
	return stale
}

func (v *views) reason(s *viewState) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return s.reason
}

// fail marks a view stale at once. SaveViews writes it down before the commit.
func (v *views) fail(s *viewState, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s.reason, s.saved = "it failed: "+err.Error(), false
}

// applyViews runs the fresh views on the events of one append.
func (l *Log) applyViews(ctx context.Context, tx Tx, events []store.Event) error {
	for _, s := range l.views.all {
		if l.views.reason(s) != "" {
			continue
		}
		err := tx.Savepoint(ctx, func() error {
			for _, event := range events {
				if err := s.view.Apply(ctx, tx, event); err != nil {
					return fmt.Errorf("%s of %s: %w", event.Type, event.Aggregate, err)
				}
			}
			return nil
		})
		if err := l.settleView(s, err); err != nil {
			return err
		}
	}
	return nil
}

// forgetViews runs on stale views too: a rebuild that is under way has rows.
func (l *Log) forgetViews(ctx context.Context, tx Tx, aggregate string, limit int) (more bool, err error) {
	for _, s := range l.views.all {
		left := false
		err := tx.Savepoint(ctx, func() (err error) {
			left, err = s.view.Forget(ctx, tx, aggregate, limit)
			return err
		})
		if err := l.settleView(s, err); err != nil {
			return false, err
		}
		more = more || err == nil && left
	}
	return more, nil
}

// settleView decides what a view's failure means: the view is stale and the
// append goes on, unless the database itself failed or lost the transaction.
func (l *Log) settleView(s *viewState, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrFailed):
		return err
	}
	l.views.fail(s, err)
	if errors.Is(err, ErrLost) {
		return fmt.Errorf("view %s: %w", s.view.Name(), ErrRetry)
	}
	return nil
}

// SaveViews writes down which views became stale. It runs in every transaction
// after the last append and outside their savepoints, so that a view is never
// fresh in the database when it missed a committed event. It answers a function
// to call once the transaction is committed.
func (l *Log) SaveViews(ctx context.Context, tx store.Tx) (committed func(), err error) {
	l.views.mu.Lock()
	defer l.views.mu.Unlock()
	var written []*viewState
	for _, s := range l.views.all {
		if s.saved {
			continue
		}
		if _, err := tx.Exec(ctx, upsertView, s.view.Name(), s.reason); err != nil {
			return nil, fmt.Errorf("mark view %s stale: %w", s.view.Name(), err)
		}
		written = append(written, s)
	}
	return func() {
		l.views.mu.Lock()
		defer l.views.mu.Unlock()
		for _, s := range written {
			s.saved = true
		}
	}, nil
}
