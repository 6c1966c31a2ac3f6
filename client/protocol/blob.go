package protocol

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// BlobsPath takes files: the body is the bytes, Content-Type what they are.
const BlobsPath = "/v1/blobs"

// MaxBlob bounds one file, in bytes.
const MaxBlob = 20 << 20

// Media types of files.
const (
	MimePNG  = "image/png"
	MimeJPEG = "image/jpeg"
	MimeGIF  = "image/gif"
	MimeWebP = "image/webp"
	MimePDF  = "application/pdf"
	MimeText = "text/plain"
)

// BlobTypes answers the media types that a prompt's files may have. Text is UTF-8.
func BlobTypes() []string {
	return []string{MimePNG, MimeJPEG, MimeGIF, MimeWebP, MimePDF, MimeText}
}

// Blob is a file that the host has. A prompt names it by its digest.
type Blob struct {
	// Blob is the SHA-256 of the bytes as 64 hex digits.
	Blob  string `json:"blob"`
	Mime  string `json:"mime"`
	Bytes int64  `json:"bytes"`
}

// FileType tells which of BlobTypes the bytes are by what they begin with, "" for
// none. Any text is text/plain, whatever it is written in.
func FileType(value []byte) string {
	found, _, _ := strings.Cut(http.DetectContentType(value), ";")
	switch {
	case found != MimeText && slices.Contains(BlobTypes(), found):
		return found
	case len(value) > 0 && NotText(value) < 0:
		return MimeText
	}
	return ""
}

// NotText answers the place of the first byte that UTF-8 text does not have, -1 when
// there is none. All of it counts: by its beginning "BMW" would be a bitmap. Of the
// control characters a text has white space, backspace and escape.
func NotText(value []byte) int {
	for at := 0; at < len(value); {
		r, size := utf8.DecodeRune(value[at:])
		if r == utf8.RuneError && size == 1 || r < ' ' && !strings.ContainsRune("\t\n\f\r\b\x1b", r) {
			return at
		}
		at += size
	}
	return -1
}
