package wasm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func (q *queue[T]) order() string {
	var order []string
	for w := q.next(nil); w != nil; w = q.next(nil) {
		order = append(order, w.session)
	}
	return strings.Join(order, "")
}

func TestSessionsTakeTurns(t *testing.T) {
	for _, c := range []struct{ pushed, served string }{
		{"abc", "abc"},
		{"aaab", "abaa"},
		{"aaabbc", "abcaba"},
		{"", ""},
	} {
		var q queue[struct{}]
		for _, session := range c.pushed {
			q.push(string(session))
		}
		if got := q.order(); got != c.served {
			t.Errorf("%s is served as %s, want %s", c.pushed, got, c.served)
		}
	}
}

func TestWhoMayNotIsPassedOver(t *testing.T) {
	var q queue[struct{}]
	for _, session := range "aab" {
		q.push(string(session))
	}
	may := func(session string) bool { return session != "a" }
	if w := q.next(may); w == nil || w.session != "b" {
		t.Fatalf("served %+v, want b", w)
	}
	if w := q.next(may); w != nil {
		t.Fatalf("served %s, which may not", w.session)
	}
	if q.n != 2 || q.order() != "aa" {
		t.Error("those that were passed over are lost")
	}
}

// Every session with waiters is served before any is served twice.
func TestQueueIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue[struct{}]
		var in []*waiter[struct{}]
		for _, op := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(t, "ops") {
			switch {
			case op < 6:
				in = append(in, q.push(string(rune('a'+op%4))))
			case op < 8 && len(in) > 0:
				at := rapid.IntRange(0, len(in)-1).Draw(t, "removed")
				q.remove(in[at])
				in = append(in[:at], in[at+1:]...)
			case len(in) > 0:
				w := q.next(nil)
				for i := range in {
					if in[i].session == w.session {
						if in[i] != w {
							t.Fatal("a session's calls are not served in order")
						}
						in = append(in[:i], in[i+1:]...)
						break
					}
				}
			}
			if q.n != len(in) {
				t.Fatalf("%d wait, want %d", q.n, len(in))
			}
		}
		left := map[string]int{}
		for _, w := range in {
			left[w.session]++
		}
		for round := len(left); round > 0; round = len(left) {
			seen := map[string]bool{}
			for range round {
				w := q.next(nil)
				if seen[w.session] {
					t.Fatal("a session is served twice in one round")
				}
				seen[w.session] = true
				if left[w.session]--; left[w.session] == 0 {
					delete(left, w.session)
				}
			}
		}
	})
}

func TestProcessorIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &processor{free: 1}
		ctx := context.Background()
		if err := p.acquire(ctx, "a", time.Second); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var work sync.WaitGroup
		for _, session := range []string{"b", "c"} {
			work.Go(func() {
				if err := p.acquire(ctx, session, time.Hour); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, session)
				mu.Unlock()
				p.release()
			})
			synctest.Wait()
		}
		if !p.contended() {
			t.Error("two wait, and it is not contended")
		}
		if err := p.handOver(ctx, "a", time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(order, ""); got != "bc" {
			t.Errorf("before a ran again: %q, want bc", got)
		}
		p.release()
		work.Wait()
		if p.free != 1 || p.contended() {
			t.Errorf("%d places free", p.free)
		}
	})
}

func TestWaitingForAProcessorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &processor{free: 0}
		if err := p.acquire(context.Background(), "a", time.Second); !errors.Is(err, ErrBusy) {
			t.Errorf("after the time: %v", err)
		}
		cause := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		if err := p.acquire(ctx, "a", time.Hour); !errors.Is(err, ErrCancelled) || !errors.Is(err, cause) {
			t.Errorf("after the cancel: %v", err)
		}
		if err := p.handOver(ctx, "a", time.Hour); !errors.Is(err, ErrCancelled) && err != nil {
			t.Errorf("hand over: %v", err)
		}
		if p.contended() {
			t.Error("who left still waits")
		}
	})
}

// A grant that comes at the very moment a waiter leaves must not be lost.
func TestNoGrantIsLost(t *testing.T) {
	p := &processor{free: 1}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for i := range 2000 {
				wait := time.Duration(i%3) * time.Microsecond
				if err := p.acquire(context.Background(), "", wait); err == nil {
					p.release()
				}
			}
		})
	}
	work.Wait()
	if p.free != 1 || p.queue.n != 0 {
		t.Errorf("%d free, %d wait", p.free, p.queue.n)
	}
}
