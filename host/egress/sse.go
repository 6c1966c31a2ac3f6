package egress

import (
	"bytes"
	"strings"
)

// lines cuts bytes into lines, whatever pieces they come in. With returns set a
// line also ends at CR and CRLF.
type lines struct {
	returns bool
	partial []byte
	skipLF  bool // the line before ended with CR
}

// feed calls line for every line that chunk completed.
func (l *lines) feed(chunk []byte, line func([]byte) error) error {
	ends := "\n"
	if l.returns {
		ends = "\r\n"
	}
	for len(chunk) > 0 {
		if l.skipLF {
			l.skipLF = false
			if chunk[0] == '\n' {
				chunk = chunk[1:]
				continue
			}
		}
		at := bytes.IndexAny(chunk, ends)
		piece := chunk
		if at >= 0 {
			piece = chunk[:at]
		}
		if len(l.partial)+len(piece) > maxFrame {
			return errLine()
		}
		if at < 0 {
			l.partial = append(l.partial, piece...)
			return nil
		}
		l.skipLF = chunk[at] == '\r'
		chunk = chunk[at+1:]
		if len(l.partial) > 0 {
			piece = append(l.partial, piece...)
			l.partial = piece[:0]
		}
		if err := line(piece); err != nil {
			return err
		}
	}
	return nil
}

// end calls line for a last line without an end.
func (l *lines) end(line func([]byte) error) error {
	if len(l.partial) == 0 {
		return nil
	}
	last := l.partial
	l.partial = nil
	return line(last)
}

func errLine() error {
	return &Error{Kind: KindTooLarge, Text: "a line of the streamed answer is longer than 1 MiB"}
}

// sse parses server-sent events. An event without data is dropped; one that the
// end of the body finds without its blank line counts, as servers leave it out.
type sse struct {
	lines   lines
	started bool
	event   string
	data    []byte
	hasData bool
	frames  []Frame
}

func newSSE() *sse { return &sse{lines: lines{returns: true}} }

func (s *sse) feed(chunk []byte) ([]Frame, error) {
	err := s.lines.feed(chunk, s.line)
	return s.take(), err
}

func (s *sse) end() ([]Frame, error) {
	err := s.lines.end(s.line)
	if err == nil {
		s.dispatch()
	}
	return s.take(), err
}

func (s *sse) take() []Frame {
	frames := s.frames
	s.frames = nil
	return frames
}

func (s *sse) line(line []byte) error {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		s.dispatch()
		return nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) { // a comment has an empty field
	case "event":
		s.event = text(value)
	case "data":
		if len(s.data)+len(value) >= maxFrame {
			return &Error{Kind: KindTooLarge, Text: "an event of the streamed answer is larger than 1 MiB"}
		}
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.hasData = true
		s.data = append(s.data, value...)
	}
	return nil
}

func (s *sse) dispatch() {
	if len(s.data) > 0 {
		s.frames = append(s.frames, Frame{Event: s.event, Data: text(s.data)})
	}
	s.event, s.data, s.hasData = "", s.data[:0], false
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// ndjson parses lines of JSON; blank ones are dropped.
type ndjson struct {
	lines   lines
	started bool
	frames  []Frame
}

func newNDJSON() *ndjson { return &ndjson{} }

func (p *ndjson) feed(chunk []byte) ([]Frame, error) {
	err := p.lines.feed(chunk, p.line)
	return p.take(), err
}

func (p *ndjson) end() ([]Frame, error) {
	err := p.lines.end(p.line)
	return p.take(), err
}

func (p *ndjson) take() []Frame {
	frames := p.frames
	p.frames = nil
	return frames
}

func (p *ndjson) line(line []byte) error {
	if !p.started {
		p.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if line = bytes.TrimSpace(line); len(line) > 0 {
		p.frames = append(p.frames, Frame{Data: text(line)})
	}
	return nil
}
