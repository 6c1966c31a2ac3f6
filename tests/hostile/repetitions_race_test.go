//go:build race

package hostile

// repetitions of every case: the detector looks for races, not for mappings left.
const repetitions = 5
