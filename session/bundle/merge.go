package bundle

import (
	"context"
	"fmt"
	"iter"

	"github.com/plinthhost/plinth/store"
)

// Range is a run of events of one aggregate, both ends included.
type Range struct {
	Aggregate   string
	First, Last int64
}

// readEvents is how many events of a range are held at a time.
const readEvents = 32

// Merge reads ranges in the order in which the events were recorded, so that they can be
// replayed as they happened: what a session does may change rows of its ancestors.
func Merge(ctx context.Context, log store.Log, ranges []Range) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		readers := make([]*rangeReader, len(ranges))
		for i, r := range ranges {
			readers[i] = &rangeReader{Range: r}
		}
		for {
			var next *rangeReader
			for _, reader := range readers {
				if err := reader.fill(ctx, log); err != nil {
					yield(store.Event{}, err)
					return
				}
				if len(reader.page) > 0 && (next == nil || reader.page[0].Position < next.page[0].Position) {
					next = reader
				}
			}
			if next == nil {
				return
			}
			event := next.page[0]
			if event.Seq != next.First {
				yield(event, next.missing())
				return
			}
			next.page, next.First = next.page[1:], next.First+1
			if !yield(event, nil) {
				return
			}
		}
	}
}

// rangeReader reads a range. First moves on with what is taken of its page.
type rangeReader struct {
	Range
	page []store.Event
}

func (r *rangeReader) fill(ctx context.Context, log store.Log) error {
	if len(r.page) > 0 || r.First > r.Last {
		return nil
	}
	page, err := log.Read(ctx, r.Aggregate, r.First-1, int(min(readEvents, r.Last-r.First+1)))
	if err != nil {
		return err
	}
	if len(page.Events) == 0 {
		return r.missing()
	}
	r.page = page.Events
	return nil
}

func (r *rangeReader) missing() error {
	return fmt.Errorf("event %d of %s is missing; run plinth doctor", r.First, r.Aggregate)
}
