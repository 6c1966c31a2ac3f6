package memory

import "fmt"

// Restore makes the memory what the image is: contents and size; whatever lay
// beyond reads as zero when the guest grows again. The first one of a new
// instance maps the image. Not during a call.
//
// After an error the instance must be closed: ErrGrown when the memory cannot be
// made shorter, *BudgetError, ErrClosed, or the system's.
func (m *Memory) Restore(guest Guest, image *Image) error {
	kept, err := m.rewind(guest, image)
	if err == nil {
		err = m.resize(guest, len(image.bytes))
	}
	if err != nil {
		m.pool.counts.discards.Add(1)
		return err
	}
	m.pool.counts.restores.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lower(int64(len(image.bytes) + kept))
	return nil
}

// rewind restores the contents and answers how many bytes stay resident beyond
// the image.
func (m *Memory) rewind(guest Guest, image *Image) (kept int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(guest); err != nil {
		return 0, err
	}
	if m.image != image {
		return 0, m.attach(image)
	}
	m.find()
	end := len(image.bytes)
	if kept = totalFrom(m.written, end); kept > keptTail {
		if err := m.dropTail(); err != nil {
			return 0, err
		}
		kept = 0
	}
	restored := 0
	for _, s := range m.written {
		restored += m.copyBack(s.within(0, end)) + m.wipe(s.within(end, m.reach))
	}
	m.pool.counts.bytes.Add(int64(restored))
	return kept - m.giveBack(end), nil
}

// attach puts an image in place of whatever the memory holds.
func (m *Memory) attach(image *Image) error {
	end := len(image.bytes)
	if end > m.most {
		return fmt.Errorf("guest memory: an image of %d bytes for an instance that may have %d", end, m.most)
	}
	if err := m.hold(end, 0); err != nil {
		return err
	}
	if err := image.acquire(); err != nil {
		return err
	}
	previous := m.image
	m.image, m.written, m.idle, m.tired = image, nil, nil, 0
	if previous != nil {
		if err := previous.release(); err != nil {
			return err
		}
	}
	if t := m.pool.tracker; t != nil {
		m.faults = t.faults()
	}
	if err := m.extent.show(image.source); err != nil {
		return fmt.Errorf("guest memory: map an image: %w", err)
	}
	return m.dropTail()
}

// resize makes the guest see a memory of size bytes. wazero can only grow; asked
// for one page more, the memory answers with the shorter one.
func (m *Memory) resize(guest Guest, size int) error {
	now := int(guest.Size())
	switch {
	case now < size:
		if _, ok := guest.Grow(uint32(size-now) / PageBytes); !ok {
			return fmt.Errorf("guest memory: the instance refuses to grow from %d to the image's %d bytes", now, size)
		}
	case now > size:
		if !m.pool.shrink || !m.shorten(guest, size) {
			return ErrGrown
		}
	}
	if int(guest.Size()) != size {
		return ErrGrown
	}
	return nil
}

func (m *Memory) shorten(guest Guest, size int) bool {
	m.setShrink(size)
	defer m.setShrink(noShrink)
	_, ok := guest.Grow(1)
	return ok
}

func (m *Memory) setShrink(size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shrinkTo = size
}
