package wasm

// What tests hold the engine against.
const (
	Quantum        = quantum
	GraceFuel      = graceFuel
	GraceOperation = graceOperation
)

// What tests do to a cache.
var (
	Seal  = publish
	Prune = prune
)
