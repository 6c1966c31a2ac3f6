package plugin

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// count is how often the history has a line.
func (w *world) count(line string) (n int) {
	w.t.Helper()
	for _, one := range w.history() {
		if one == line {
			n++
		}
	}
	return n
}

// Of a hundred offers of one plugin at once few are proved, and the last wins.
func TestOffersOfOnePluginCoalesce(t *testing.T) {
	w := newWorld(t, Options{})
	s := w.slot("acme/a", "")
	if err := s.take(t.Context()); err != nil { // so that all come while one is under way
		t.Fatal(err)
	}
	var offers []*offering
	for i := range 100 {
		_, offering, err := w.submit(Offer{Candidate: greeter(t, "acme/a", fmt.Sprintf("1.0.%d", i), fmt.Sprint(i)), Source: SourceUpload, By: ann})
		if err != nil {
			t.Fatal(err)
		}
		offers = append(offers, offering)
	}
	s.yield()
	for i, offering := range offers {
		if <-offering.done; offering.err != nil {
			t.Errorf("offer %d: %v", i, offering.err)
		}
	}
	w.says("greet", "99")
	if n := w.count("activated acme/a"); n != 1 {
		t.Errorf("%d activations", n)
	}
	// From as many goroutines, whatever their order, one of them is what serves.
	var all sync.WaitGroup
	for i := range 100 {
		candidate := greeter(t, "acme/a", fmt.Sprintf("2.0.%d", i), fmt.Sprintf("later %d", i))
		all.Go(func() {
			if _, err := w.Offer(t.Context(), Offer{Candidate: candidate, Source: SourceUpload, By: ann}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	status := w.show("acme/a")
	if text, err := w.call(t, "greet"); err != nil || "later "+strings.TrimPrefix(status.Current().Version, "2.0.") != text {
		t.Errorf("the log says %s, the tool %q, %v", status.Current().Version, text, err)
	}
}

// One plugin's proof keeps no other waiting, nor does the end of a revision.
func TestPluginsAreProvedSideBySide(t *testing.T) {
	w := newWorld(t, Options{})
	w.must(greeter(t, "acme/b", "1.0.0", "one"))
	slow := w.slot("acme/a", "")
	if err := slow.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() { first <- w.add(packed(t, saying("a"), manifest("acme/a", toolTable("a")))) }()
	w.must(greeter(t, "acme/b", "2.0.0", "two"))
	w.await("retired acme/b", 1)
	w.must(packed(t, saying("c"), manifest("acme/c", toolTable("c"))))
	w.says("greet", "two")
	slow.yield()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// While a plugin is proved the depot is free: what is not named goes, what is being proved
// stays.
func TestTheDepotIsSweptWhileAPluginIsProved(t *testing.T) {
	w := newWorld(t, Options{})
	endless := packed(t, saying("x").Loops(abi.ExportInit), manifest("acme/a", toolTable("a")+"[limits]\nstart_ms = 30000\n"))
	done := make(chan error, 1)
	go func() { done <- w.add(endless) }()
	w.await("staged acme/a", 1)
	if _, err := w.options.Depot.Put([]byte("nobody names it")); err != nil {
		t.Fatal(err)
	}
	w.sweepDepot() // would wait for ever
	kept, err := w.options.Depot.List()
	if diff := cmp.Diff([]string{endless.Digest}, kept); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	w.shut()
	if err := <-done; err == nil {
		t.Error("it serves")
	}
}

// At most four revisions wait for their turns beside the one that serves; of the fifth
// the oldest is ended, and its calls say so.
func TestTheOldestOfTooManyRevisionsIsEnded(t *testing.T) {
	w := newWorld(t, Options{})
	endless := versioned(t, bridgetest.New().Loops(abi.ExportTool), "acme/a", "0.0.1", toolTable("greet"))
	revisions := []string{w.must(endless)}
	oldest := w.turn()
	calls := make(chan error, 1)
	go func() {
		_, err := oldest.call("greet", "")
		calls <- err
	}()
	w.eventually(func() bool { stats := w.show("acme/a").Stats; return stats != nil && stats.Leased == 1 })
	var turns []turn
	for i := range maxRetiring {
		revisions = append(revisions, w.must(greeter(t, "acme/a", fmt.Sprintf("1.0.%d", i), fmt.Sprint(i))))
		turns = append(turns, w.turn())
	}
	if diff := cmp.Diff(revisions[:maxRetiring], w.show("acme/a").Retiring); diff != "" {
		t.Error(diff)
	}
	w.must(greeter(t, "acme/a", "2.0.0", "last"))
	w.await("retired acme/a", 1)
	if retired := w.last(session.PluginRetired{}.EventType()); retired["superseded"] != true || retired["revision"] != revisions[0] {
		t.Errorf("%v", retired)
	}
	const want = "the revision of the plugin was ended; a newer one serves, or none"
	var told *session.ToolError
	if err := <-calls; !errors.As(err, &told) || told.Kind != "unavailable" || told.Message != want {
		t.Errorf("the call that ran: %v", err)
	}
	if _, err := oldest.call("greet", ""); !errors.As(err, &told) || told.Kind != "unavailable" || told.Message != want {
		t.Errorf("a call afterwards: %v", err)
	}
	for i, turn := range turns {
		turn.says("greet", fmt.Sprint(i))
	}
	w.says("greet", "last")
	// Two more at once: each ends the oldest that is left.
	w.must(greeter(t, "acme/a", "2.0.1", "very last"))
	w.await("retired acme/a", 2)
	if _, err := turns[0].call("greet", ""); !errors.As(err, &told) || told.Message != want {
		t.Errorf("%v", err)
	}
	turns[1].says("greet", "1")
}

// descriptors counts the open files of this process; 0 where the system does not list
// them.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// Close waits for what is under way and returns what was taken, also by revisions that
// turns still use and by plugins that are being proved.
func TestClosingInTheMiddle(t *testing.T) {
	warm := newWorld(t, Options{})
	warm.start(nil, t.TempDir())
	warm.must(greeter(t, "acme/a", "1.0.0", "one"))
	warm.shut()
	files, goroutines := descriptors(), runtime.NumGoroutine()
	for range 5 {
		w := newWorld(t, Options{})
		w.start(nil, t.TempDir())
		w.must(greeter(t, "acme/a", "1.0.0", "one"))
		old := w.turn()
		w.must(greeter(t, "acme/a", "2.0.0", "two"))
		var offers sync.WaitGroup
		for i := range 8 {
			candidate := packed(t, saying("x"), manifest(fmt.Sprintf("acme/p%d", i), toolTable(fmt.Sprintf("tool%d", i))))
			offers.Go(func() {
				err := w.add(candidate)
				if err == nil && slices.Contains(w.names(), fmt.Sprintf("tool tool%d of acme/p%d", i, i)) && w.show(candidate.Manifest.ID).State != session.PluginStateActive {
					t.Error("it serves and the log does not say so")
				}
			})
		}
		runtime.Gosched()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		offers.Wait()
		if names := w.names(); len(names) != 0 {
			t.Errorf("registered: %q", names)
		}
		if _, err := w.Offer(t.Context(), Offer{Candidate: greeter(t, "acme/late", "1.0.0", "x"), Source: SourceUpload}); !errors.Is(err, wasm.ErrClosed) {
			t.Errorf("an offer afterwards: %v", err)
		}
		old.pin.Release()
		w.shut()
	}
	warm.eventually(func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := descriptors(); now > files {
		t.Errorf("%d open files, %d before", now, files)
	}
}
