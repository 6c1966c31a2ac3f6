package protocol_test

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

func TestFileType(t *testing.T) {
	for value, want := range map[string]string{
		"":                                 "",
		"\x89PNG\r\n\x1a\n\x00":            protocol.MimePNG,
		"\xff\xd8\xff\xe0":                 protocol.MimeJPEG,
		"GIF87a\x00":                       protocol.MimeGIF,
		"RIFF\x04\x00\x00\x00WEBPVP8 \x00": protocol.MimeWebP,
		"%PDF-1.7\n\xff":                   protocol.MimePDF,
		"plain":                            protocol.MimeText,
		"<!DOCTYPE html><p>":               protocol.MimeText,
		"<?xml version='1.0'?><svg/>":      protocol.MimeText,
		"BMW is no bitmap":                 protocol.MimeText,
		"\ufeffwith a mark, \x1b[1mbold":   protocol.MimeText,
		strings.Repeat("x", 1000) + "\xff": "",
		"\x7fELF\x02\x01\x01\x00":          "",
		"PK\x03\x04":                       "",
		"BM\x00\x00\x00\x00":               "",
	} {
		if got := protocol.FileType([]byte(value)); got != want {
			t.Errorf("%.20q is %q, want %q", value, got, want)
		}
	}
}

func TestNotText(t *testing.T) {
	for value, want := range map[string]int{"": -1, "a\tb\r\n\f\b\x1b\x7f\u0085é😀\ufffd": -1, "\x00": 0, "ab\x01": 2, "é\xff": 2, "é\xc3": 2, "\xed\xa0\x80": 0} {
		if got := protocol.NotText([]byte(value)); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
}
