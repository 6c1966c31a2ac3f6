// Package replay records calls of guests and runs them again. A recording is one
// file with all that went into a call: the message, the settings, the limits, each
// operation with its answer, the clock and the randomness as the guest saw them, and
// what came of it. Replay runs it offline in the engine itself and says where the
// call comes out otherwise; the same module has to answer the same for the same fuel.
//
// The package takes messages as bytes: it knows the engine and no contract above it.
package replay
