package secret

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	defaultTTL = 5 * time.Minute
	// minAge keeps a server that answers 401 to everything, and a lookup that
	// fails, from starting a command for every request.
	minAge = 10 * time.Second
)

// errClosed ends the lookups of a resolver that is closed.
var errClosed = errors.New("the resolver is closed")

// ResolverOptions configure a Resolver.
type ResolverOptions struct {
	// TTL is how long a value from the keyring or a command is kept; 0 means 5
	// minutes. Variables and files are read at every use.
	TTL time.Duration
	// Scrubber is told every value; nil for none.
	Scrubber *Scrubber
}

// Resolver resolves references and keeps what is costly to look up. Of one
// reference there is at most one lookup at a time, which all callers share and
// none of them can interrupt for the others. It is safe for use by several
// goroutines.
type Resolver struct {
	ttl      time.Duration
	scrubber *Scrubber
	resolve  func(context.Context, reference) (Value, error)

	ctx     context.Context // of the lookups
	cancel  context.CancelCauseFunc
	lookups sync.WaitGroup

	mu      sync.Mutex
	entries map[string]*entry // by reference; those are the operator's, so few
}

// entry is a lookup. Its fields are set when done is closed.
type entry struct {
	done  chan struct{}
	value Value
	err   error
	at    time.Time
}

// NewResolver makes a resolver. Close it.
func NewResolver(options ResolverOptions) *Resolver {
	r := &Resolver{ttl: options.TTL, scrubber: options.Scrubber, resolve: resolve, entries: map[string]*entry{}}
	if r.ttl == 0 {
		r.ttl = defaultTTL
	}
	if r.scrubber == nil {
		r.scrubber = &Scrubber{}
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// Resolve answers the secret that ref names, from memory where that is allowed.
func (r *Resolver) Resolve(ctx context.Context, ref string) (Value, error) {
	parsed, err := parse(ref)
	if err != nil {
		return Value{}, err
	}
	var value Value
	if parsed.scheme == schemeEnv || parsed.scheme == schemeFile {
		value, err = r.resolve(ctx, parsed)
	} else {
		value, err = r.lookUp(ctx, ref, parsed)
	}
	if err != nil {
		return Value{}, err
	}
	r.scrubber.Add(value)
	return value, nil
}

func (r *Resolver) lookUp(ctx context.Context, ref string, parsed reference) (Value, error) {
	e, err := r.entry(ref, parsed)
	if err != nil {
		return Value{}, fmt.Errorf("resolve secret %s: %w", parsed, err)
	}
	select {
	case <-e.done:
		return e.value, e.err
	case <-ctx.Done():
		return Value{}, fmt.Errorf("resolve secret %s: %w", parsed, context.Cause(ctx))
	}
}

// entry answers the lookup that holds, and begins one where none does.
func (r *Resolver) entry(ref string, parsed reference) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.entries[ref]; ok && r.holds(e) {
		return e, nil
	}
	if r.ctx.Err() != nil {
		return nil, errClosed
	}
	e := &entry{done: make(chan struct{})}
	r.entries[ref] = e
	r.lookups.Go(func() {
		e.value, e.err = r.resolve(r.ctx, parsed)
		e.at = time.Now()
		close(e.done)
	})
	return e, nil
}

// holds reports whether the entry still runs or is young enough.
func (r *Resolver) holds(e *entry) bool {
	select {
	case <-e.done:
	default:
		return true
	}
	if e.err != nil {
		return time.Since(e.at) < min(minAge, r.ttl)
	}
	return time.Since(e.at) < r.ttl
}

// Rejected tells the resolver that a server did not take the value: unless it is
// young, or another by now, it is forgotten and the next use looks it up again.
func (r *Resolver) Rejected(ref string, value Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[ref]
	if !ok {
		return
	}
	select {
	case <-e.done:
		if e.value.Equal(value) && time.Since(e.at) >= minAge {
			delete(r.entries, ref)
		}
	default:
	}
}

// Close ends the lookups, waits for them and forgets all values.
func (r *Resolver) Close() error {
	r.mu.Lock()
	r.cancel(errClosed)
	r.mu.Unlock()
	r.lookups.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.entries)
	return nil
}
