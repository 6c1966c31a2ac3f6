package secret

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// window is how much of every form the search looks at: the length of the
	// shortest.
	window = MinScrub
	// block is how many bytes at the end of the window decide how far to skip.
	block = 3
)

// matcher finds many texts at once by the method of Wu and Manber: the last block
// of a window of the text says how far the window can move without passing over a
// form's first bytes, most often by all but the block.
type matcher struct {
	skip   []uint8             // by hash of a block
	shift  uint32              // 32 less the bits of a hash
	starts map[uint64][]string // forms by their first window bytes, longest first
	sorted []string
}

func newMatcher(values []string) *matcher {
	m := &matcher{starts: map[uint64][]string{}}
	for _, value := range values {
		m.sorted = append(m.sorted, forms(value)...)
	}
	slices.Sort(m.sorted)
	m.sorted = slices.Compact(m.sorted)
	bits := uint32(12)
	for bits < 20 && 1<<bits < 16*(window-block+1)*len(m.sorted) {
		bits++
	}
	m.shift = 32 - bits
	m.skip = slices.Repeat([]uint8{window - block + 1}, 1<<bits)
	for _, form := range m.sorted {
		for at := range window - block + 1 {
			hash := m.hash(form[at], form[at+1], form[at+2])
			m.skip[hash] = min(m.skip[hash], uint8(window-block-at))
		}
		m.starts[key(form)] = append(m.starts[key(form)], form)
	}
	for _, same := range m.starts {
		slices.SortFunc(same, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return m
}

func (m *matcher) hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> m.shift
}

// key is a text's first window bytes.
func key[T string | []byte](text T) uint64 {
	var k uint64
	for at := range window {
		k |= uint64(text[at]) << (8 * at)
	}
	return k
}

// find looks from a place on for the next one where a form begins, and answers it
// with the length of the longest form there and whether the end of text may cut
// off a longer one. The length may then be 0. Without such a place it answers
// len(text). If text is all there is, what is cut off counts from window bytes on.
func find[T string | []byte](m *matcher, text T, from int, all bool) (at, length int, cut bool) {
	for at = from; at+window <= len(text); {
		skip := m.skip[m.hash(text[at+window-block], text[at+window-block+1], text[at+window-block+2])]
		if skip > 0 {
			at += int(skip)
			continue
		}
		for _, form := range m.starts[key(text[at:])] {
			if rest := len(text) - at; len(form) > rest {
				cut = cut || form[:rest] == string(text[at:])
			} else if form == string(text[at:at+len(form)]) {
				length = len(form)
				break
			}
		}
		if length > 0 || cut {
			return at, length, cut
		}
		at++
	}
	for ; at < len(text) && !all; at++ {
		if m.begins(string(text[at:])) {
			return at, 0, true
		}
	}
	return len(text), 0, false
}

// begins reports whether a form begins with text.
func (m *matcher) begins(text string) bool {
	at, _ := slices.BinarySearch(m.sorted, text)
	return at < len(m.sorted) && strings.HasPrefix(m.sorted[at], text)
}
