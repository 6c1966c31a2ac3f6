package memory

// Bytes is the memory as its guest has it.
func (m *Memory) Bytes() []byte { return m.extent.bytes[:m.size] }

// Reallocate is what wazero calls.
func (m *Memory) Reallocate(size uint64) []byte { return m.grow(size) }

// Lacks makes a pool as a lesser system or library would: one that cannot track
// pages, count faults, or shrink.
func (p *Pool) Lacks(tracking, counting, shrinking bool) *Pool {
	if tracking && p.tracker != nil {
		_ = p.tracker.close()
		p.tracker = nil
	}
	if p.tracker != nil {
		p.tracker.disable(counting)
	}
	p.shrink = p.shrink && !shrinking
	return p
}

// Forget gives all pages written back.
func (m *Memory) Forget() error {
	m.faults = unknown
	return m.extent.forget(span{0, m.reach})
}

// Limits of retention.
const (
	KeptTail = keptTail
	Patience = patience
)
