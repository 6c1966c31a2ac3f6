//go:build race

package conformance

// sdkRuns names the guests that extism/go-sdk runs as well: it compiles them anew for
// every start, which the detector makes slow, and the races are ours.
func sdkRuns(name string) bool { return name == "extism-rust" }
