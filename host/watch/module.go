package watch

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
)

// maxSections is how many sections are looked at; a module with more passes.
const maxSections = 10000

// wholeModule reports whether a file of so many bytes has all of its sections: one
// that ends in the middle of a section is being written. What cannot be read, or is no
// module from its first bytes on, is whole: nothing better is to come.
func wholeModule(path string, size int64) bool {
	file, err := os.Open(path)
	if err != nil {
		return true
	}
	defer file.Close()
	const header = 8
	start := make([]byte, header)
	n, err := io.ReadFull(file, start)
	for i, b := range []byte("\x00asm")[:min(n, 4)] {
		if start[i] != b {
			return !allZero(start[:n]) // zeros are place made for what is to come
		}
	}
	if err != nil {
		return false
	}
	at := int64(header)
	for range maxSections {
		if at == size {
			return true
		}
		end, ok := sectionEnd(io.NewSectionReader(file, at, size-at), at)
		if !ok || end > size {
			return false
		}
		at = end
	}
	return true
}

// sectionEnd answers where the section ends that begins at a place.
func sectionEnd(from io.Reader, at int64) (end int64, ok bool) {
	const head = 11 // the id and the longest length
	reader := bufio.NewReaderSize(io.LimitReader(from, head), 16)
	if _, err := reader.ReadByte(); err != nil {
		return 0, false
	}
	left := reader.Buffered()
	length, err := binary.ReadUvarint(reader)
	if err != nil || length > 1<<40 {
		return 0, false
	}
	return at + 1 + int64(left-reader.Buffered()) + int64(length), true
}

func allZero(bytes []byte) bool {
	for _, b := range bytes {
		if b != 0 {
			return false
		}
	}
	return true
}
