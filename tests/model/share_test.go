//go:build !race

package model

// share is how many sequences every test run plays.
const share = 150
