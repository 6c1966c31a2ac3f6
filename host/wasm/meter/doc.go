// Package meter rewrites WebAssembly modules so that their host can count their
// work and stop them. The rewritten module does what the original does and
// besides
//
//   - takes the cost of what it is about to run off a counter, a global, at the
//     entry of functions and at the head of loops, and
//   - calls the imported function Yield whenever the counter is below zero.
//
// In Yield the host has the guest's own goroutine: it can look at the clock, let
// others run, or end the guest with a panic, which comes out of the call as it
// went in. To go on it sets the counter, exported as Counter, to what the guest
// may use next. With grant as what was set last (0 in a new instance), the guest
// has used grant - counter since then, at any time; the counter is negative in
// Yield, by at most the dearest piece of code.
//
// What a call uses depends on the module, its input and Version alone, not on
// how much the host hands out at a time.
//
// Rewrite is a function of its arguments: the same module gives the same bytes.
// It checks no types. A module the compiler would refuse is refused by it in
// rewritten form too, since the decoder has checked every number that the
// rewriting could give another meaning.
//
// DESIGN.md says what is inserted and why in this form.
package meter
