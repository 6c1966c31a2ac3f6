// Command boundary measures what the host does for guests against what the machine
// can do without it. It prints lines "figure NAME VALUE UNIT".
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// rounds is how many times each side of a comparison runs, in turns.
const rounds = 5

// A part measures one operation and prints its figures.
type part struct {
	name    string
	measure func(ctx context.Context) error
}

func main() {
	for _, p := range []part{
		{"host call", measureCall},
		{"read into a guest", measureGuestRead},
		{"read", measureRead},
		{"grep", measureGrep},
	} {
		if err := p.measure(context.Background()); err != nil {
			fmt.Fprintf(os.Stderr, "boundary bench: %s: %v\n", p.name, err)
			os.Exit(1)
		}
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure boundary.%s %.3g %s\n", name, value, unit)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
