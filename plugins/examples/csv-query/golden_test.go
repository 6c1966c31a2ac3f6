package main

import (
	"flag"
	"testing"

	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

var update = flag.Bool("update", false, "write the goldens' output files")

func TestGoldens(t *testing.T) { plinthtest.Goldens(t, ".", *update) }
