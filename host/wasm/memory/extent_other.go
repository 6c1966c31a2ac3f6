//go:build !unix

package memory

// extent is a range of the Go heap. Its memory comes page by page as it is used,
// and goes with the pool.
type extent struct {
	bytes     []byte
	committed int
}

func reserve(length int) (*extent, error) { return &extent{bytes: make([]byte, length)}, nil }

func (e *extent) commit(size int) error {
	e.committed = max(e.committed, size)
	return nil
}

func (e *extent) renew(from, to int) error {
	clear(e.bytes[from:to])
	return nil
}

func (e *extent) clean() error { return e.renew(0, e.committed) }

func (e *extent) release() error { return nil }
