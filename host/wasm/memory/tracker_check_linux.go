package memory

// works tries, on a mapping of four pages, everything that restoring relies on.
// It leaves counts false where only that fails.
func (t *tracker) works() bool {
	image := make([]byte, 4*t.page)
	for i := range image {
		image[i] = byte(i/t.page + 1)
	}
	s, err := newFile(image)
	if err != nil {
		return false
	}
	defer s.closeFile() //nolint:errcheck // the outcome is decided by then
	e, err := reserve(len(image))
	if err != nil {
		return false
	}
	defer e.release() //nolint:errcheck // as above
	if e.commit(len(image)) != nil || e.mapFile(s) != nil {
		return false
	}
	return t.tells(e) && e.forget(span{0, len(image)}) == nil && e.bytes[t.page] == 2 && t.tells(e)
}

// tells reads one page, writes another, and expects just that one to be reported,
// also when it was written for a second time.
func (t *tracker) tells(e *extent) bool {
	before := t.faults()
	if e.bytes[2*t.page] != 3 || !t.only(e) {
		return false
	}
	e.bytes[t.page+9]++
	t.counts = t.counts && before != unknown && t.faults() > before
	if !t.only(e, span{t.page, 2 * t.page}) {
		return false
	}
	e.bytes[t.page+9]--
	return t.only(e, span{t.page, 2 * t.page})
}

// only says whether exactly these spans are reported.
func (t *tracker) only(e *extent, expected ...span) bool {
	found, err := t.written(nil, e.bytes)
	if err != nil || len(found) != len(expected) {
		return false
	}
	for i := range found {
		if found[i] != expected[i] {
			return false
		}
	}
	return true
}
