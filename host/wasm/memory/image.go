package memory

import (
	"errors"
	"fmt"
	"sync"
)

// Guest is a memory as wazero shows it; an api.Memory is one.
type Guest interface {
	// Size is in bytes.
	Size() uint32
	// Grow adds pages and answers how many there were.
	Grow(pages uint32) (before uint32, ok bool)
}

// Image is what a memory held when it was taken. It never changes and serves any
// number of memories of its pool at the same time.
type Image struct {
	pool   *Pool
	source source
	bytes  []byte // the source's

	mu     sync.Mutex
	users  int
	closed bool
}

// Snapshot takes the memory's image, which the budget counts in addition. It must
// be closed.
func (m *Memory) Snapshot(guest Guest) (*Image, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(guest); err != nil {
		return nil, err
	}
	if err := m.pool.budget.Reserve(int64(m.size)); err != nil {
		return nil, err
	}
	source, err := newSource(m.extent.bytes[:m.size], m.pool.tracker != nil)
	if err != nil {
		m.pool.budget.Release(int64(m.size))
		return nil, fmt.Errorf("guest memory: take an image of %d bytes: %w", m.size, err)
	}
	m.pool.counts.images.Add(1)
	m.pool.counts.imageBytes.Add(int64(m.size))
	return &Image{pool: m.pool, source: source, bytes: source.bytes}, nil
}

// check refuses what is closed, and a guest that this is not the memory of.
func (m *Memory) check(guest Guest) error {
	if m.extent == nil {
		return ErrClosed
	}
	if size := guest.Size(); int(size) != m.size {
		return fmt.Errorf("guest memory: the instance has %d bytes and its memory %d; is it another's?", size, m.size)
	}
	return nil
}

// Size is the image's length in bytes.
func (i *Image) Size() int64 { return int64(len(i.bytes)) }

func (i *Image) acquire() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return ErrClosed
	}
	i.users++
	return nil
}

func (i *Image) release() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users--
	return i.settle()
}

// Close gives the image back once no memory uses it: those that do stay valid,
// new ones are refused. It may be called twice.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	return i.settle()
}

// settle ends a closed image nobody uses. i.mu is held.
func (i *Image) settle() error {
	if !i.closed || i.users > 0 {
		return nil
	}
	size := i.Size()
	err := i.source.close()
	i.pool.counts.images.Add(-1)
	i.pool.counts.imageBytes.Add(-size)
	i.pool.budget.Release(size)
	if err != nil {
		return errors.Join(errors.New("guest memory: give an image back"), err)
	}
	return nil
}
