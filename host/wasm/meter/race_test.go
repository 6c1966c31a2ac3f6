//go:build race

package meter_test

// raced says whether the race detector is on, which takes ten times as long.
const raced = true
