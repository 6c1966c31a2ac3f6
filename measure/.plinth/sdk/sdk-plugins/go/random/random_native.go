//go:build !wasip1

package random

import "crypto/rand"

// read fills p from the system.
func read(p []byte) { _, _ = rand.Read(p) } // documented never to fail
