package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// plain reports whether c stands for itself inside a string and is one character.
func plain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// plainRun answers how many bytes at the start of b are plain, eight at a time: most
// of what a guest reads and writes is such text.
func plainRun(b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		if found := special(binary.LittleEndian.Uint64(b[n:])); found != 0 {
			return n + bits.TrailingZeros64(found)>>3
		}
		n += 8
	}
	for n < len(b) && plain(b[n]) {
		n++
	}
	return n
}

// copyPlain copies the bytes at the start of src that are plain to dst, and answers how
// many there were or fit. What it writes behind them in dst means nothing. In most texts
// the next byte that is not plain is near, so that looking and copying at once is faster
// than a copy of each run.
func copyPlain(dst, src []byte) int {
	n := 0
	for len(src)-n >= 8 && len(dst)-n >= 8 {
		word := binary.LittleEndian.Uint64(src[n:])
		binary.LittleEndian.PutUint64(dst[n:], word)
		if found := special(word); found != 0 {
			return n + bits.TrailingZeros64(found)>>3
		}
		n += 8
	}
	for n < len(src) && n < len(dst) && plain(src[n]) {
		dst[n] = src[n]
		n++
	}
	return n
}

// special sets the top bit of the bytes of word that are not plain. Only the lowest
// that is set is sure: a borrow may reach the bytes above it.
func special(word uint64) uint64 {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	control := word - ' '*ones
	quote := word ^ '"'*ones
	backslash := word ^ '\\'*ones
	return (word | control&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}
