// Package filetype knows the files that models are shown. A file that is not what it says
// fails every request that it is part of, so whoever brings one in is told at once.
package filetype

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// MaxBytes is the most that a file may have which a tool attaches.
const MaxBytes = 20 << 20

// shown are the types that every provider is sent.
func shown() []string {
	return []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
}

// Found is the type that a file's first bytes tell, without parameters:
// "application/octet-stream" where they tell none.
func Found(value []byte) string {
	found, _, _ := strings.Cut(http.DetectContentType(value), ";")
	return found
}

// Check refuses a type that a file's bytes do not bear out, of those that models are
// shown. Found is the type that they tell.
func Check(said, found string) error {
	if slices.Contains(shown(), said) && said != found {
		return fmt.Errorf("mime says %s, but the bytes are %s; say what the file is", said, found)
	}
	return nil
}
