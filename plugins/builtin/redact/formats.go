package main

import "strings"

// labelled is a value of exactly length bytes behind its name and what assigns it.
func labelled(kind, label string, of *class, length int) shape {
	return shape{kind: kind, begins: label, at: func(text string) (int, int) {
		if !strings.HasPrefix(text, label) {
			return 0, 0
		}
		start := len(label)
		for start < len(text) && start < len(label)+8 && strings.IndexByte(" \t\"':=\\", text[start]) >= 0 {
			start++
		}
		if start == len(label) || run(text[start:], of) != length {
			return 0, 0
		}
		return start, start + length
	}}
}

// jwt is a JSON Web Token: three runs with dots between, the first two JSON objects.
func jwt(text string) (start, end int) {
	const opening = "eyJ" // {" in base64
	for i := range 3 {
		if i > 0 {
			if !strings.HasPrefix(text[end:], ".") {
				return 0, 0
			}
			end++
		}
		n := run(text[end:], &url)
		if n < 8 || i < 2 && !strings.HasPrefix(text[end:], opening) {
			return 0, 0
		}
		end += n
	}
	return 0, end
}

// A block of a private key.
const (
	begin    = "-----BEGIN "
	ends     = "-----END "
	dashes   = "-----"
	maxLabel = 40
	maxBlock = 32 << 10
)

// block is a private key with its first and last line. Where the end is not in the
// text it goes as far as what a key has in it.
func block(text string) (start, end int) {
	if !strings.HasPrefix(text, begin) {
		return 0, 0
	}
	label, _, ok := strings.Cut(text[len(begin):min(len(text), len(begin)+maxLabel)], dashes)
	if !ok || !strings.Contains(label, "PRIVATE KEY") {
		return 0, 0
	}
	body := len(begin) + len(label) + len(dashes)
	rest := text[body:min(len(text), body+maxBlock)]
	if last := strings.Index(rest, ends+label+dashes); last >= 0 {
		return 0, body + last + len(ends) + len(label) + len(dashes)
	}
	n := 0
	for n < len(rest) && (base64.has(rest[n]) || strings.IndexByte(" \t\r\n\\", rest[n]) >= 0) {
		n++
	}
	if n < 32 {
		return 0, 0 // the line alone, as in a program that looks for it
	}
	return 0, body + n
}

// maxAuthority bounds the part of an address that holds the password.
const maxAuthority = 512

// password is that of an address: scheme://user:password@host. A place that is still to
// be filled in is none.
func password(text string) (start, end int) {
	const opening = "://"
	if !strings.HasPrefix(text, opening) {
		return 0, 0
	}
	authority := text[len(opening):min(len(text), len(opening)+maxAuthority)]
	if n := strings.IndexAny(authority, " \t\r\n\"'`<>/\\?#"); n >= 0 {
		authority = authority[:n]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return 0, 0
	}
	colon := strings.IndexByte(authority[:at], ':')
	if colon < 0 || colon+1 == at || strings.IndexByte("${*[%", authority[colon+1]) >= 0 {
		return 0, 0
	}
	return len(opening) + colon + 1, len(opening) + at
}
