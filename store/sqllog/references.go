package sqllog

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/plinthhost/plinth/store"
)

const (
	selectReferences = `SELECT position, data, digest FROM log_event WHERE position > $1 ORDER BY position LIMIT $2`
	selectValues     = `SELECT value FROM log_kv`
)

// References tells found of everything in up to limit events after a position that may
// be the digest of a blob: each event's own, and whatever looks like one in its data. It
// answers the position to go on from, and whether there are more.
func (l *Log) References(ctx context.Context, tx store.Tx, after int64, limit int, found func(digest string)) (last int64, more bool, err error) {
	rows, err := tx.Query(ctx, selectReferences, after, limit)
	if err != nil {
		return after, false, fmt.Errorf("read what events name: %w", err)
	}
	count, elsewhere := 0, []string{}
	last = after
	for rows.Next() {
		var data, digest sql.RawBytes
		if err = rows.Scan(&last, &data, &digest); err != nil {
			break
		}
		if count++; len(digest) > 0 {
			elsewhere = append(elsewhere, hex.EncodeToString(digest))
		}
		Digests(data, found)
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return after, false, fmt.Errorf("read what events name: %w", err)
	}
	for _, digest := range elsewhere {
		found(digest)
		data, err := l.blobs.Get(ctx, digest)
		if err != nil {
			return after, false, fmt.Errorf("read what the data of an event names: %w", err)
		}
		Digests(data, found)
	}
	return last, count == limit, nil
}

// KVReferences does the same for all values of the key-value store.
func KVReferences(ctx context.Context, tx store.Tx, found func(digest string)) error {
	rows, err := tx.Query(ctx, selectValues)
	if err != nil {
		return fmt.Errorf("read what values name: %w", err)
	}
	for rows.Next() {
		var value sql.RawBytes
		if err = rows.Scan(&value); err != nil {
			break
		}
		Digests(value, found)
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("read what values name: %w", err)
	}
	return nil
}

const digestLength = 64

// Digests tells found of every 64 lower-case hex digits in a row, also where more stand
// in a row, and where JSON has them escaped.
func Digests(data []byte, found func(digest string)) {
	run := make([]byte, 0, digestLength)
	for at := 0; at < len(data); {
		c, size := unescaped(data[at:])
		at += size
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			run = run[:0]
			continue
		}
		if len(run) == digestLength {
			copy(run, run[1:])
			run = run[:digestLength-1]
		}
		if run = append(run, c); len(run) == digestLength {
			found(string(run))
		}
	}
}

// unescaped answers the first character, and how many bytes it takes.
func unescaped(data []byte) (c byte, size int) {
	if data[0] != '\\' || len(data) < 6 || data[1] != 'u' {
		return data[0], 1
	}
	code, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil || code > 0x7f {
		return data[0], 1
	}
	return byte(code), 6
}
