package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const (
	// minForm is the shortest text taken for a secret, in bytes: shorter ones would
	// tear holes into ordinary words.
	minForm = 4
	// minPart is the shortest piece of a longer encoding taken for the secret's.
	minPart = 8
	// maxValues bounds the values remembered; the oldest is forgotten first.
	maxValues = 256
)

// Scrubber removes the secrets it was told from texts: as they are, URL-encoded,
// in hexadecimal, in base64 (also inside a longer encoded text) and as JSON. The
// zero Scrubber knows no secret. It is safe for use by several goroutines.
type Scrubber struct {
	mu       sync.Mutex
	values   []string
	replacer *strings.Replacer
}

// Add tells the scrubber a secret. Values under four bytes are not looked for.
func (s *Scrubber) Add(value Value) {
	text := value.Reveal()
	if len(text) < minForm {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.values, text) {
		return
	}
	s.values = append(s.values, text)
	if len(s.values) > maxValues {
		s.values = slices.Delete(s.values, 0, 1)
	}
	s.replacer = newReplacer(s.values)
}

// Scrub answers text with "[secret]" for every secret in it.
func (s *Scrubber) Scrub(text string) string {
	s.mu.Lock()
	replacer := s.replacer
	s.mu.Unlock()
	if replacer == nil {
		return text
	}
	return replacer.Replace(text)
}

// newReplacer looks for the longest form first, so that no rest of one is left.
func newReplacer(values []string) *strings.Replacer {
	var all []string
	for _, value := range values {
		all = append(all, forms(value)...)
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	all = slices.Compact(all)
	pairs := make([]string, 0, 2*len(all))
	for _, form := range all {
		pairs = append(pairs, form, hidden)
	}
	return strings.NewReplacer(pairs...)
}

// forms are the ways a secret may be written.
func forms(text string) []string {
	all := []string{
		text,
		url.QueryEscape(text), lowerEscapes(url.QueryEscape(text)),
		url.PathEscape(text), lowerEscapes(url.PathEscape(text)),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
	}
	if quoted, err := json.Marshal(text); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := encoding.EncodeToString([]byte(text))
		all = append(all, whole, strings.TrimRight(whole, "="))
		for shift := range 3 {
			if part := shifted(encoding, text, shift); len(part) >= minPart {
				all = append(all, part)
			}
		}
	}
	return all
}

// shifted answers the characters that text alone decides on when it is encoded
// behind shift bytes (of a multiple of three) and before anything.
func shifted(encoding *base64.Encoding, text string, shift int) string {
	encoded := encoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), text...))
	first := (8*shift + 5) / 6
	last := 8 * (shift + len(text)) / 6
	return encoded[min(first, last):last]
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(text string) string {
	escaped := []byte(text)
	for i := 0; i+2 < len(escaped); i++ {
		if escaped[i] == '%' {
			copy(escaped[i+1:i+3], strings.ToLower(string(escaped[i+1:i+3])))
		}
	}
	return string(escaped)
}
