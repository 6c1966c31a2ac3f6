//go:build !race

package runner_test

// share is which of many deaths the tests look at: every one.
const share = 1
