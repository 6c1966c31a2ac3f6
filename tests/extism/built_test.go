//go:build !race

package extism

// built lists the plugins in testdata, by the PDK and compiler of each.
func built() []string { return []string{"assemblyscript", "go", "rust", "tinygo"} }
