package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// table is one of the kernel's tables, with the column that says whose its rows are, empty
// when all are the host's, and those that tell them apart.
type table struct {
	name, owner string
	keys        []string
	// expects reports a difference that is none: what went with a session that was
	// deleted. Nil for no such thing.
	expect func(ctx context.Context, stored store.Tx, d Difference, have, want map[string][]string) (bool, error)
}

// hostTables lists what the host's events write.
func hostTables() []table {
	return []table{
		{name: "approval", keys: []string{"root", "plugin", "action", "resource"}},
		{name: "plugin", keys: []string{"plugin", "location"}},
		{name: "plugin_revision", keys: []string{"plugin", "location", "revision"}},
		{name: "plugin_approval", keys: []string{"plugin", "location", "digest"}},
		{name: "trusted_folder", keys: []string{"root"}},
	}
}

// tables lists what a session's events write.
func tables() []table {
	return []table{
		{name: "session", owner: "id"},
		{name: "input", owner: "session_id", keys: []string{"id"}},
		{name: "message", owner: "session_id", keys: []string{"seq"}},
		{name: "part", owner: "session_id", keys: []string{"message_seq", "ordinal"}},
		{name: "epoch", owner: "session_id"},
		{name: "permission", owner: "session_id", keys: []string{"id"}},
		{name: "question", owner: "session_id", keys: []string{"id"}},
		{name: "child_request", owner: "session_id", keys: []string{"request", "child_id"}, expect: childIsGone},
		{name: "activity", owner: "session_id"},
		{name: "shell", owner: "session_id", keys: []string{"call"}},
		{name: "todo", owner: "session_id"},
		{name: "task", owner: "session_id", keys: []string{"child_id", "prompt"}},
		{name: "spent", owner: "scope", expect: childrenSpent},
		{name: "directory_read", owner: "session_id", keys: []string{"directory"}},
	}
}

func (t table) expects(ctx context.Context, stored store.Tx, d Difference, have, want map[string][]string) (bool, error) {
	if t.expect == nil {
		return false, nil
	}
	return t.expect(ctx, stored, d, have, want)
}

// rows reads the rows of a session by their key, each as texts by column. A long value
// stands as its sum, so that a long session fits.
func (t table) rows(ctx context.Context, tx store.Tx, columns []string, id string) (map[string][]string, error) {
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = `"` + column + `"`
	}
	query, args := fmt.Sprintf(`SELECT %s FROM "%s"`, strings.Join(quoted, ", "), t.name), []any{}
	if t.owner != "" {
		query, args = fmt.Sprintf(`%s WHERE "%s" = $1`, query, t.owner), []any{id}
	}
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	all := map[string][]string{}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
		row, key := make([]string, len(columns)), []string{}
		for i, value := range values {
			row[i] = text(value)
			for _, name := range t.keys {
				if name == columns[i] {
					key = append(key, name+"="+row[i])
				}
			}
		}
		all[strings.Join(key, " ")] = row
	}
	return all, rows.Err()
}

func text(value any) string {
	var whole string
	switch v := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		whole = string(v)
	default:
		whole = fmt.Sprint(v)
	}
	if len(whole) > 128 {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(whole)))
	}
	return whole
}

// childIsGone: a request of a session below goes with that session.
func childIsGone(ctx context.Context, stored store.Tx, d Difference, have, _ map[string][]string) (bool, error) {
	if _, there := have[d.Key]; there {
		return false, nil
	}
	for field := range strings.FieldsSeq(d.Key) {
		if child, ok := strings.CutPrefix(field, "child_id="); ok {
			var count int
			err := stored.QueryRow(ctx, `SELECT count(*) FROM session WHERE id = $1`, child).Scan(&count)
			return count == 0, err
		}
	}
	return false, nil
}

// childrenSpent: what sessions below spent stays counted when they are deleted, or were
// deleted before a pruning. So more may be stored than the log gives, never less.
func childrenSpent(ctx context.Context, stored store.Tx, d Difference, have, want map[string][]string) (bool, error) {
	row, there := have[d.Key]
	if !there {
		return false, nil
	}
	for i, replayed := range want[d.Key] {
		more, errMore := strconv.ParseInt(row[i], 10, 64)
		less, errLess := strconv.ParseInt(replayed, 10, 64)
		if errMore == nil && errLess == nil && more < less {
			return false, nil
		}
	}
	var gone int
	err := stored.QueryRow(ctx, `WITH RECURSIVE below (id) AS
		(SELECT $1 UNION SELECT task.child_id FROM task JOIN below ON task.session_id = below.id)
		SELECT count(*) FROM below LEFT JOIN session ON session.id = below.id
		WHERE session.id IS NULL OR session.pruned_seq >= 0`, d.Session).Scan(&gone)
	return gone > 0, err
}

// Tables names the tables that are compared.
func Tables() []string {
	var names []string
	for _, t := range append(tables(), hostTables()...) {
		names = append(names, t.name)
	}
	return names
}
