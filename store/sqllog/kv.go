package sqllog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// KVGet answers the value of a key, or store.ErrNotFound.
func KVGet(ctx context.Context, tx store.Tx, namespace, key string) (value []byte, err error) {
	if err := tx.QueryRow(ctx, selectValue, []byte(namespace), []byte(key)).Scan(&value); err != nil {
		return nil, fmt.Errorf("get %s/%s: %w", namespace, key, err)
	}
	return value, nil
}

// KVSet stores the value of a key.
func KVSet(ctx context.Context, tx store.Tx, namespace, key string, value []byte) error {
	if value == nil {
		value = []byte{} // nil would be stored as NULL
	}
	if _, err := tx.Exec(ctx, upsertValue, []byte(namespace), []byte(key), value); err != nil {
		return fmt.Errorf("set %s/%s: %w", namespace, key, err)
	}
	return nil
}

// KVDelete removes a key. A key that is not there is no error.
func KVDelete(ctx context.Context, tx store.Tx, namespace, key string) error {
	if _, err := tx.Exec(ctx, deleteValue, []byte(namespace), []byte(key)); err != nil {
		return fmt.Errorf("delete %s/%s: %w", namespace, key, err)
	}
	return nil
}

// KVList answers up to limit keys with the prefix that come after the given key,
// in byte order.
func KVList(ctx context.Context, tx store.Tx, namespace, prefix, after string, limit int) ([]string, error) {
	from := prefix
	if after >= prefix {
		from = after + "\x00" // the next string in byte order
	}
	rows, err := tx.Query(ctx, selectKeys, []byte(namespace), []byte(from), max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("list %s/%s: %w", namespace, prefix, err)
	}
	keys, err := scanKeys(rows, prefix)
	if err := errors.Join(err, rows.Close()); err != nil {
		return nil, fmt.Errorf("list %s/%s: %w", namespace, prefix, err)
	}
	return keys, nil
}

// scanKeys stops at the first key without the prefix: those with it stand together.
func scanKeys(rows store.Rows, prefix string) (keys []string, err error) {
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(string(key), prefix) {
			break
		}
		keys = append(keys, string(key))
	}
	return keys, rows.Err()
}

// KVNamespaces answers up to limit namespaces with the prefix that come after the given
// one, in byte order.
func KVNamespaces(ctx context.Context, tx store.Tx, prefix, after string, limit int) (namespaces []string, err error) {
	from := prefix
	if after >= prefix {
		from = after + "\x00"
	}
	for len(namespaces) < limit {
		var namespace []byte
		err := tx.QueryRow(ctx, selectNamespace, []byte(from)).Scan(&namespace)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && !strings.HasPrefix(string(namespace), prefix):
			return namespaces, nil
		case err != nil:
			return nil, fmt.Errorf("list the namespaces %s: %w", prefix, err)
		}
		namespaces = append(namespaces, string(namespace))
		from = string(namespace) + "\x00"
	}
	return namespaces, nil
}

// KVClear removes up to limit keys of the namespace.
func KVClear(ctx context.Context, tx store.Tx, namespace string, limit int) (removed int, err error) {
	affected, err := tx.Exec(ctx, clearValues, []byte(namespace), []byte(namespace), max(limit, 0))
	if err != nil {
		return 0, fmt.Errorf("clear %s: %w", namespace, err)
	}
	return int(affected), nil
}
