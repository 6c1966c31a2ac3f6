package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// A write-ahead log is a header and frames of a header and a page each. A frame
// that ends a transaction tells the database's size; the salts change when the
// log starts over. https://www.sqlite.org/fileformat2.html#walformat
const (
	walHeader   = 32
	frameHeader = 24
)

// wal is where a write-ahead log stood.
type wal struct {
	salts   uint64
	commits int
}

// readWAL counts the commits in the log's present run.
func readWAL(path string) (wal, error) {
	file, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return wal{}, nil
	}
	if err != nil {
		return wal{}, err
	}
	if len(file) < walHeader {
		return wal{}, nil
	}
	page := int(binary.BigEndian.Uint32(file[8:]))
	if page < 512 || page > 65536 {
		return wal{}, fmt.Errorf("%s has pages of %d bytes", path, page)
	}
	at := wal{salts: binary.BigEndian.Uint64(file[16:])}
	for frame := file[walHeader:]; len(frame) >= frameHeader+page; frame = frame[frameHeader+page:] {
		if binary.BigEndian.Uint64(frame[8:]) != at.salts {
			break // left over from an earlier run
		}
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			at.commits++
		}
	}
	return at, nil
}
