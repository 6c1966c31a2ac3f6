package sqllog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/plinthhost/plinth/store"
)

// Options is what a driver hands to New.
type Options struct {
	// Projections run on each event in this order.
	Projections []store.Projection
	// Views run after the projections, each in a savepoint of its own.
	Views []View
	// Blobs keeps the data of events above InlineData.
	Blobs store.Blobs
	// Position answers the next position inside a write transaction. Positions
	// must become visible in ascending order; gaps are allowed.
	Position func(ctx context.Context, tx store.Tx) (int64, error)
}

// Log holds the rules. It has no connection and no goroutine of its own; all
// methods take the transaction they work in.
type Log struct {
	projections []store.Projection
	views       *views
	blobs       store.Blobs
	position    func(ctx context.Context, tx store.Tx) (int64, error)
}

// New makes a Log. Load must run before its first use.
func New(options Options) *Log {
	return &Log{
		projections: options.Projections,
		views:       newViews(options.Views),
		blobs:       options.Blobs,
		position:    options.Position,
	}
}

// Identity is what a store knows about itself.
type Identity struct {
	// ID names the log's incarnation: "log_" and 32 hex digits.
	ID string
	// Opened counts the openings of the store, from 1. Where one process holds the
	// store it is the fence of every lease that the process gives.
	Opened int64
	// Position is the highest position that was ever given to a stored event.
	Position int64
}

// Load counts one opening of the store, reads what the store knows about itself
// and the state of the views. changed names the views whose tables were changed
// since they were filled; they are stale, as is a view that is new to a log with
// events.
func (l *Log) Load(ctx context.Context, tx Tx, changed map[string]bool) (Identity, error) {
	id, err := loadID(ctx, tx)
	if err != nil {
		return Identity{}, fmt.Errorf("load the log's id: %w", err)
	}
	opened, err := metaNumber(ctx, tx, metaOpened)
	if err != nil {
		return Identity{}, fmt.Errorf("load the count of openings: %w", err)
	}
	opened++
	if err := setMeta(ctx, tx, metaOpened, strconv.FormatInt(opened, 10)); err != nil {
		return Identity{}, fmt.Errorf("count this opening: %w", err)
	}
	position, err := lastPosition(ctx, tx)
	if err != nil {
		return Identity{}, fmt.Errorf("load the last position: %w", err)
	}
	if err := l.views.load(ctx, tx, changed, position > 0); err != nil {
		return Identity{}, err
	}
	return Identity{ID: id, Opened: opened, Position: position}, nil
}

const (
	metaID       = "id"
	metaOpened   = "opened"
	metaPosition = "position"
)

func loadID(ctx context.Context, tx store.Tx) (string, error) {
	id, err := meta(ctx, tx, metaID)
	if !errors.Is(err, store.ErrNotFound) {
		return id, err
	}
	return RenewID(ctx, tx)
}

// RenewID makes the log another one that has gone on from here: cursors of the first are
// told apart. It answers the new id.
func RenewID(ctx context.Context, tx store.Tx) (string, error) {
	var random [16]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the program instead
	id := "log_" + hex.EncodeToString(random[:])
	return id, setMeta(ctx, tx, metaID, id)
}

// lastPosition is the highest position given so far. Positions of deleted events
// are never given again, so Delete stores a floor.
func lastPosition(ctx context.Context, tx store.Tx) (int64, error) {
	floor, err := metaNumber(ctx, tx, metaPosition)
	if err != nil {
		return 0, err
	}
	var last int64
	if err := tx.QueryRow(ctx, selectLastPosition).Scan(&last); err != nil {
		return 0, err
	}
	return max(floor, last), nil
}

func meta(ctx context.Context, tx store.Tx, name string) (value string, err error) {
	err = tx.QueryRow(ctx, selectMeta, name).Scan(&value)
	return value, err
}

// metaNumber answers 0 when the number was never set.
func metaNumber(ctx context.Context, tx store.Tx, name string) (int64, error) {
	text, err := meta(ctx, tx, name)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func setMeta(ctx context.Context, tx store.Tx, name, value string) error {
	_, err := tx.Exec(ctx, upsertMeta, name, value)
	return err
}
