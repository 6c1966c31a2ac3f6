//go:build !race

package bridge

// everyByte is how far apart the places are at which a stream is cut.
const everyByte = 1
