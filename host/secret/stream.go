package secret

import (
	"bytes"
	"io"
)

// cutter takes secrets out of a text that comes in pieces.
type cutter struct {
	held    []byte // the end of what came: a form may begin with it
	covered int    // so much of held belongs to a secret that was taken out
}

// cut appends to out what is settled of the text so far, with piece as its next
// part, and at the end all of it.
func (c *cutter) cut(out, piece []byte, m *matcher, end bool) []byte {
	text := piece
	if len(c.held) > 0 {
		text = append(c.held, piece...)
	}
	done, hold := c.covered, len(text)
	for from := 0; m != nil; {
		at, length, open := find(m, text, from, end)
		if at == len(text) {
			break
		}
		if open && !end {
			hold = at
			break
		}
		if open {
			length = len(text) - at
		}
		if at >= done {
			out = append(append(out, text[done:at]...), hidden...)
		}
		done, from = max(done, at+length), at+1
	}
	if done < hold {
		out = append(out, text[done:hold]...)
		done = hold
	}
	c.covered = done - hold
	c.held = append(c.held[:0], text[hold:]...)
	return out
}

// Reader answers what r answers without the secrets, those included that the
// scrubber is told meanwhile. It holds back no more than what a secret may begin
// with. The reader is for one goroutine.
func (s *Scrubber) Reader(r io.Reader) io.Reader { return &reader{scrubber: s, inner: r} }

const readSize = 32 << 10

type reader struct {
	scrubber *Scrubber
	inner    io.Reader
	cutter   cutter
	buffer   []byte
	ready    bytes.Buffer
	err      error
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.buffer == nil {
		r.buffer = make([]byte, readSize)
	}
	for r.ready.Len() == 0 && r.err == nil {
		var n int
		n, r.err = r.inner.Read(r.buffer)
		if n > 0 || r.err != nil {
			r.ready.Write(r.cutter.cut(r.ready.AvailableBuffer(), r.buffer[:n], r.scrubber.matcher.Load(), r.err != nil))
		}
		if n == 0 && r.err == nil {
			return 0, nil
		}
	}
	if r.ready.Len() == 0 {
		return 0, r.err
	}
	return r.ready.Read(p)
}

// Writer writes to an underlying writer what it is given, without the secrets. It
// is for one goroutine; Close it.
type Writer struct {
	scrubber *Scrubber
	inner    io.Writer
	cutter   cutter
	out      []byte
}

// Writer answers a Writer to w.
func (s *Scrubber) Writer(w io.Writer) *Writer { return &Writer{scrubber: s, inner: w} }

// Write answers len(p) unless the underlying writer fails.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what was held back. The underlying writer stays open.
func (w *Writer) Close() error { return w.pass(nil, true) }

func (w *Writer) pass(p []byte, end bool) error {
	w.out = w.cutter.cut(w.out[:0], p, w.scrubber.matcher.Load(), end)
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.inner.Write(w.out)
	return err
}
