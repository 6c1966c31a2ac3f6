package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// Session is one row of the sessions.
type Session struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Location Location `json:"location"`
	Agent    string   `json:"agent"`
	Model    ModelRef `json:"model"`
	Created  int64    `json:"created"` // milliseconds since 1970 UTC
	// Parent is the session whose call made this one, or empty; Depth counts the
	// ancestors.
	Parent  string   `json:"parent,omitempty"`
	Depth   int      `json:"depth,omitempty"`
	Rules   []Rule   `json:"rules,omitempty"`
	Budgets []Budget `json:"budgets,omitempty"`
	// Interrupt is a sequence up to which wakes do not count any more: that of the last
	// interrupt, or of the last declined request that halted an activity. -1 when there
	// was neither, and when an activity that began later has completed.
	Interrupt int64 `json:"-"`
	// Resume is the sequence of a resume that nothing has served yet, or -1.
	Resume int64 `json:"-"`
	// History is the sequence of the last message that a compaction folded, and
	// Compaction that of its own message; -1 when there was none.
	History    int64 `json:"-"`
	Compaction int64 `json:"-"`

	// Slug is a name for people; it need not be unique.
	Slug string `json:"slug,omitempty"`
	// Archived is when it was put out of sight, milliseconds since 1970 UTC; 0 when it is not.
	Archived int64 `json:"archived,omitempty"`
	// Fork is nil for a session that began by itself.
	Fork *Fork `json:"fork,omitempty"`
	// Retention is the session's own; nil for the operator's.
	Retention *Retention `json:"retention,omitempty"`
	// Revert is staged; nil when none is.
	Revert *Revert `json:"revert,omitempty"`
	// Unrestored are paths that the newest revert could not restore, or the clearing of
	// it, now that it is not staged any more.
	Unrestored []string `json:"unrestored,omitempty"`
	// Changes are nil while nothing changed that is known.
	Changes *Changes `json:"changes,omitempty"`
	// Compact is the sequence of a compaction that somebody asks for, or -1.
	Compact int64 `json:"-"`
	// Pruned is the sequence that the session's history begins with since it was last
	// pruned, or -1.
	Pruned int64 `json:"-"`
	// Compacting is a compaction that has not come out yet; nil when none is made.
	Compacting *CompactionStarted `json:"-"`
	// Rewritten is the sequence of the last compaction or pruning of results: what the
	// model was sent before it is sent otherwise since. -1 when there was none.
	Rewritten int64 `json:"-"`
	// Answered is a sequence up to which prompts are answered: that of the end of the
	// last activity that completed, or of an imported prompt. -1 when there was none.
	Answered int64 `json:"-"`
}

// LoadSession reads one session; ErrNotFound when there is none.
func LoadSession(ctx context.Context, tx store.Tx, id string) (Session, error) {
	s := Session{ID: id}
	var location, rules, budgets, fork, retention, revert, unrestored, changes, compacting string
	err := tx.QueryRow(ctx, `SELECT title, location, agent, model_provider, model, model_variant, created_ms, interrupt_seq,
		parent_id, depth, rules, budgets, resume_seq, history_seq, compaction_seq,
		slug, archived_ms, fork, retention, revert, unrestored, changes, compact_seq, pruned_seq, compacting, rewritten_seq, answered_seq FROM session WHERE id = $1`, id).
		Scan(&s.Title, &location, &s.Agent, &s.Model.Provider, &s.Model.Model, &s.Model.Variant, &s.Created, &s.Interrupt,
			&s.Parent, &s.Depth, &rules, &budgets, &s.Resume, &s.History, &s.Compaction,
			&s.Slug, &s.Archived, &fork, &retention, &revert, &unrestored, &changes, &s.Compact, &s.Pruned, &compacting, &s.Rewritten, &s.Answered)
	if isNotFound(err) {
		return Session{}, fmt.Errorf("session %s: %w", clip(id), ErrNotFound)
	}
	if err != nil {
		return Session{}, err
	}
	for _, column := range []struct {
		name, text string
		into       any
	}{{"location", location, &s.Location}, {"rules", rules, &s.Rules}, {"budgets", budgets, &s.Budgets},
		{"fork", fork, &s.Fork}, {"retention", retention, &s.Retention}, {"revert", revert, &s.Revert},
		{"unrestored", unrestored, &s.Unrestored}, {"changes", changes, &s.Changes},
		{"compacting", compacting, &s.Compacting}} {
		if column.text == "[]" || column.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(column.text), column.into); err != nil {
			return Session{}, fmt.Errorf("session %s: decode %s: %w", id, column.name, err)
		}
	}
	return s, nil
}

// LoadAncestors lists the session's parent, its parent and so on.
func LoadAncestors(ctx context.Context, tx store.Tx, id string) ([]string, error) {
	var ancestors []string
	for {
		var parent string
		err := tx.QueryRow(ctx, `SELECT parent_id FROM session WHERE id = $1`, id).Scan(&parent)
		if isNotFound(err) || err == nil && parent == "" {
			return ancestors, nil
		}
		if err != nil {
			return nil, err
		}
		ancestors = append(ancestors, parent)
		id = parent
	}
}

// LoadChildren lists the sessions that calls of this one made, in no order.
func LoadChildren(ctx context.Context, tx store.Tx, id string) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM session WHERE parent_id = $1 AND parent_id <> ''`, id)
	return collect(rows, err, scanText)
}

// LoadWoken lists the sessions with pending input, a resume or a request for a
// compaction that is newer than the session's last interrupt, each once.
func LoadWoken(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT session_id FROM input JOIN session ON session.id = input.session_id
		WHERE input.promoted_seq IS NULL AND input.cancelled_seq IS NULL AND input.wake_seq > session.interrupt_seq
		UNION SELECT id FROM session WHERE resume_seq >= 0
		UNION SELECT id FROM session WHERE compact_seq >= 0`)
	return collect(rows, err, scanText)
}

// LoadDirectories lists the directories in which tools read files, ascending.
func LoadDirectories(ctx context.Context, tx store.Tx, session string) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT directory FROM directory_read WHERE session_id = $1`, session)
	directories, err := collect(rows, err, scanText)
	slices.Sort(directories)
	return directories, err
}

// LoadTodos reads the session's list; nil for none.
func LoadTodos(ctx context.Context, tx store.Tx, id string) ([]Todo, error) {
	var body string
	err := tx.QueryRow(ctx, `SELECT body FROM todo WHERE session_id = $1`, id).Scan(&body)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var todos []Todo
	if err := json.Unmarshal([]byte(body), &todos); err != nil {
		return nil, fmt.Errorf("session %s: decode the list: %w", id, err)
	}
	return todos, nil
}
