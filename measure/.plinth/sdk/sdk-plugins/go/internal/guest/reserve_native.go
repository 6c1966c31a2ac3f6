//go:build !(tinygo && wasip1)

package guest

// Reserve has the heap grow before a large message is read: Go's collector takes care
// of itself.
func Reserve(int) {}
