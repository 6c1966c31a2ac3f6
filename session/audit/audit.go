// Package audit replays sessions, or the host, into an empty log and compares what the kernel's tables
// hold there with what they hold here. The log is the truth: a difference is damage, or
// a bug.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
	"github.com/plinthhost/plinth/store"
)

// Difference is one thing that is not as the log says.
type Difference struct {
	Session string `json:"session"`         // or "host"
	Table   string `json:"table,omitempty"` // empty when the log itself is meant
	Key     string `json:"key,omitempty"`   // of the row
	Reason  string `json:"reason"`
}

func (d Difference) String() string {
	place := d.Session
	if d.Table != "" {
		place += " " + d.Table
	}
	if d.Key != "" {
		place += " " + d.Key
	}
	return place + ": " + d.Reason
}

// Auditor audits sessions of a log.
type Auditor struct {
	Log   store.Log
	Blobs store.Blobs
	// Scratch opens an empty log with the kernel's tables. done removes it.
	Scratch func(ctx context.Context) (log store.Log, done func() error, err error)
	// Columns answers the columns of a table.
	Columns func(ctx context.Context, tx store.Tx, table string) ([]string, error)
}

// Session replays a session with those under it, in the order of the log, and compares
// the rows of all of them. It answers which it looked at. The error is of the audit
// itself.
func (a *Auditor) Session(ctx context.Context, id string) (looked []string, found []Difference, err error) {
	looked, err = a.family(ctx, id)
	if err != nil {
		return looked, nil, fmt.Errorf("audit %s: %w", id, err)
	}
	found, err = a.audit(ctx, looked, tables())
	return looked, found, err
}

// Host replays what belongs to no session, such as plugins and approvals, and compares
// the rows of all of it.
func (a *Auditor) Host(ctx context.Context) ([]Difference, error) {
	return a.audit(ctx, []string{session.Host}, hostTables())
}

func (a *Auditor) audit(ctx context.Context, looked []string, tables []table) (found []Difference, err error) {
	scratch, done, err := a.Scratch(ctx)
	if err != nil {
		return nil, fmt.Errorf("audit %s: %w", looked[0], err)
	}
	defer func() { err = errors.Join(err, done()) }()
	var ranges []bundle.Range
	for _, one := range looked {
		head, err := store.ReadHead(ctx, a.Log, one)
		if one == session.Host && errors.Is(err, store.ErrNotFound) {
			continue // nothing of the host is recorded yet
		}
		if err != nil {
			return nil, fmt.Errorf("audit %s: %w", one, err)
		}
		ranges = append(ranges, bundle.Range{Aggregate: one, First: head.First, Last: head.Seq})
	}
	if found, err = a.replay(ctx, scratch, ranges); err != nil || len(found) > 0 {
		return found, err
	}
	err = scratch.View(ctx, func(replayed store.Tx) error {
		return a.Log.View(ctx, func(stored store.Tx) error {
			found, err = a.compare(ctx, tables, looked, stored, replayed)
			return err
		})
	})
	if err != nil {
		return found, fmt.Errorf("audit %s: %w", looked[0], err)
	}
	return found, nil
}

func (a *Auditor) family(ctx context.Context, id string) (ids []string, err error) {
	ids = []string{id}
	err = a.Log.View(ctx, func(tx store.Tx) error {
		for i := 0; i < len(ids); i++ {
			below, err := session.LoadChildren(ctx, tx, ids[i])
			if err != nil {
				return err
			}
			slices.Sort(below)
			ids = append(ids, below...)
		}
		return nil
	})
	return ids, err
}

// replay answers what of the log cannot be read or replayed; the rest is not looked at
// then.
func (a *Auditor) replay(ctx context.Context, scratch store.Log, ranges []bundle.Range) ([]Difference, error) {
	replayer, seen := bundle.Replayer{Log: scratch}, map[string]bool{}
	broken := func(id, what string, err error) ([]Difference, error) {
		return []Difference{{Session: id, Reason: what + ": " + err.Error()}}, ctx.Err()
	}
	for event, err := range bundle.Merge(ctx, a.Log, ranges) {
		if err != nil {
			return broken(ranges[0].Aggregate, "its events cannot be read", err)
		}
		payload, err := session.Decode(event)
		if err == nil {
			err = replayer.Add(ctx, event)
		}
		if err != nil {
			return broken(event.Aggregate, "its log cannot be replayed", err)
		}
		for _, digest := range session.BlobsOf(payload) {
			if seen[digest] {
				continue
			}
			seen[digest] = true
			if _, err := a.Blobs.Get(ctx, digest); err != nil {
				return broken(event.Aggregate, fmt.Sprintf("event %d names a file that is lost", event.Seq), err)
			}
		}
	}
	if err := replayer.Flush(ctx); err != nil {
		return broken(ranges[0].Aggregate, "its log cannot be replayed", err)
	}
	return nil, ctx.Err()
}

func (a *Auditor) compare(ctx context.Context, tables []table, ids []string, stored, replayed store.Tx) (found []Difference, err error) {
	for _, t := range tables {
		columns, err := a.Columns(ctx, stored, t.name)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			have, err := t.rows(ctx, stored, columns, id)
			if err != nil {
				return nil, err
			}
			want, err := t.rows(ctx, replayed, columns, id)
			if err != nil {
				return nil, err
			}
			for _, difference := range diff(columns, have, want) {
				difference.Session, difference.Table = id, t.name
				expected, err := t.expects(ctx, stored, difference, have, want)
				if err != nil {
					return nil, err
				}
				if !expected {
					found = append(found, difference)
				}
			}
		}
	}
	return found, nil
}

// diff compares rows by key.
func diff(columns []string, have, want map[string][]string) (found []Difference) {
	keys := map[string]bool{}
	for key := range have {
		keys[key] = true
	}
	for key := range want {
		keys[key] = true
	}
	for key := range keys {
		stored, isStored := have[key]
		replayed, isReplayed := want[key]
		switch {
		case !isReplayed:
			found = append(found, Difference{Key: key, Reason: "the row is stored, and the log has no cause for it"})
		case !isStored:
			found = append(found, Difference{Key: key, Reason: "the row is missing"})
		case !slices.Equal(stored, replayed):
			var changed []string
			for i, column := range columns {
				if stored[i] != replayed[i] {
					changed = append(changed, column)
				}
			}
			found = append(found, Difference{Key: key, Reason: "the log gives another " + strings.Join(changed, ", ")})
		}
	}
	slices.SortFunc(found, func(a, b Difference) int { return strings.Compare(a.Key, b.Key) })
	return found
}
