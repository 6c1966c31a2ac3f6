// Package random gives a plugin random numbers. Every call starts from the memory
// the module had after plinth_init, so a generator that was seeded by then gives
// each of them the same numbers; this one is seeded anew. Importing it makes the
// module export plinth_reseed.
//
// Use it in place of the functions of math/rand and math/rand/v2: the Go toolchain
// seeds those once, when the module starts. Package crypto/rand asks the host each
// time and is as good here as anywhere.
package random

import "math/rand/v2"

var (
	generator rand.ChaCha8
	// seeded says that the generator's seed belongs to this call. It is taken with the
	// first number, so a call that wants none does not pay for it.
	seeded bool

	shared = rand.New(source{})
)

// Rand is the plugin's generator, cryptographically strong. In a provider or a
// transform its numbers follow from the call's input, so that answers repeat.
func Rand() *rand.Rand { return shared }

// reseed forgets the seed: the memory that holds it is a copy, and others have the
// same.
func reseed() { seeded = false }

type source struct{}

func (source) Uint64() uint64 {
	if !seeded {
		var seed [32]byte
		read(seed[:])
		generator.Seed(seed)
		seeded = true
	}
	return generator.Uint64()
}
