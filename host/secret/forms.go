package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// forms are the ways a secret of MinScrub bytes or more may be written, some of
// them twice. None is shorter than the secret.
func forms(text string) []string {
	all := []string{text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text)))}
	for _, escaped := range []string{url.QueryEscape(text), url.PathEscape(text), escapeComponent(text)} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	for _, quoted := range quotations(text) {
		all = append(all, quoted)
		all = append(all, quotations(quoted)...) // JSON in a string of JSON
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := encoding.EncodeToString([]byte(text))
		all = append(all, whole, strings.TrimRight(whole, "="))
		for shift := range 3 {
			all = append(all, shifted(encoding, text, shift))
		}
	}
	for _, form := range slices.Clone(all) { // an escaped URL in a string of JSON
		all = append(all, quotations(form)...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(form string) bool { return len(form) < MinScrub })
}

// shifted answers the characters that text alone decides on when it is encoded
// behind shift bytes (of a multiple of three) and before anything.
func shifted(encoding *base64.Encoding, text string, shift int) string {
	encoded := encoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), text...))
	first := (8*shift + 5) / 6
	last := 8 * (shift + len(text)) / 6
	return encoded[first:last]
}

// escapeComponent escapes as JavaScript's encodeURIComponent.
func escapeComponent(text string) string {
	escaped := url.QueryEscape(text)
	for _, plain := range []string{"!", "'", "(", ")", "*"} {
		escaped = strings.ReplaceAll(escaped, url.QueryEscape(plain), plain)
	}
	return strings.ReplaceAll(escaped, "+", "%20")
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(text string) string {
	escaped := []byte(text)
	for i := 0; i+2 < len(escaped); i++ {
		if escaped[i] == '%' {
			copy(escaped[i+1:i+3], bytes.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(escaped)
}

// quotations are the ways writers of JSON escape text in a string: no more than
// they must, what HTML gives a meaning to, slashes, all that is not ASCII.
func quotations(text string) []string {
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return nil
	}
	html, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	least := strings.TrimSuffix(plain.String(), "\n")
	least = least[1 : len(least)-1]
	all := []string{least, string(html[1 : len(html)-1])}
	for _, quoted := range all[:2] {
		all = append(all, asciiOnly(quoted, "%04x"), asciiOnly(quoted, "%04X"))
	}
	for _, quoted := range slices.Clone(all) {
		all = append(all, strings.ReplaceAll(quoted, "/", `\/`))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// asciiOnly escapes the characters that are not ASCII in units of UTF-16.
func asciiOnly(text, format string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u`+format, r)
		default:
			first, second := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u`+format+`\u`+format, first, second)
		}
	}
	return b.String()
}
