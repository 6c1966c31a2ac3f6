package main

import (
	"bytes"
	"unicode/utf8"
)

// pager makes one page of a text that comes in pieces, cut anywhere.
type pager struct {
	offset int64 // the page's first line, from 1
	limit  int64
	room   int // bytes

	line    int64 // the line being read
	head    []byte
	seen    int64 // bytes of the line being read, all of them
	text    []byte
	count   int64 // lines on the page
	more    bool  // something follows the page
	invalid bool  // the page is not UTF-8
}

// headBytes is what is kept of a line: enough to tell that it has too many
// characters, however wide they are.
const headBytes = (maxRunes + 1) * utf8.UTFMax

// take reads a piece, the last one when the file ends with it, and reports whether
// the page is done. Nothing beyond the page is looked at.
func (p *pager) take(piece []byte, last bool) (done bool) {
	for {
		if p.count == p.limit {
			p.more = len(piece) > 0 || !last
			return true
		}
		if len(piece) == 0 {
			break
		}
		rest, ended := piece, false
		if at := bytes.IndexByte(piece, '\n'); at >= 0 {
			rest, piece, ended = piece[:at], piece[at+1:], true
		} else {
			piece = nil
		}
		p.keep(rest)
		if ended && !p.end(true) {
			return true
		}
	}
	if last && p.seen > 0 {
		p.end(false)
	}
	return last
}

func (p *pager) keep(bytes []byte) {
	p.seen += int64(len(bytes))
	if p.line < p.offset {
		return
	}
	p.head = append(p.head, bytes[:min(len(bytes), headBytes-len(p.head))]...)
}

// end puts the line on the page, if it belongs there; false when it has no room.
// The last line of a file may come without a line feed.
func (p *pager) end(lineFeed bool) bool {
	if p.line >= p.offset {
		line := p.shown(lineFeed)
		size := len(line)
		if p.count > 0 {
			size++ // the line feed before it
		}
		if len(p.text)+size > p.room {
			p.more = true
			return false
		}
		if p.count > 0 {
			p.text = append(p.text, '\n')
		}
		p.text = append(p.text, line...)
		p.count++
	}
	p.line++
	p.head, p.seen = p.head[:0], 0
	return true
}

// shown is the line as the page has it: without the carriage return before its
// line feed, and cut when it is long.
func (p *pager) shown(lineFeed bool) []byte {
	line := p.head
	if lineFeed && p.seen == int64(len(line)) {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	runes, at := 0, 0
	for at < len(line) && runes < maxRunes {
		point, size := utf8.DecodeRune(line[at:])
		if point == utf8.RuneError && size == 1 {
			p.invalid = true
			return nil
		}
		at += size
		runes++
	}
	if at == len(line) && p.seen <= int64(len(p.head)) {
		return line
	}
	return append(line[:at:at], cutSuffix...)
}
