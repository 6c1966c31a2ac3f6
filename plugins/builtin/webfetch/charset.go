package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// windows1252 are the characters of the bytes 0x80 to 0x9F; the web means them too by
// iso-8859-1 and us-ascii. A byte that stands for none is the control character.
var windows1252 = [32]rune{
	0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
	0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
}

// decoded answers the content as UTF-8, or why it is none: the mark at its beginning
// counts most, then what the server says, then what the page says of itself.
func decoded(content []byte, charset string, markup bool) (string, error) {
	if bytes.HasPrefix(content, []byte("\xef\xbb\xbf")) {
		content, charset = content[3:], "utf-8"
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return "", errors.New("is a file that is no text, which webfetch does not read")
	}
	if charset == "" && markup {
		charset = declared(content)
	}
	valid := utf8.Valid(content)
	switch charset {
	case "", "utf-8", "utf8":
		if charset == "" && !valid {
			return fromWindows1252(content), nil
		}
		return strings.ToValidUTF8(string(content), "\ufffd"), nil
	case "iso-8859-1", "iso8859-1", "latin1", "latin-1", "l1", "us-ascii", "ascii", "windows-1252", "cp1252", "x-cp1252":
		return fromWindows1252(content), nil
	}
	if valid { // as of plain English text in most others
		return string(content), nil
	}
	return "", fmt.Errorf("is written in %.40q; webfetch reads utf-8, iso-8859-1 and windows-1252", charset)
}

func fromWindows1252(content []byte) string {
	var text strings.Builder
	text.Grow(len(content) + len(content)/8)
	for _, b := range content {
		switch {
		case b < utf8.RuneSelf:
			text.WriteByte(b)
		case b < 0xA0:
			text.WriteRune(windows1252[b-0x80])
		default:
			text.WriteRune(rune(b))
		}
	}
	return text.String()
}

// declared answers the character set that a page names in its first 1,024 bytes.
func declared(content []byte) string {
	start := strings.ToLower(string(content[:min(len(content), 1024)]))
	_, name, found := strings.Cut(start, "charset=")
	if !found {
		return ""
	}
	name = strings.TrimLeft(name, ` "'`)
	if end := strings.IndexAny(name, " \"';/>\n\r\t"); end >= 0 {
		name = name[:end]
	}
	return name
}
