package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// plan is what a file was found to hold, and what the store has of it.
type plan struct {
	headers []Header
	// next is the sequence that must follow, by session.
	next map[string]int64
	// here is the last sequence that the store has, -1 for none.
	here map[string]int64
	// blobs are named by events; true once the file had them.
	blobs map[string]bool
	known *comparer
}

// check holds the whole file to its format, to what this program knows, and to what the
// store has already. tell is given every event in turn. Nothing is written.
func (im *Importer) check(ctx context.Context, file *os.File, tell func(store.Event) error) (*plan, error) {
	p := &plan{next: map[string]int64{}, here: map[string]int64{}, blobs: map[string]bool{}, known: &comparer{log: im.Log}}
	err := walk(file, im.limits(), visitor{
		headers: func(headers []Header) error { return p.begin(ctx, im.Log, headers) },
		event: func(number int64, e store.Event) error {
			if err := p.event(ctx, number, e); err != nil {
				return err
			}
			return tell(e)
		},
		blob: p.blob,
	})
	if err != nil {
		return nil, err
	}
	for _, header := range p.headers {
		if found := p.next[header.Session] - header.First; found != header.Events {
			return nil, &FormatError{Reason: fmt.Sprintf("has %d events of %s, and its header says %d", found, header.Session, header.Events)}
		}
	}
	for digest, found := range p.blobs {
		if !found {
			return nil, &FormatError{Reason: fmt.Sprintf("lacks the blob %s, which an event names", digest)}
		}
	}
	return p, nil
}

func (p *plan) begin(ctx context.Context, log store.Log, headers []Header) error {
	p.headers = headers
	for i, header := range headers {
		number := int64(i + 1)
		if err := session.CheckID(session.PrefixSession, header.Session); err != nil {
			return at(number, "session: %v", err)
		}
		if _, twice := p.next[header.Session]; twice {
			return at(number, "the session %s is there twice", header.Session)
		}
		if header.First < 0 || header.Events < 1 || header.Events > math.MaxInt64-header.First {
			return at(number, "first is %d and events is %d; a session has at least one event, from 0 on", header.First, header.Events)
		}
		head, err := store.ReadHead(ctx, log, header.Session)
		if errors.Is(err, store.ErrDeleted) {
			return &session.ConflictError{ID: header.Session, Reason: "was deleted here, and its id cannot be used again", Fix: "import it on another host"}
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", header.Session, err)
		}
		if here := head.Seq; here >= 0 && header.First > here+1 {
			return &session.ConflictError{ID: header.Session, Reason: fmt.Sprintf("is here up to event %d, and the file begins with event %d: what came between was pruned", here, header.First),
				Fix: "import it on another host"}
		}
		p.next[header.Session], p.here[header.Session] = header.First, head.Seq
	}
	return nil
}

func (p *plan) event(ctx context.Context, number int64, e store.Event) error {
	next, mine := p.next[e.Aggregate]
	switch {
	case !mine:
		return at(number, "the event is of %q, which has no header", clip(e.Aggregate))
	case e.Seq != next:
		return at(number, "the event has sequence %d of %s; %d must come here", e.Seq, e.Aggregate, next)
	case e.ID == "" || e.Time.UnixMilli() < 0:
		return at(number, "the event has no id, or a time before 1970")
	}
	payload, err := session.Decode(e)
	if err != nil {
		return at(number, "%v; a newer Plinth may read it", err)
	}
	for _, digest := range session.BlobsOf(payload) {
		if !isDigest(digest) {
			return at(number, "the event names the blob %q, which is no SHA-256 of 64 hex digits", clip(digest))
		}
		if _, known := p.blobs[digest]; !known {
			p.blobs[digest] = false
		}
	}
	p.next[e.Aggregate]++
	if e.Seq > p.here[e.Aggregate] {
		return nil
	}
	return p.known.compare(ctx, e)
}

func (p *plan) blob(number int64, digest string, value []byte) error {
	found, named := p.blobs[digest]
	sum := sha256.Sum256(value)
	switch {
	case !named:
		return at(number, "no event of the file names the blob %q", clip(digest))
	case found:
		return at(number, "the blob %s is there twice", digest)
	case hex.EncodeToString(sum[:]) != digest:
		return at(number, "the bytes of the blob %s do not have that SHA-256", digest)
	}
	p.blobs[digest] = true
	return nil
}

func isDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == text
}

func clip(text string) string {
	if len(text) > 80 {
		return text[:80] + "…"
	}
	return text
}

// comparer holds events to those that the store has under the same sequence.
type comparer struct {
	log  store.Log
	page []store.Event
}

func (c *comparer) compare(ctx context.Context, e store.Event) error {
	if len(c.page) == 0 || c.page[0].Aggregate != e.Aggregate || c.page[0].Seq != e.Seq {
		page, err := c.log.Read(ctx, e.Aggregate, e.Seq-1, readEvents)
		if errors.Is(err, store.ErrPruned) {
			return &session.ConflictError{ID: e.Aggregate, Reason: "is here, and its first events were pruned, so the file cannot be compared with it",
				Fix: "import it on another host"}
		}
		if err != nil {
			return fmt.Errorf("compare %s: %w", e.Aggregate, err)
		}
		c.page = page.Events
	}
	if len(c.page) == 0 || !same(c.page[0], e) {
		return &session.ConflictError{ID: e.Aggregate, Reason: fmt.Sprintf("is here already and went another way: event %d differs", e.Seq),
			Fix: "import it on another host"}
	}
	c.page = c.page[1:]
	return nil
}

// same is what the store itself holds a replayed event to.
func same(a, b store.Event) bool {
	x, errX := session.CanonicalJSON(a.Data)
	y, errY := session.CanonicalJSON(b.Data)
	return a.ID == b.ID && a.Type == b.Type && a.Version == b.Version && errX == nil && errY == nil && string(x) == string(y)
}
