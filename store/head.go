package store

import (
	"context"
	"math"
)

// EndOfLog is a place behind the last event of every aggregate.
const EndOfLog = math.MaxInt64 - 1

// ReadHead answers the state of an aggregate, with the errors of Log.Read.
func ReadHead(ctx context.Context, log Log, aggregate string) (Head, error) {
	page, err := log.Read(ctx, aggregate, EndOfLog, 1)
	return page.Head, err
}
