//go:build !race

package conformance

// sdkRuns names the guests that extism/go-sdk runs as well.
func sdkRuns(string) bool { return true }
