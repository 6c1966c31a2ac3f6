package schema

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func atLeast(minimum int) []byte { return fmt.Appendf(nil, `{"minimum":%d}`, minimum) }

func (c *Cache) holds(text []byte) bool { return c.compiled[sha256.Sum256(text)] != nil }

func TestACacheTellsAWrongValueFromAWrongSchema(t *testing.T) {
	var cache Cache
	for range 2 { // compiled, and from the cache
		if err := cache.Check(atLeast(3), []byte(`3`)); err != nil {
			t.Error(err)
		}
		var mismatch *MismatchError
		if err := cache.Check(atLeast(3), []byte(`2`)); !errors.As(err, &mismatch) || err.Error() != "minimum: got 2, want 3" {
			t.Errorf("got %v", err)
		}
		err := cache.Check([]byte(`{"type":"strin"}`), []byte(`2`))
		if err == nil || errors.As(err, &mismatch) {
			t.Errorf("got %T %v, want an error that is no mismatch", err, err)
		}
	}
	if len(cache.compiled) != 1 {
		t.Errorf("%d schemas are kept, want the one that compiles", len(cache.compiled))
	}
}

func TestACacheDropsTheOldest(t *testing.T) {
	var cache Cache
	const extra = 3
	for i := range MaxCached + extra {
		if err := cache.Check(atLeast(i), []byte(`9999`)); err != nil {
			t.Fatal(err)
		}
	}
	if len(cache.compiled) != MaxCached || len(cache.order) != MaxCached {
		t.Errorf("%d schemas in an order of %d, want %d", len(cache.compiled), len(cache.order), MaxCached)
	}
	for i := range MaxCached + extra {
		if got, want := cache.holds(atLeast(i)), i >= extra; got != want {
			t.Errorf("schema %d is kept: %v, want %v", i, got, want)
		}
	}
	if err := cache.Check(atLeast(0), []byte(`-1`)); err == nil || err.Error() != "minimum: got -1, want 0" {
		t.Errorf("a schema that was dropped: %v", err)
	}
	if !cache.holds(atLeast(0)) || cache.holds(atLeast(extra)) {
		t.Error("a schema that came back must take the place of the oldest")
	}
}

func TestACacheServesManyAtOnce(t *testing.T) {
	var cache Cache
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				limit := (i*7 + worker) % 20
				if err := cache.Check(atLeast(limit), fmt.Append(nil, limit)); err != nil {
					t.Error(err)
				}
				if err := cache.Check(atLeast(limit), fmt.Append(nil, limit-1)); err == nil {
					t.Errorf("%d passes for at least %d", limit-1, limit)
				}
			}
		})
	}
	group.Wait()
	if len(cache.compiled) != 20 {
		t.Errorf("%d schemas are kept, want 20", len(cache.compiled))
	}
}
