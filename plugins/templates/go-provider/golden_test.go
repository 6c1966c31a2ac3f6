package main

import (
	"testing"

	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// The goldens of plugin.toml, natively; plinth plugin test runs them in the engine too.
func TestGoldens(t *testing.T) { plinthtest.Goldens(t, ".", false) }
