// Package extism holds the engine of host/wasm against extism/go-sdk: every module
// here, small ones written instruction by instruction and plugins that the public
// PDKs build, must give the same output, error and exit on both. docs/reference/pdks.md lists
// the PDKs and versions that are tested; guests holds the plugins' sources, testdata
// what build makes of them.
package extism
