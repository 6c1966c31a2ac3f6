//go:build race

package hostile

// repetitions of every case: the detector looks for races, not for what is left.
const repetitions = 5
