package search

import (
	"bytes"
	"strings"
)

// commonest are the bytes of programs and prose, the most frequent first. What is
// not among them is rare, but for the first bytes of longer characters.
const commonest = " etainrso\n\tlcdupmfhg.,y_b()vw\"=xk-0:/TSECAI1RqLNPD;DM2{}OFzUBj"

// needle is a literal to look for by its rarest byte, which the machine finds many
// bytes at a time.
type needle struct {
	text []byte
	rare int // where in the text that byte is
}

func newNeedle(text []byte) *needle {
	n := &needle{text: text}
	for i, c := range text {
		if rarity(c) > rarity(text[n.rare]) {
			n.rare = i
		}
	}
	return n
}

func rarity(c byte) int {
	if at := strings.IndexByte(commonest, c); at >= 0 {
		return at
	}
	if c >= 0xC0 {
		return len(commonest) / 2
	}
	return len(commonest)
}

// index answers where the literal begins in text first, -1 when it is not there.
func (n *needle) index(text []byte) int {
	after := len(n.text) - n.rare
	for at := n.rare; at < len(text); at++ {
		next := bytes.IndexByte(text[at:], n.text[n.rare])
		if next < 0 || at+next+after > len(text) {
			return -1
		}
		at += next
		if start := at - n.rare; bytes.Equal(text[start:at+after], n.text) {
			return start
		}
	}
	return -1
}
