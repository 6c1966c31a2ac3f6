package sessiontest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/store"
)

// Tables dumps every table of the kernel, for comparing two stores: a line per row,
// sorted, without what is the log's own.
func Tables(t testing.TB, log store.Log) string {
	t.Helper()
	var lines []string
	err := log.View(t.Context(), func(tx store.Tx) error {
		names, err := texts(t, tx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'log%' AND name NOT LIKE 'sqlite%'
			AND name NOT LIKE 'session_list%'`)
		if err != nil {
			return err
		}
		for _, name := range names {
			columns, err := texts(t, tx, fmt.Sprintf(`SELECT '"' || name || '"' FROM pragma_table_info('%s')`, name))
			if err != nil {
				return err
			}
			rows, err := texts(t, tx, fmt.Sprintf(`SELECT json_array(%s) FROM "%s"`, strings.Join(columns, ", "), name))
			if err != nil {
				return err
			}
			for _, row := range rows {
				lines = append(lines, name+" "+row)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func texts(t testing.TB, tx store.Tx, query string) ([]string, error) {
	rows, err := tx.Query(t.Context(), query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
