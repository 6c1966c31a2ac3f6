package random

import "testing"

// What a restored instance does: the same state, and then plinth_reseed.
func TestReseed(t *testing.T) {
	first := Rand().Uint64()
	state, was := generator, seeded
	next := Rand().Uint64()
	generator, seeded = state, was
	if again := Rand().Uint64(); again != next {
		t.Fatalf("the same state gives %x, then %x", next, again)
	}
	generator, seeded = state, was
	reseed()
	if anew := Rand().Uint64(); anew == next || anew == first {
		t.Errorf("a new seed gives %x again", anew)
	}
}
