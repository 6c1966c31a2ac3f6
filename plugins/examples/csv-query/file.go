package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// pieceBytes is how much of a file is read at a time.
const pieceBytes = 512 << 10

// piecewise reads a file from its begin to its end, a piece at a time, so that only one is
// in memory.
type piecewise struct {
	path   string
	name   string // as the host calls the file
	offset int64
	piece  []byte
	eof    bool
}

// Read answers what is left of a piece, or of the next.
func (p *piecewise) Read(into []byte) (int, error) {
	for len(p.piece) == 0 {
		if p.eof {
			return 0, io.EOF
		}
		file, err := host.Read(abi.FSRead{Path: abi.Path{Path: p.path}, Offset: p.offset, Length: pieceBytes})
		if err != nil {
			return 0, err
		}
		p.name, p.piece, p.eof = file.Info.Path, file.Data, file.EOF || len(file.Data) == 0
		p.offset += int64(len(file.Data))
	}
	n := copy(into, p.piece)
	p.piece = p.piece[n:]
	return n, nil
}

// table is a CSV file that is read row by row.
type table struct {
	name   string
	header []string
	reader *csv.Reader
}

// open reads a file's header.
func open(path, delimiter string) (*table, error) {
	if path == "" {
		return nil, invalid("path is empty; name a CSV file")
	}
	file := &piecewise{path: path}
	buffered := bufio.NewReaderSize(file, 64<<10)
	start, err := buffered.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if strings.HasPrefix(string(start), "\ufeff") {
		if _, err := buffered.Discard(len("\ufeff")); err != nil {
			return nil, err
		}
		start = start[len("\ufeff"):]
	}
	reader := csv.NewReader(buffered)
	reader.ReuseRecord = true
	if reader.Comma, err = comma(delimiter, string(start)); err != nil {
		return nil, err
	}
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, invalid("%s is empty; a CSV file begins with the names of its columns", path)
	}
	if err != nil {
		return nil, malformed(path, err)
	}
	t := &table{name: file.name, reader: reader}
	for _, name := range header {
		t.header = append(t.header, strings.TrimSpace(name))
	}
	return t, nil
}

// comma answers what separates cells: what is said, or what the first line has most of.
func comma(delimiter, start string) (rune, error) {
	switch found, size := utf8.DecodeRuneInString(delimiter); {
	case delimiter == "":
	case delimiter == `\t`:
		return '\t', nil
	case size == len(delimiter) && found != utf8.RuneError && found != '"' && found != '\r' && found != '\n':
		return found, nil
	default:
		return 0, invalid("delimiter is %q; it must be one character, such as \",\" or \";\"", delimiter)
	}
	line, _, _ := strings.Cut(start, "\n")
	best, most := ',', 0
	for _, candidate := range ",;\t|" {
		if n := strings.Count(line, string(candidate)); n > most {
			best, most = candidate, n
		}
	}
	return best, nil
}

// next answers the next row, which is good until the one after; false at the end.
func (t *table) next() ([]string, bool, error) {
	row, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, malformed(t.name, err)
	}
	return row, true, nil
}

// line is where the row that next answered begins.
func (t *table) line() int {
	line, _ := t.reader.FieldPos(0)
	return line
}

// malformed is a file that is no CSV; errors of the host stay what they are.
func malformed(name string, err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case !ok:
		return err
	case errors.Is(parse.Err, csv.ErrFieldCount):
		return invalid("%s line %d has another number of cells than the header; correct the file, or give its delimiter", name, parse.StartLine)
	}
	return invalid("%s line %d: %v; correct the file, or give its delimiter", name, parse.Line, parse.Err)
}
