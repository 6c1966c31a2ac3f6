// Package meter rewrites WebAssembly modules so that their host can count their
// work and stop them. The rewritten module does what the original does and
// besides
//
//   - takes the cost of what it is about to run off a counter, a global, at the
//     entry of functions and at the head of loops, and
//   - calls the imported function Yield whenever the counter is below zero.
//
// The host sets the counter before a call and again in Yield, where it has the
// guest's own goroutine: it can look at the clock, let others run, or end the
// guest with a panic. What the guest used is the sum of what was taken off the
// counter. It depends on the module, its input and Version alone, not on how
// much the host hands out at a time.
//
// Rewrite is a function of its arguments: the same module gives the same bytes.
// DESIGN.md says what is inserted and why in this form.
package meter
