// Package extism runs plugin modules by extism/go-sdk as it ships, for an operator
// who wants a module built with an Extism PDK to run where its author tried it. It
// takes calls of the same shape as the engine of host/wasm, which runs such modules
// itself and is held against this package by the tests.
//
// It is slower, by two orders of magnitude for small calls, and guards less:
//
//   - Nothing is metered. A call ends at its deadline or with its context only where
//     the guest comes round a loop: a recursion without one runs on, and keeps Go's
//     collector from working meanwhile. Result.Fuel is 0, and Limits.Fuel and
//     StackKiB are not held.
//   - The kernel's memory is a second one of up to Limits.MemoryMiB, open to the
//     guest: one that damages it can make the host search it for ever. Neither
//     counts towards the memory of all guests.
//   - Compiling happens in this process and cannot be stopped.
//   - A deadline includes what operations wait for.
//
// So it is for modules their operator trusts. Every call has a new instance, which
// makes all isolation fresh; variables last as long as a call; http_request is
// refused. What a guest logs below the level info is dropped.
package extism
