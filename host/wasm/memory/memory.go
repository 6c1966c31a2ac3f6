package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

const noShrink = -1

// Memory is the linear memory of one instance. The instance's calls, Snapshot,
// Restore and Close come one after the other; Stats may come at any time.
type Memory struct {
	pool *Pool
	most int // bytes the guest may have

	mu     sync.Mutex
	extent *extent // nil once closed
	given  bool    // to an instance
	size   int     // bytes the guest has
	// reach is the end of what may not be zero or may hold a page. Everything
	// between size and reach reads as zero, except during a call.
	reach    int
	charged  int64 // to the budget; at least size
	shrinkTo int   // what the next Reallocate answers, or noShrink

	image   *Image  // what Restore last put here
	written []span  // pages of its own in [0, reach), complete at faults
	faults  int64   // of the process
	idle    []uint8 // per page, for how many restores in a row it was kept for nothing
	tired   int     // pages idle for long
	dropped []span  // scratch
}

// Context is the context to instantiate one module with.
func (m *Memory) Context(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, &hook{m})
}

// Stats is the state of one memory, in bytes.
type Stats struct {
	Size     int64 // what the guest has
	Charged  int64 // what the budget counts
	Resident int64 // in pages of its own; where that cannot be told, what it ever reached
}

// Stats looks the figures up, which takes some microseconds per MiB.
func (m *Memory) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.extent == nil {
		return Stats{}
	}
	stats := Stats{Size: int64(m.size), Charged: m.charged, Resident: int64(m.reach)}
	if t := m.pool.tracker; t != nil {
		if own, err := t.written(nil, m.extent.bytes[:m.reach]); err == nil {
			stats.Resident = int64(total(own))
		}
	}
	return stats
}

// Close gives addresses and budget back, after the instance is closed or failed to
// be made. It may be called twice. Neither the instance nor a view of the memory
// may be used afterwards: the addresses become another guest's.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.extent == nil {
		return nil
	}
	e, charged := m.extent, m.charged
	m.extent, m.charged, m.size, m.reach, m.written = nil, 0, 0, 0, nil
	err := m.pool.recycle(m, e)
	if m.image != nil {
		err = errors.Join(err, m.image.release())
		m.image = nil
	}
	m.pool.budget.Release(charged)
	return err
}

// grow answers the memory at a new size, nil when it may not have it. The pages
// it gains read as zero.
func (m *Memory) grow(size uint64) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.extent == nil {
		return nil
	}
	if m.shrinkTo != noShrink {
		m.size = m.shrinkTo
		return m.extent.bytes[:m.size:m.size]
	}
	// What the last restore kept beyond counts as well.
	if size > uint64(m.most) || m.hold(int(size), totalFrom(m.written, int(size))) != nil {
		return nil
	}
	m.size = int(size)
	m.reach = max(m.reach, m.size)
	return m.extent.bytes[:m.size:m.size]
}

// hold makes [0, size) usable and has the budget count it, and what is kept beyond.
func (m *Memory) hold(size, kept int) error {
	more := max(0, int64(size+kept)-m.charged)
	if err := m.pool.budget.Reserve(more); err != nil {
		return err
	}
	m.charged += more
	if err := m.extent.commit(size); err != nil {
		m.lower(m.charged - more)
		return fmt.Errorf("guest memory: commit %d bytes: %w", size, err)
	}
	return nil
}

// lower has the budget count no more than n bytes.
func (m *Memory) lower(n int64) {
	if n < m.charged {
		m.pool.budget.Release(m.charged - n)
		m.charged = n
	}
}

// hook is the memory as wazero asks for it.
type hook struct{ m *Memory }

func (h *hook) Allocate(_, _ uint64) experimental.LinearMemory {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.m.given {
		panic("memory: Context was used for a second instance")
	}
	h.m.given = true
	return h
}

func (h *hook) Reallocate(size uint64) []byte { return h.m.grow(size) }

// Free leaves everything to the owner's Close. wazero calls it as soon as an
// instance is stopped, when the host may still be reading, and not at all when
// making one fails.
func (h *hook) Free() {}
