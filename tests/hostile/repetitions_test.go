//go:build !race

package hostile

// repetitions of every case, to see what it leaves behind.
const repetitions = 100
