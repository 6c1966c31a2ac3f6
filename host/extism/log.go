package extism

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	sdk "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/wasm"
)

// log turns what a guest prints and logs into lines, up to a number of bytes; the
// rest is dropped with one notice.
type log struct {
	print   func(line string)
	leveled func(level, line string)
	left    int
	limit   int
	partial []byte
	full    bool
}

func newLog(limit int, request wasm.Request, logger hclog.Logger) *log {
	l := &log{print: request.Log, leveled: request.LogAt, left: limit, limit: limit}
	if l.print == nil {
		l.print = func(line string) { logger.Debug(line) }
	}
	if l.leveled == nil {
		l.leveled = func(_, line string) { l.print(line) }
	}
	return l
}

// Write takes what the guest prints. All of it counts as written.
func (l *log) Write(data []byte) (int, error) {
	for rest := l.take(data); len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		l.partial, rest = append(l.partial, line...), after
		if ended {
			l.end()
		}
	}
	return len(data), nil
}

// message takes what the guest logs at a level.
func (l *log) message(level sdk.LogLevel, text string) {
	l.flush()
	for line := range strings.Lines(string(l.take([]byte(text)))) {
		l.leveled(strings.ToLower(level.String()), clean(line))
	}
}

// take answers how much of the data the log has room for.
func (l *log) take(data []byte) []byte {
	if l.full {
		return nil
	}
	if len(data) > l.left {
		data, l.full = data[:l.left], true
		defer l.print(fmt.Sprintf("the log is cut off here: a call may write %d bytes (LogBytes)", l.limit))
	}
	l.left -= len(data)
	return data
}

func (l *log) end() {
	line := clean(string(l.partial))
	l.partial = l.partial[:0]
	l.print(line)
}

func (l *log) flush() {
	if len(l.partial) > 0 {
		l.end()
	}
}

// clean takes the end and the control characters off a line.
func clean(line string) string {
	line = strings.TrimRight(strings.ToValidUTF8(line, "\uFFFD"), "\r\n")
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '\uFFFD'
		}
		return r
	}, line)
}
