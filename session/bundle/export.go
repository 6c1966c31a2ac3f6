package bundle

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Options say what is exported.
type Options struct {
	// Children adds the sessions that calls of this one made, and those of theirs.
	Children bool
	// Plinth is the version of the program.
	Plinth string
	Now    time.Time
}

// Export is one export: what the sessions were when it was opened. They may go on
// meanwhile.
type Export struct {
	log     store.Log
	blobs   store.Blobs
	headers []Header
}

// Open fixes what is exported. Errors: session.ErrNotFound, store.ErrDeleted.
func Open(ctx context.Context, log store.Log, blobs store.Blobs, id string, options Options) (*Export, error) {
	ids := []string{id}
	err := log.View(ctx, func(tx store.Tx) (err error) {
		for i := 0; options.Children && i < len(ids); i++ {
			below, err := session.LoadChildren(ctx, tx, ids[i])
			if err != nil {
				return err
			}
			slices.Sort(below)
			ids = append(ids, below...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", id, err)
	}
	e := &Export{log: log, blobs: blobs}
	for _, one := range ids {
		head, err := store.ReadHead(ctx, log, one)
		switch {
		case err != nil:
			return nil, fmt.Errorf("export %s: %w", one, err)
		case head.Seq < 0 || !session.IsSessionID(one):
			return nil, fmt.Errorf("session %s: %w", one, session.ErrNotFound)
		}
		e.headers = append(e.headers, Header{Format: Format, Version: Version, Session: one, First: head.First,
			Events: head.Seq - head.First + 1, Exported: options.Now.UTC().Truncate(time.Second), Log: log.ID(), Plinth: options.Plinth})
	}
	return e, nil
}

// Write writes the file. What was written before an error is no bundle: its end is
// missing.
func (e *Export) Write(ctx context.Context, to io.Writer) error {
	return Write(to, e.headers, func(w *Writer) error {
		ranges := make([]Range, len(e.headers))
		for i, h := range e.headers {
			ranges[i] = Range{Aggregate: h.Session, First: h.First, Last: h.last()}
		}
		for stored, err := range Merge(ctx, e.log, ranges) {
			if err == nil {
				err = w.Event(stored)
			}
			if err != nil {
				return fmt.Errorf("export %s: %w", e.headers[0].Session, err)
			}
		}
		for _, digest := range w.named {
			value, err := e.blobs.Get(ctx, digest)
			if errors.Is(err, store.ErrNotFound) {
				err = fmt.Errorf("the blob %s is missing from the store; run plinth doctor", digest)
			}
			if err == nil {
				err = w.Blob(value)
			}
			if err != nil {
				return fmt.Errorf("export %s: %w", e.headers[0].Session, err)
			}
		}
		return nil
	})
}

// Writer writes the lines of one file.
type Writer struct {
	to    *bufio.Writer
	sum   hash.Hash
	lines int64

	named []string // blobs, in the order they were first named
	seen  map[string]bool
}

// Write writes a whole file: the headers, what body writes, and the end.
func Write(to io.Writer, headers []Header, body func(*Writer) error) error {
	buffered := bufio.NewWriterSize(to, 64<<10)
	w := &Writer{to: buffered, sum: sha256.New(), seen: map[string]bool{}}
	for _, header := range headers {
		if err := w.line(header); err != nil {
			return err
		}
	}
	if err := body(w); err != nil {
		return err
	}
	if err := w.line(line{End: &end{Lines: w.lines, SHA256: hex.EncodeToString(w.sum.Sum(nil))}}); err != nil {
		return err
	}
	return buffered.Flush()
}

// Event writes one event. All events come before the first blob.
func (w *Writer) Event(stored store.Event) error {
	payload, err := session.Decode(stored)
	if err != nil {
		return err
	}
	for _, digest := range session.BlobsOf(payload) {
		if !w.seen[digest] {
			w.seen[digest], w.named = true, append(w.named, digest)
		}
	}
	return w.line(line{Event: wire(stored)})
}

// Blob writes one value that an event names.
func (w *Writer) Blob(value []byte) error {
	sum := sha256.Sum256(value)
	return w.line(line{Blob: &blob{Digest: hex.EncodeToString(sum[:]), Data: value}})
}

func (w *Writer) line(value any) error {
	encoder := json.NewEncoder(io.MultiWriter(w.to, w.sum))
	encoder.SetEscapeHTML(false)
	w.lines++
	return encoder.Encode(value)
}
