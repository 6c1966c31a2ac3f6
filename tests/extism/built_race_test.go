//go:build race

package extism

// built leaves out what the detector takes a minute to compile; nothing races in it
// that does not in the others.
func built() []string { return []string{"assemblyscript", "rust", "tinygo"} }
