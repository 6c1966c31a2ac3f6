package sqllog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/store"
)

// InlineData is the largest Data, in bytes, that is kept in the event's row.
// What is larger goes to the blobs.
const InlineData = 16 << 10

// MaxData is the largest Data of one event, in bytes.
const MaxData = 64 << 20

// Prepared is a list of events in the form that is written: checked, encoded,
// and with its large data durable in the blobs. It can be written more than once.
type Prepared struct {
	events  []store.Event
	digests [][]byte // one for each event, nil when the data is kept in the row
	size    int
}

// Size is roughly how many bytes the rows take.
func (p *Prepared) Size() int { return p.size }

// Prepare checks and encodes events. It runs before any transaction opens.
// Errors: store.ErrTooLarge, store.ErrFull, or what is wrong with an event.
func (l *Log) Prepare(ctx context.Context, events []store.Event) (*Prepared, error) {
	for i := range events {
		if err := check(&events[i]); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	p := &Prepared{events: make([]store.Event, len(events)), digests: make([][]byte, len(events))}
	for i, event := range events {
		event.Time = time.UnixMilli(event.Time.UnixMilli()).UTC()
		p.events[i] = event
		p.size += rowOverhead + min(len(event.Data), InlineData)
	}
	return p, l.putLarge(ctx, p)
}

// maxPuts is how many blobs of one list are written at a time: each waits for the disk.
const maxPuts = 16

// putLarge makes the large data durable.
func (l *Log) putLarge(ctx context.Context, p *Prepared) error {
	var puts errgroup.Group
	puts.SetLimit(maxPuts)
	for i, event := range p.events {
		if len(event.Data) <= InlineData {
			continue
		}
		puts.Go(func() (err error) {
			if p.digests[i], err = l.putData(ctx, event.Data); err != nil {
				return fmt.Errorf("event %d: keep %d bytes of data as a blob: %w", i, len(event.Data), err)
			}
			return nil
		})
	}
	return puts.Wait()
}

// rowOverhead is about what an event takes in its row and indexes beside Data.
const rowOverhead = 300

func (l *Log) putData(ctx context.Context, data []byte) ([]byte, error) {
	digest, err := l.blobs.Put(ctx, data)
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(digest)
}

// CheckBatch answers what is wrong with a batch as a whole.
func CheckBatch(batch store.Batch) error {
	switch {
	case batch.Aggregate == "":
		return errors.New("the batch names no aggregate")
	case len(batch.Events) == 0:
		return errors.New("the batch has no event")
	case len(batch.Events) > store.MaxBatch:
		return fmt.Errorf("%d events, the most is %d: %w", len(batch.Events), store.MaxBatch, store.ErrTooLarge)
	}
	return nil
}

func check(e *store.Event) error {
	switch {
	case e.ID == "":
		return errors.New("it has no id")
	case e.Type == "":
		return fmt.Errorf("%s has no type", e.ID)
	case e.Version < 1:
		return fmt.Errorf("%s has version %d, the first is 1", e.ID, e.Version)
	case len(e.Data) == 0:
		return fmt.Errorf("%s has no data, which must be one JSON value", e.ID)
	case len(e.Data) > MaxData:
		return fmt.Errorf("%s has %d bytes of data, the most is %d: %w", e.ID, len(e.Data), MaxData, store.ErrTooLarge)
	}
	return nil
}
