package leaks

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marker is the part of every secret that nothing else has. It has characters that
// every encoding writes in another way.
const marker = "mArk/er+of=a&secret?0123456789~abcdefGHIJ"

// forms are the ways in which a text may be written, each such that a part of the
// text that is encoded alone is found too.
func forms(text string) map[string]string {
	all := map[string]string{
		"plain": text, "url": url.QueryEscape(text), "path": url.PathEscape(text), "hex": hex.EncodeToString([]byte(text)),
		"HEX": strings.ToUpper(hex.EncodeToString([]byte(text))), "json": strings.ReplaceAll(text, "&", `\u0026`),
	}
	for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
		for shift := range 3 { // where in a group of three bytes the text begins
			encoded := encoding.EncodeToString([]byte(strings.Repeat(" ", shift) + text))
			all[name+"+"+string(rune('0'+shift))] = encoded[4 : len(encoded)-3] // without what stands before and behind
		}
	}
	return all
}

// leaks names the forms of the marker that are in the text.
func leaks(text string) (found []string) {
	for name, form := range forms(marker) {
		if strings.Contains(text, form) {
			found = append(found, name)
		}
	}
	return found
}

// mustNotLeak demands a text without the marker.
func mustNotLeak(t *testing.T, where, text string) {
	t.Helper()
	for _, form := range leaks(text) {
		at := strings.Index(text, forms(marker)[form])
		t.Errorf("%s has the secret as %s: …%q…", where, form, text[max(0, at-80):min(len(text), at+120)])
	}
}

// mustNotLeakIn searches every file below a folder but one.
func mustNotLeakIn(t *testing.T, folder, but string) (files int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || path == but {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		mustNotLeak(t, path, string(content))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// A search that finds nothing must be one that could.
func TestTheSearchFindsEveryForm(t *testing.T) {
	for name, text := range map[string]string{
		"plain": marker, "url": url.QueryEscape("key=" + marker), "hex": hex.EncodeToString([]byte("Bearer " + marker + "!")),
		"base64+0": base64.StdEncoding.EncodeToString([]byte("abc" + marker)), "base64+1": base64.StdEncoding.EncodeToString([]byte("abcd" + marker + "xyz")),
		"base64url+2": base64.URLEncoding.EncodeToString([]byte("user:" + marker)), "json": `{"k":"` + strings.ReplaceAll(marker, "&", `\u0026`) + `"}`,
	} {
		if found := leaks("before " + text + " after"); len(found) == 0 {
			t.Errorf("%s is not found in %s", name, text)
		}
	}
	if found := leaks("nothing " + marker[:20]); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}
