package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Importer takes bundles into a log. It takes one at a time.
type Importer struct {
	Log     store.Log
	Blobs   store.Blobs
	Encoder session.Encoder
	// Dir is a folder of its own, on the disk of the store.
	Dir string
	// Scratch opens an empty log with the kernel's tables, for trying a file out. done
	// removes it.
	Scratch func(ctx context.Context) (log store.Log, done func() error, err error)
	// Limits; DefaultLimits when zero.
	Limits Limits

	mu sync.Mutex
}

// Imported is one session of a file that was taken.
type Imported struct {
	Session string `json:"session"`
	// Events is how many were new here; 0 for one that was here already.
	Events int64 `json:"events"`
	// Interrupted: it was exported in the middle of something, which ended here.
	Interrupted bool `json:"interrupted,omitempty"`
}

func (im *Importer) limits() Limits {
	if im.Limits == (Limits{}) {
		return DefaultLimits()
	}
	return im.Limits
}

// Import takes the file that from gives: whole, or not at all. What it has already of a
// session is compared and stays. The sessions rest: nothing of what was running or
// waiting where they come from goes on here by itself.
//
// The file is kept and looked through before anything is written, and from then on it
// will be taken: an import that a crash cuts off is finished by Finish.
//
// Errors: *FormatError, *session.ConflictError for a session that was deleted here or is
// another one, store.ErrTooLarge, and the store's own.
func (im *Importer) Import(ctx context.Context, origin session.Origin, from io.Reader) ([]Imported, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	kept, err := im.keep(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	imported, err := im.take(ctx, origin, kept)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return imported, nil
}

// take tries a kept file out and writes it.
func (im *Importer) take(ctx context.Context, origin session.Origin, kept *spooled) (imported []Imported, err error) {
	defer func() { err = errors.Join(err, kept.close(keeps(err))) }()
	plan, rest, err := im.try(ctx, origin, kept.file)
	if err != nil {
		return nil, err
	}
	if err := kept.accept(); err != nil {
		return nil, err
	}
	// It is decided: who asked for it may go away.
	return im.write(context.WithoutCancel(ctx), kept.file, plan, rest)
}

// keeps reports an error after which the next start finishes the import: the store is
// closed, or has no room.
func keeps(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrFull)
}

// try checks the file, replays it into a log of its own, and answers with what events
// each session comes to rest.
func (im *Importer) try(ctx context.Context, origin session.Origin, file *os.File) (_ *plan, rest map[string][]store.Event, err error) {
	scratch, done, err := im.Scratch(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open a log to try it in: %w", err)
	}
	defer func() { err = errors.Join(err, done()) }()
	batch := Replayer{Log: scratch}
	p, err := im.check(ctx, file, func(e store.Event) error { return batch.Add(ctx, e) })
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		return nil, nil, refusal(err)
	}
	rest = map[string][]store.Event{}
	for _, header := range p.headers {
		if p.here[header.Session] >= header.last() {
			continue // it came to rest when it was imported, or goes on here
		}
		if rest[header.Session], err = im.rest(ctx, scratch, origin, header); err != nil {
			return nil, nil, err
		}
	}
	return p, rest, im.checkIDs(ctx, scratch, p)
}

// refusal is what a file that a log does not take says of itself.
func refusal(err error) error {
	var replay *store.ReplayError
	var rejected *store.RejectedError
	if errors.As(err, &replay) || errors.As(err, &rejected) {
		return &FormatError{Reason: "has events that cannot follow each other: " + err.Error()}
	}
	return err
}

// rest answers the events that follow those of the file.
func (im *Importer) rest(ctx context.Context, scratch store.Log, origin session.Origin, header Header) (events []store.Event, err error) {
	var payloads []session.Payload
	err = scratch.View(ctx, func(tx store.Tx) (err error) {
		payloads, err = session.LoadRest(ctx, tx, im.Encoder.IDs, header.Session)
		return err
	})
	if err != nil || len(payloads) == 0 {
		return nil, err
	}
	if events, err = im.Encoder.Encode(origin, payloads...); err != nil {
		return nil, err
	}
	for i := range events {
		events[i].Aggregate, events[i].Seq = header.Session, header.last()+1+int64(i)
	}
	return events, nil
}

// write takes a file that was tried: its blobs first, then its events.
func (im *Importer) write(ctx context.Context, file *os.File, p *plan, rest map[string][]store.Event) ([]Imported, error) {
	err := walk(file, im.limits(), visitor{
		headers: func([]Header) error { return nil },
		event:   func(int64, store.Event) error { return nil },
		blob: func(_ int64, _ string, value []byte) error {
			_, err := im.Blobs.Put(ctx, value)
			return err
		},
	})
	if err != nil {
		return nil, fmt.Errorf("keep the blobs: %w", err)
	}
	last := map[string]int64{}
	for _, header := range p.headers {
		last[header.Session] = header.last()
	}
	batch := Replayer{Log: im.Log}
	err = walk(file, im.limits(), visitor{
		headers: func([]Header) error { return nil },
		blob:    func(int64, string, []byte) error { return nil },
		event: func(_ int64, e store.Event) error {
			if err := batch.Add(ctx, e); err != nil || e.Seq != last[e.Aggregate] {
				return err
			}
			for _, closing := range rest[e.Aggregate] { // with the last event, or after it
				if err := batch.Add(ctx, closing); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		return nil, refusal(err)
	}
	imported := make([]Imported, len(p.headers))
	for i, header := range p.headers {
		imported[i] = Imported{Session: header.Session, Events: max(0, header.last()-max(p.here[header.Session], header.First-1)),
			Interrupted: len(rest[header.Session]) > 0}
	}
	return imported, nil
}
