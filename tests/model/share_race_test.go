//go:build race

package model

// share is how many sequences every test run plays under the race detector.
const share = 15
