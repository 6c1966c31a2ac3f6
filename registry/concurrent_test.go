package registry_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plinthhost/plinth/registry"
)

// resource is a value that must not be used after it was closed.
type resource struct {
	revision int
	closed   atomic.Bool
}

// TestConcurrentPinsSeeWholeRevisions replaces one scope over two kinds, closes
// each retired revision, opens and closes a second scope, and reads through
// pins all the while.
func TestConcurrentPinsSeeWholeRevisions(t *testing.T) {
	const revisions, readers, reads = 300, 4, 500
	left := registry.NewKind[*resource]("left")
	right := registry.NewKind[*resource]("right")
	r := registry.New(left, right)
	open := func(revision int) (*registry.Retirement, *resource) {
		value := &resource{revision: revision}
		retirement, err := r.Replace(registry.Scope{
			ID: "p", Location: "/a", Revision: strconv.Itoa(revision),
			Contributions: []registry.Contribution{left.Contribute("x", 0, value), right.Contribute("x", 0, value)},
		})
		if err != nil {
			t.Error(err)
		}
		return retirement, value
	}

	var all, closers sync.WaitGroup
	_, current := open(0)
	all.Go(func() {
		for i := range revisions {
			retirement, next := open(i + 1)
			former := current
			closers.Go(func() {
				<-retirement.Done()
				former.closed.Store(true)
			})
			current = next
		}
	})
	all.Go(func() {
		for range revisions {
			if _, err := r.Replace(registry.Scope{ID: "q", Contributions: []registry.Contribution{
				left.Contribute("y", 0, &resource{}), right.Contribute("y", 0, &resource{}),
			}}); err != nil {
				t.Error(err)
			}
			retirement, _ := r.Remove("q", "")
			closers.Go(func() { <-retirement.Done() })
		}
	})
	for range readers {
		all.Go(func() {
			for range reads {
				if err := readWhole(r, left, right); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	closers.Wait()
}

func readWhole(r *registry.Registries, left, right *registry.Kind[*resource]) error {
	p := r.Pin("/a")
	defer p.Release()
	x, ok := registry.Lookup(p, left, "x")
	if !ok {
		return fmt.Errorf("no x in a pin of scopes %v", p.Scopes())
	}
	for _, e := range registry.All(p, right) {
		if e.Name == "x" && e.Value != x.Value {
			return fmt.Errorf("one pin shows revisions %d and %d", x.Value.revision, e.Value.revision)
		}
	}
	if n, m := len(registry.All(p, left)), len(registry.All(p, right)); n != m {
		return fmt.Errorf("one pin shows %d and %d entries of a scope that has both", n, m)
	}
	if state := r.State(x.Registration); state == registry.Removed {
		return fmt.Errorf("a pinned registration of an open scope is %v", state)
	}
	if x.Value.closed.Load() {
		return fmt.Errorf("revision %d was closed under a pin", x.Value.revision)
	}
	return nil
}

func TestConcurrentRelease(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("p", "", "t"))
	p, other := k.Pin(""), k.Pin("")
	retirement, _ := k.Remove("p", "")
	var all sync.WaitGroup
	for range 8 {
		all.Go(p.Release)
	}
	all.Wait()
	if retired(retirement) {
		t.Error("one pin released eight times gave up another's hold")
	}
	other.Release()
	<-retirement.Done()
}
