//go:build unix

package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// extent is a range of addresses. What was committed once can be read and written
// for as long as the pool lives, whatever lies there: a stale view of it must not
// end the process.
type extent struct {
	bytes     []byte // the whole range
	committed int
}

// reserve takes addresses that nothing stands behind.
func reserve(length int) (*extent, error) {
	bytes, err := unix.Mmap(-1, 0, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	smallPages(bytes)
	return &extent{bytes: bytes}, nil
}

// commit makes [0, size) usable. What it adds reads as zero.
func (e *extent) commit(size int) error {
	if size <= e.committed {
		return nil
	}
	if err := unix.Mprotect(e.bytes[e.committed:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	e.committed = size
	return nil
}

// renew gives back what stands behind committed bytes; they read as zero.
func (e *extent) renew(from, to int) error {
	if from == to {
		return nil
	}
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED
	if _, err := unix.MmapPtr(-1, 0, unsafe.Pointer(&e.bytes[from]), uintptr(to-from), protection, flags); err != nil {
		return err
	}
	smallPages(e.bytes[from:to])
	return nil
}

// clean makes a used range as good as new.
func (e *extent) clean() error { return e.renew(0, e.committed) }

// release unmaps the range.
func (e *extent) release() error { return unix.Munmap(e.bytes) }
