package memory

import (
	"bytes"
	"fmt"
	"slices"
)

const (
	// keptTail is the most that a restore leaves resident beyond the image, for a
	// guest that grows on every call.
	keptTail = 4 << 20
	// patience is how many restores in a row may find a page of the memory's own
	// unchanged before it is given back: about what a page fault costs in pages
	// compared.
	patience = 64
)

// find brings written up to date. A page becomes the memory's own by a fault, so
// without a fault in the whole process since the last look there is no new one.
func (m *Memory) find() {
	if pages := m.reach / m.pool.unit; pages > len(m.idle) {
		m.idle = slices.Grow(m.idle, pages-len(m.idle))[:pages]
	}
	t := m.pool.tracker
	if t == nil {
		m.written = append(m.written[:0], span{0, m.reach})
		return
	}
	faults := t.faults()
	if faults != unknown && faults == m.faults {
		return
	}
	m.pool.counts.scans.Add(1)
	written, err := t.written(m.written[:0], m.extent.bytes[:m.reach])
	if err != nil { // then any page may be
		written, faults = append(written[:0], span{0, m.reach}), unknown
	}
	m.written, m.faults = written, faults
}

// copyBack restores a span of the image page by page and answers how many bytes
// differed. Looking first costs less than dirtying the cache for nothing.
func (m *Memory) copyBack(s span) (changed int) {
	unit := m.pool.unit
	for from := s.from; from < s.to; from += unit {
		now, then := m.extent.bytes[from:from+unit], m.image.bytes[from:from+unit]
		if bytes.Equal(now, then) {
			m.age(from)
			continue
		}
		copy(now, then)
		changed += unit
		m.idle[from/unit] = 0
	}
	return changed
}

// wipe clears a span beyond the image as far as the guest reached this time, and
// answers how many bytes that was. The rest is zero since it reached further.
func (m *Memory) wipe(s span) int {
	unit := m.pool.unit
	reached := s.within(0, m.size)
	clear(m.extent.bytes[reached.from:reached.to])
	clear(m.idle[reached.from/unit : reached.to/unit])
	for at := max(s.from, m.size); at < s.to; at += unit {
		m.age(at)
	}
	return reached.length()
}

// age counts that a page was kept for nothing once more.
func (m *Memory) age(at int) {
	idle := &m.idle[at/m.pool.unit]
	*idle++
	if *idle == patience {
		m.tired++
	}
}

// giveBack drops the pages that were idle for long, and answers how many bytes
// from end on that freed. Where pages are locked they stay, for as long again.
func (m *Memory) giveBack(end int) (freed int) {
	if m.tired == 0 || m.pool.tracker == nil {
		return 0
	}
	m.tired = 0
	unit := m.pool.unit
	m.dropped = m.dropped[:0]
	for _, s := range m.written {
		for at := s.from; at < s.to; at += unit {
			if m.idle[at/unit] >= patience {
				m.idle[at/unit] = 0
				m.dropped = add(m.dropped, at, at+unit)
			}
		}
	}
	for _, s := range m.dropped {
		if m.extent.forget(s) == nil {
			m.pool.counts.dropped.Add(int64(s.length()))
			freed += s.within(end, max(end, s.to)).length()
		}
	}
	m.faults = unknown // so that written is read anew
	return freed
}

// dropTail gives back what lies beyond the image and makes it read as zero.
func (m *Memory) dropTail() error {
	end := len(m.image.bytes)
	if m.reach > end {
		if err := m.extent.renew(end, m.reach); err != nil {
			return fmt.Errorf("guest memory: clear %d bytes: %w", m.reach-end, err)
		}
	}
	m.written = below(m.written, end)
	m.reach = end
	return nil
}
