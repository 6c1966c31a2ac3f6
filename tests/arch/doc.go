// Package arch keeps the architecture: which package may import which, which
// libraries stay behind which package, and that no package hides state in
// variables of its own.
//
// The rules are data in layers.go and libraries.go; the checkers beside them
// take a graph of packages and report every violation in one sentence that
// says what to do. The tests run them over this repository, and over graphs
// made to break each rule.
package arch
