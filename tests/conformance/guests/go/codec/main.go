// The pure conformance guest: a provider codec and a transform. What it does stands
// in ../../README.md.
package main

import (
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/random"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

func init() {
	// A generator that is seeded in the snapshot must still give equal calls the same.
	plinth.Prepare(func() error {
		random.Rand().Uint64()
		return nil
	})
	provider.Register("conformance", codec{})
	transform.Register("edit", edit)
}

func main() {}
