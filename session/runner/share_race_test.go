//go:build race

package runner_test

// share is which of many deaths the tests look at: every fifth. The detector looks for
// races, which the others have too.
const share = 5
