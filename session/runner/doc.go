// Package runner does a session's work: one drain at a time, in activities of
// provider turns. It promotes prompts and reconciles the context at the boundary
// before each turn, streams one model answer, runs the tools it calls, and
// records everything before it goes on, so that a process that dies at any
// instant leaves a log from which the next one continues.
package runner
