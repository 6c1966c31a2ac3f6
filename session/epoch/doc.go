// Package epoch decides what the model is told of its context: the baseline an
// epoch begins with, and the updates within it. It samples the context sources
// and compares; it writes nothing. The runner appends what it answers together
// with the boundary it belongs to.
package epoch
