//go:build !race

package hostile

import "time"

// repetitions of every case, to see what it leaves behind.
const repetitions = 100

// compileBase is what the compiler's child may take: the default.
const compileBase = 2 * time.Second

// deadline of a call that says none.
const deadline = 5 * time.Millisecond
