package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// recently is how many of the newest bytes Progress shows.
	recently = 4 << 10
	// largestPipe is what a pipe holds at most, in bytes, for who is not root.
	largestPipe = 1 << 20
)

// capture takes what a command prints.
type capture struct {
	over chan struct{} // closed when more than the limit was printed

	mu     sync.Mutex
	output stream // and errors, when they are not apart
	errors stream
	recent tail
	total  int64
	limit  int64
}

func newCapture(c Capture) *capture {
	return &capture{
		over:   make(chan struct{}),
		output: stream{most: c.Head, tail: tail{most: c.Tail}, save: c.Save, left: c.SaveLimit},
		errors: stream{most: c.Head, tail: tail{most: c.Tail}, save: c.SaveErrors, left: c.SaveLimit},
		recent: tail{most: recently},
		limit:  c.Limit,
	}
}

// copy takes what comes from a pipe until that ends. When its deadline passes, it
// takes what is in the pipe and no more.
func (c *capture) copy(to *stream, from *os.File) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		c.add(to, buffer[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.rest(to, from, buffer)
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is in the pipe, which is never more than largestPipe.
func (c *capture) rest(to *stream, from *os.File, buffer []byte) {
	pipe, err := from.SyscallConn()
	if err != nil || from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for range largestPipe / len(buffer) {
		n := 0
		err := pipe.Read(func(descriptor uintptr) bool {
			n, _ = unix.Read(int(descriptor), buffer)
			return true // it never waits
		})
		if err != nil || n <= 0 {
			return
		}
		c.add(to, buffer[:n])
	}
}

func (c *capture) add(to *stream, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to.add(p)
	c.recent.add(p)
	before := c.total
	c.total += int64(len(p))
	if before <= c.limit && c.total > c.limit {
		close(c.over)
	}
}

// newest answers the newest lines and the number of bytes so far.
func (c *capture) newest() (lines string, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	recent := c.recent.bytes()
	if c.total > int64(len(recent)) {
		// It begins inside a line, unless there is no other.
		if end := bytes.IndexByte(recent, '\n'); end >= 0 && end+1 < len(recent) {
			recent = recent[end+1:]
		}
		recent = afterCut(recent)
	}
	return valid(recent), c.total
}

// kept answers what was kept of both streams.
func (c *capture) kept() (output, standardError Output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.kept(), c.errors.kept()
}

// stream keeps the beginning and the end of what is written, and passes it on.
type stream struct {
	head  []byte
	most  int // bytes of head
	tail  tail
	total int64

	save  io.Writer
	left  int64 // bytes that save may still get
	saved int64
	err   error
}

func (s *stream) add(p []byte) {
	s.total += int64(len(p))
	s.pass(p)
	room := min(s.most-len(s.head), len(p))
	s.head = append(s.head, p[:room]...)
	s.tail.add(p[room:])
}

func (s *stream) pass(p []byte) {
	p = p[:min(s.left, int64(len(p)))]
	if s.save == nil || s.err != nil || len(p) == 0 {
		return
	}
	n, err := s.save.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.saved += int64(n)
	s.left -= int64(n)
	s.err = err
}

func (s *stream) kept() Output {
	o := Output{Total: s.total, Saved: s.saved, SaveError: s.err}
	head, end := s.head, s.tail.bytes()
	if int64(len(head)+len(end)) == s.total {
		o.Head = valid(append(bytes.Clone(head), end...))
		return o
	}
	head, end = beforeCut(head), afterCut(end)
	o.Head, o.Tail = valid(head), valid(end)
	o.Omitted = s.total - int64(len(head)) - int64(len(end))
	return o
}

// tail keeps the last bytes.
type tail struct {
	most int
	data []byte // up to twice as many
}

func (t *tail) add(p []byte) {
	if len(p) >= t.most {
		t.data = append(t.data[:0], p[len(p)-t.most:]...)
		return
	}
	if len(t.data)+len(p) > 2*t.most {
		t.data = append(t.data[:0], t.bytes()...)
	}
	t.data = append(t.data, p...)
}

func (t *tail) bytes() []byte { return t.data[max(0, len(t.data)-t.most):] }

// beforeCut drops a character that the cut behind p took a part of.
func beforeCut(p []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return p[:at]
			}
			break
		}
	}
	return p
}

// afterCut drops the rest of a character that the cut before p took a part of.
func afterCut(p []byte) []byte {
	for skip := range min(utf8.UTFMax, len(p)) {
		if utf8.RuneStart(p[skip]) {
			return p[skip:]
		}
	}
	return p
}

func valid(p []byte) string { return strings.ToValidUTF8(string(p), string(utf8.RuneError)) }
