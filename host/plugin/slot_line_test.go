package plugin

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// heldLog holds up the first who has read.
type heldLog struct {
	store.Log
	reads atomic.Int32
	held  chan struct{} // closed when somebody is held up
	free  chan struct{}
}

func (l *heldLog) View(ctx context.Context, read func(store.Tx) error) error {
	err := l.Log.View(ctx, read)
	if l.reads.Add(1) == 1 {
		close(l.held)
		<-l.free
	}
	return err
}

// What is known of a plugin is the latest, also when who read before takes longer.
func TestTheLatestStaysKnown(t *testing.T) {
	log := sessiontest.OpenStore(t, t.TempDir())
	t.Cleanup(func() { log.Close() })
	held := &heldLog{Log: log, held: make(chan struct{}), free: make(chan struct{})}
	encoder := session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}}
	ledger := session.NewPlugins(held, encoder)
	record := func(payload session.Payload) {
		t.Helper()
		if err := ledger.Record(t.Context(), session.System(), payload); err != nil {
			t.Fatal(err)
		}
	}
	record(session.PluginStaged{Plugin: "acme/a", Revision: "r1", Digest: "d", Version: "1", Source: SourceFolder, Terms: []byte(`{}`)})
	s := newSlot("acme/a", "")
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- s.learn(t.Context(), ledger) }()
	<-held.held
	record(session.PluginRemoved{Plugin: "acme/a"})
	go func() { second <- s.learn(t.Context(), ledger) }()
	patience := time.NewTimer(50 * time.Millisecond)
	defer patience.Stop()
	select { // the second may wait for the first, and must not be overtaken by it
	case err := <-second:
		second <- err
	case <-patience.C:
	}
	close(held.free)
	for _, done := range []chan error{first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if known, _ := s.look(); known.State != "" {
		t.Errorf("a removed plugin is known as %+v", known)
	}
}

// Offers of one origin wait as one, the newest; those of two origins one after the other.
func TestOffersWaitByTheirOrigin(t *testing.T) {
	s := newSlot("acme/a", "")
	offer := func(origin, digest string) Offer {
		return Offer{Source: SourceFolder, Candidate: Candidate{Origin: origin, Digest: digest}}
	}
	a, first := s.propose(offer("/p/a.wasm", "1"))
	b, second := s.propose(offer("/p/b.wasm", "2"))
	again, third := s.propose(offer("/p/a.wasm", "3"))
	if !first || !second || third || again != a {
		t.Errorf("who sees to them: %v, %v, %v", first, second, third)
	}
	if picked := s.pick(); picked != a || picked.offer.Candidate.Digest != "3" {
		t.Errorf("the first is %+v", picked.offer)
	}
	if picked := s.pick(); picked != b || picked.offer.Candidate.Digest != "2" {
		t.Errorf("the second is %+v", picked.offer)
	}
}
