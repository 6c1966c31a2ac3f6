package bundle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/plinthhost/plinth/store"
)

// lines reads a file line by line. After the last one next answers io.EOF.
type lines struct {
	from   *bufio.Reader
	limit  int
	number int64
	buffer []byte
}

func readLines(from io.Reader, limit int) *lines {
	return &lines{from: bufio.NewReaderSize(from, 64<<10), limit: limit}
}

// next answers the next line with its line break. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.buffer = l.buffer[:0]
	l.number++
	for {
		piece, err := l.from.ReadSlice('\n')
		l.buffer = append(l.buffer, piece...)
		switch {
		case len(l.buffer) > l.limit:
			return nil, at(l.number, "it is longer than %d bytes, the limit of a line", l.limit)
		case err == nil:
			return l.buffer, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buffer) > 0:
			return nil, at(l.number, "it has no line break: the file was cut off; export the session again")
		default:
			return nil, err
		}
	}
}

// unpack decodes a line strictly.
func (l *lines) unpack(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return at(l.number, "it is no line of this format: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return at(l.number, "there is something behind the JSON value")
	}
	return nil
}

// endPrefix is what the last line begins with, and no other.
const endPrefix = `{"end":`

// checkSum compares the file with its sum before anything in it is believed. It answers
// the sum.
func checkSum(file *os.File, limits Limits) (string, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	reader, sum := readLines(file, limits.Line), sha256.New()
	for {
		text, err := reader.next()
		switch {
		case errors.Is(err, io.EOF) && reader.number == 1:
			return "", &FormatError{Reason: "is empty"}
		case errors.Is(err, io.EOF):
			return "", &FormatError{Reason: "has no end: it was cut off; export the session again"}
		case err != nil:
			return "", err
		}
		if !bytes.HasPrefix(text, []byte(endPrefix)) {
			sum.Write(text)
			continue
		}
		var last line
		if err := reader.unpack(text, &last); err != nil {
			return "", err
		}
		if found := hex.EncodeToString(sum.Sum(nil)); last.End.SHA256 != found || last.End.Lines != reader.number-1 {
			return "", &FormatError{Reason: "does not have the sum that its last line names: it was changed or damaged; export the session again"}
		}
		if _, err := reader.next(); !errors.Is(err, io.EOF) {
			return "", at(reader.number, "it stands behind the end")
		}
		return last.End.SHA256, nil
	}
}

// visitor is told what a file has, in its order.
type visitor struct {
	headers func([]Header) error
	event   func(number int64, e store.Event) error
	blob    func(number int64, digest string, value []byte) error
}

// walk reads a file whose sum is right and holds it to the order of its lines.
func walk(file *os.File, limits Limits, v visitor) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	reader := readLines(file, limits.Line)
	headers, text, err := readHeaders(reader, limits)
	if err == nil {
		err = v.headers(headers)
	}
	if err != nil {
		return err
	}
	blobs := false
	for ; ; text, err = reader.next() {
		if err != nil {
			return err
		}
		var l line
		if err := reader.unpack(text, &l); err != nil {
			return err
		}
		switch {
		case l.End != nil:
			return nil
		case l.Blob != nil:
			blobs, err = true, v.blob(reader.number, l.Blob.Digest, l.Blob.Data)
		case l.Event == nil:
			err = at(reader.number, "it has neither an event, nor a blob, nor the end")
		case blobs:
			err = at(reader.number, "an event stands behind a blob; all events come first")
		default:
			err = v.event(reader.number, l.Event.stored())
		}
		if err != nil {
			return err
		}
	}
}

// readHeaders reads the headers and the line that follows them.
func readHeaders(reader *lines, limits Limits) (headers []Header, text []byte, err error) {
	for {
		if text, err = reader.next(); err != nil {
			return nil, nil, err
		}
		var kind struct {
			Format  *string `json:"format"`
			Version int     `json:"version"`
		}
		if json.Unmarshal(text, &kind) != nil || kind.Format == nil {
			if len(headers) == 0 {
				return nil, nil, at(1, "it is no header of the format %s", Format)
			}
			return headers, text, nil
		}
		switch {
		case *kind.Format != Format:
			return nil, nil, at(reader.number, "the format is %q; it must be %s", *kind.Format, Format)
		case kind.Version != Version:
			return nil, nil, at(reader.number, "the version of the format is %d and this program reads %d; use the program that wrote the file, or a newer one", kind.Version, Version)
		case len(headers) == limits.Sessions:
			return nil, nil, at(reader.number, "there are more than %d sessions, the limit of a file", limits.Sessions)
		}
		var header Header
		if err := reader.unpack(text, &header); err != nil {
			return nil, nil, err
		}
		headers = append(headers, header)
	}
}
