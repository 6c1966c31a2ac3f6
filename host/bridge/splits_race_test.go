//go:build race

package bridge

// everyByte is how far apart the places are at which a stream is cut: the detector makes
// the guests slow, and it looks for other mistakes.
const everyByte = 97
