//go:build race

package hostile

import "time"

// repetitions of every case: the detector looks for races, not for mappings left.
const repetitions = 5

// compileBase is what the compiler's child may take: the detector is in it too, and
// makes it many times slower.
const compileBase = 30 * time.Second

// deadline of a call that says none.
const deadline = 100 * time.Millisecond
