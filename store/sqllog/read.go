package sqllog

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plinthhost/plinth/store"
)

// head is an aggregate's head with its number, which is 0 when it has no row.
type head struct {
	store.Head
	num int64
}

func readHead(ctx context.Context, tx store.Tx, aggregate string) (head, error) {
	var h head
	var deleted int
	err := tx.QueryRow(ctx, selectHead, aggregate).Scan(&h.num, &h.First, &h.Fence, &h.Owner, &deleted, &h.Seq)
	if errors.Is(err, store.ErrNotFound) {
		return head{Head: store.Head{Seq: -1}}, nil
	}
	if err != nil {
		return head{}, fmt.Errorf("read the head of %s: %w", aggregate, err)
	}
	h.Deleted = deleted != 0
	return h, nil
}

// Read answers up to limit events of the aggregate with Seq > after, as
// store.Log says. tx must be one snapshot.
func (l *Log) Read(ctx context.Context, tx store.Tx, aggregate string, after int64, limit int) (store.Page, error) {
	h, err := readHead(ctx, tx, aggregate)
	if err != nil {
		return store.Page{}, err
	}
	page := store.Page{Head: h.Head}
	switch {
	case h.Deleted:
		return page, fmt.Errorf("read %s: %w", aggregate, store.ErrDeleted)
	case max(after, -1)+1 < h.First:
		return page, fmt.Errorf("read %s after %d, the first is %d: %w", aggregate, after, h.First, store.ErrPruned)
	case h.num == 0 || after >= h.Seq:
		return page, nil
	}
	page.Events, page.More, err = l.events(ctx, tx, limit, selectEvents, h.num, after)
	if err != nil {
		return store.Page{}, fmt.Errorf("read %s after %d: %w", aggregate, after, err)
	}
	return page, nil
}

// Feed answers up to limit events of all aggregates with Position > after.
func (l *Log) Feed(ctx context.Context, tx store.Tx, after int64, limit int) (store.Page, error) {
	events, more, err := l.events(ctx, tx, limit, selectFeed, after)
	if err != nil {
		return store.Page{}, fmt.Errorf("read the feed after %d: %w", after, err)
	}
	return store.Page{Events: events, More: more}, nil
}

// events runs a query whose last placeholder is the limit. It asks for one row
// more than limit, to know whether there is one.
func (l *Log) events(ctx context.Context, tx store.Tx, limit int, query string, args ...any) (events []store.Event, more bool, err error) {
	limit = min(max(limit, 0), math.MaxInt32)
	rows, err := tx.Query(ctx, query, append(args, int64(limit)+1)...)
	if err != nil {
		return nil, false, err
	}
	digests, err := scanEvents(rows, limit, &events, &more)
	if err := errors.Join(err, rows.Close()); err != nil {
		return nil, false, err
	}
	for _, d := range digests {
		data, err := l.blobs.Get(ctx, hex.EncodeToString(d.digest))
		if err != nil {
			return nil, false, fmt.Errorf("data of event %s: %w", events[d.index].ID, err)
		}
		events[d.index].Data = data
	}
	return events, more, nil
}

// elsewhere marks an event whose data is a blob.
type elsewhere struct {
	index  int
	digest []byte
}

func scanEvents(rows store.Rows, limit int, events *[]store.Event, more *bool) (digests []elsewhere, err error) {
	for rows.Next() {
		if len(*events) == limit {
			*more = true
			break
		}
		var e store.Event
		var millis int64
		var digest sql.RawBytes
		if err := rows.Scan(&e.Aggregate, &e.Position, &e.Seq, &e.ID, &e.Type, &e.Version, &millis,
			&e.Actor, &e.Cause, &e.Trace, &e.Fence, &e.Data, &digest); err != nil {
			return nil, err
		}
		e.Time = time.UnixMilli(millis).UTC()
		if len(digest) > 0 {
			digests = append(digests, elsewhere{index: len(*events), digest: append([]byte(nil), digest...)})
		}
		*events = append(*events, e)
	}
	return digests, rows.Err()
}
