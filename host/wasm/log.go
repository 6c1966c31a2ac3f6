package wasm

import (
	"bytes"
	"fmt"
	"strings"
)

// maxLogLine is where a line without an end is cut.
const maxLogLine = 4 << 10

// lineLog turns what a guest writes into lines, up to a number of bytes; then it
// says so once and drops the rest.
type lineLog struct {
	emit    func(line string)
	leveled func(level, line string) // nil hands all to emit
	limit   int
	left    int
	partial [2][]byte // of stdout and stderr
	panic   string    // the last line that tells of a panic
	full    bool
}

func newLineLog(limit int, emit func(string), leveled func(level, line string)) lineLog {
	return lineLog{emit: emit, leveled: leveled, limit: limit, left: limit}
}

// message takes what a guest logs at a level, one line or several.
func (l *lineLog) message(level string, data []byte) {
	if l.leveled == nil {
		l.write(0, append(data, '\n'))
		return
	}
	emit := l.emit
	l.flush() // what it printed comes before
	l.emit = func(line string) { l.leveled(level, line) }
	defer func() { l.emit = emit }()
	l.write(0, append(data, '\n'))
}

// write takes bytes of stream 0 or 1.
func (l *lineLog) write(stream int, data []byte) {
	if l.full {
		return
	}
	cut := len(data) > l.left
	if cut {
		data = data[:l.left]
	}
	l.left -= len(data)
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		room := maxLogLine - len(l.partial[stream])
		if len(line) > room {
			line, rest, ended = data[:room], data[room:], true
		}
		l.partial[stream] = append(l.partial[stream], line...)
		data = rest
		if ended {
			l.end(stream)
		}
	}
	if cut {
		l.flush()
		l.full = true
		l.emit(fmt.Sprintf("the log is cut off here: a call may write %d bytes (LogBytes); log less, or %s", l.limit, raise("LogBytes")))
	}
}

func (l *lineLog) end(stream int) {
	line := bytes.TrimSuffix(l.partial[stream], []byte{'\r'})
	text := clean(string(line), 3*maxLogLine) // cleaning can make a byte three
	l.partial[stream] = l.partial[stream][:0]
	if tellsPanic(text) {
		l.panic = text
	}
	l.emit(text)
}

// tellsPanic reports whether a line is what a runtime prints before it traps or exits:
// that of Go or TinyGo, or the hook of the SDK for Rust.
func tellsPanic(line string) bool {
	for _, start := range []string{"panic: ", "fatal error: ", "panicked at "} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// flush ends lines that have no end.
func (l *lineLog) flush() {
	for stream := range l.partial {
		if len(l.partial[stream]) > 0 {
			l.end(stream)
		}
	}
}
