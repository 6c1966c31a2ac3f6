// The conformance guest with host operations: tools and context sources. What it
// does stands in ../../README.md.
package main

import (
	cryptorand "crypto/rand"

	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/random"
)

type settings struct {
	Greeting string `json:"greeting"`
}

var configured settings

func init() {
	plinth.Configure(func(s settings) error {
		configured = s
		return nil
	})
	// What is seeded here is in the snapshot, and must not be the seed of every call.
	plinth.Prepare(func() error {
		random.Rand().Uint64()
		_, err := cryptorand.Read(make([]byte, 8))
		return err
	})
	registerTools()
	registerSources()
}

func main() {}
