package plugin

import (
	"context"
	"sync"

	"github.com/plinthhost/plinth/session"
)

// slot is one plugin in one scope. Its changes happen one after the other; those of
// other slots do not wait for them.
type slot struct {
	id       string
	location string
	turn     chan struct{} // has a token while a change is under way
	learning sync.Mutex    // orders what is read of the log: the latest is what stays known

	mu       sync.Mutex
	waiting  []*offering    // what the next changes are about; one for each origin
	known    session.Plugin // what the log says
	serving  *serving       // nil for none
	retiring []*retiring    // the oldest first
}

// offering is a candidate that waits for its turn. A newer one of the same origin takes
// its place, and who waited for the older one is answered by it.
type offering struct {
	offer Offer
	done  chan struct{}
	err   error
}

func newSlot(id, location string) *slot {
	return &slot{id: id, location: location, turn: make(chan struct{}, 1), known: session.Plugin{ID: id, Location: location}}
}

// commandRef is how the command line is told which plugin is meant.
func commandRef(id, location string) string {
	if location == "" {
		return id
	}
	return id + " --project " + clip(location)
}

// take waits for the slot's turn.
func (s *slot) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slot) yield() { <-s.turn }

// propose puts the offer in line, in the place of an older one from the same origin;
// first is true when its caller has to see to it.
func (s *slot) propose(offer Offer) (o *offering, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, earlier := range s.waiting {
		if earlier.offer.Source == offer.Source && earlier.offer.Candidate.Origin == offer.Candidate.Origin &&
			earlier.offer.Grants == nil && offer.Grants == nil {
			earlier.offer = offer
			return earlier, false
		}
	}
	o = &offering{offer: offer, done: make(chan struct{})}
	s.waiting = append(s.waiting, o)
	return o, true
}

// pick takes an offer out of line. There is one for each caller.
func (s *slot) pick() *offering {
	s.mu.Lock()
	defer s.mu.Unlock()
	picked := s.waiting[0]
	s.waiting = s.waiting[1:]
	return picked
}

func (s *slot) look() (known session.Plugin, serving *serving) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.serving
}

// learn reads what the log says of the plugin, also that it knows none of it any more.
func (s *slot) learn(ctx context.Context, ledger *session.Plugins) error {
	s.learning.Lock()
	defer s.learning.Unlock()
	known, err := ledger.Get(ctx, s.id, s.location)
	switch {
	case isGone(err):
		known = session.Plugin{ID: s.id, Location: s.location}
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = known
	return nil
}

func (s *slot) serve(next *serving) (before *serving) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.serving = s.serving, next
	return before
}
