package process

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// The order of grants: who has fewest running first, then who came first.
func TestPlacesAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2, 10)
		var mu sync.Mutex
		var order []string
		take := func(call string) {
			go func() {
				session, _, _ := strings.Cut(call, ".")
				if err := p.take(t.Context(), session); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, call)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		for _, call := range []string{"greedy.1", "greedy.2", "greedy.3", "greedy.4", "modest.1", "other.1", "modest.2"} {
			take(call)
		}
		for _, session := range []string{"greedy", "greedy", "modest", "other", "greedy"} {
			p.give(session)
			synctest.Wait()
		}
		want := []string{"greedy.1", "greedy.2", "modest.1", "greedy.3", "other.1", "modest.2", "greedy.4"}
		if !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		p.give("greedy")
		p.give("modest")
		if p.free != 2 || len(p.running) != 0 || len(p.waiting) != 0 {
			t.Errorf("left: %+v", p)
		}
	})
}

func TestPlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1, 1)
		if err := p.take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		go func() { left <- p.take(ctx, "b") }()
		synctest.Wait()
		refusal, ok := errors.AsType[*Error](p.take(t.Context(), "c"))
		if !ok || refusal.Kind != KindBusy || !strings.Contains(refusal.Error(), "1 calls are waiting") {
			t.Errorf("a full line: %v", refusal)
		}
		cancel(gone)
		if err := <-left; !errors.Is(err, gone) {
			t.Errorf("who left: %v", err)
		}
		if err := p.take(ctx, "b"); !errors.Is(err, gone) {
			t.Errorf("who had left before: %v", err)
		}
		p.give("a")
		if err := p.take(t.Context(), "c"); err != nil || p.free != 0 {
			t.Errorf("after all have left: %v", err)
		}
	})
}

// A place granted to a call that leaves at the same moment is not lost.
func TestPlacesAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1, 1)
		if err := p.take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- p.take(ctx, "b") }()
		synctest.Wait()
		p.mu.Lock()
		cancel() // it wants to leave, but is granted the place before it can
		p.pass("a")
		p.mu.Unlock()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if p.free != 1 || len(p.waiting) != 0 || len(p.running) != 0 {
			t.Errorf("left: %+v", p)
		}
	})
}

// Never more commands run at once than there are places.
func TestRunningIsBounded(t *testing.T) {
	r := newRunner(t, Options{Running: 2})
	directory := t.TempDir()
	var mu sync.Mutex
	most := 0
	var calls sync.WaitGroup
	for range 12 {
		calls.Go(func() {
			result, err := r.Run(t.Context(), Command{Line: "echo > running.$$; ls running.* 2>/dev/null | wc -l; rm running.$$", Directory: directory})
			running, malformed := strconv.Atoi(strings.TrimSpace(result.Output.Head))
			if err != nil || malformed != nil || result.ExitCode != 0 {
				t.Errorf("%+v, %v", result, err)
			}
			mu.Lock()
			defer mu.Unlock()
			most = max(most, running)
		})
	}
	calls.Wait()
	if most < 1 || most > 2 {
		t.Errorf("%d ran at once", most)
	}
}
