package memory

import "slices"

// source is where an image's bytes lie: in a sealed file, which memories map and
// share page by page, or on the heap, from which they copy.
type source struct {
	bytes []byte
	file  int // descriptor; noFile on the heap
}

const noFile = -1

// newSource copies contents. Mapping them only helps where written pages can be
// told from others.
func newSource(contents []byte, tracked bool) (source, error) {
	if tracked && len(contents) > 0 {
		return newFile(contents)
	}
	return source{bytes: slices.Clone(contents), file: noFile}, nil
}

func (s source) mapped() bool { return s.file != noFile }

// show makes the start of the range, committed before, read as the source.
func (e *extent) show(s source) error {
	if s.mapped() {
		return e.mapFile(s)
	}
	copy(e.bytes, s.bytes)
	return nil
}

func (s source) close() error {
	if s.mapped() {
		return s.closeFile()
	}
	return nil
}
