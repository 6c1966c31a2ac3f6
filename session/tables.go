package session

import (
	"errors"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// IsSessionID reports whether an aggregate is a session.
func IsSessionID(id string) bool { return strings.HasPrefix(id, PrefixSession) }

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// isMissing reports a row that a reader of this package did not find.
func isMissing(err error) bool { return errors.Is(err, ErrNotFound) }

func scanText(row store.Row) (string, error) {
	var text string
	err := row.Scan(&text)
	return text, err
}

// collect reads all rows and closes them.
func collect[T any](rows store.Rows, err error, scan func(store.Row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, rows.Err()
}
