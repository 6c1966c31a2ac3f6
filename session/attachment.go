package session

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plinthhost/plinth/store"
)

// Limits of a prompt's files.
const (
	MaxPromptFiles     = 32
	MaxPromptFileBytes = 20 << 20 // of one
	// MaxPromptFilesBytes bounds all together: a request has room for little more.
	MaxPromptFilesBytes = 40 << 20
	maxFileName         = 255 // bytes
	maxFilePath         = 4096
)

// PromptFileTypes are the media types that a prompt's files may have.
func PromptFileTypes() []string {
	return []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"}
}

// CheckFiles refuses files that cannot be admitted with a prompt: every one is a blob
// that is there, of a type that a prompt may have. A path must have been expanded by
// now. Errors are ErrInvalid, with the field in the text, or the store's own.
func CheckFiles(ctx context.Context, blobs store.Blobs, files []PromptFile) error {
	if len(files) > MaxPromptFiles {
		return fmt.Errorf("%w: prompt.files has %d files, the limit is %d; send fewer", ErrInvalid, len(files), MaxPromptFiles)
	}
	var sum int64
	for i, file := range files {
		if err := file.check(); err != nil {
			return fmt.Errorf("%w: prompt.files[%d].%w", ErrInvalid, i, err)
		}
		size, err := blobSize(ctx, blobs, file.Blob)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("%w: prompt.files[%d].blob: there is no blob %s; upload the file first", ErrInvalid, i, file.Blob)
		case err != nil:
			return fmt.Errorf("look at prompt.files[%d].blob: %w", i, err)
		case size > MaxPromptFileBytes:
			return fmt.Errorf("%w: prompt.files[%d].blob has %d bytes, the limit of one file is %d", ErrInvalid, i, size, MaxPromptFileBytes)
		}
		sum += size
	}
	if sum > MaxPromptFilesBytes {
		return fmt.Errorf("%w: prompt.files have %d bytes together, the limit is %d; send fewer or smaller ones", ErrInvalid, sum, MaxPromptFilesBytes)
	}
	return nil
}

// check looks at the fields alone. The text begins with the field's name.
func (f *PromptFile) check() error {
	if f.Path != "" && f.Blob == "" {
		return errors.New("path: a path is not read here; send expand, or upload the file and send its blob")
	}
	if len(f.Path) > maxFilePath || !utf8.ValidString(f.Path) || strings.ContainsFunc(f.Path, unreadable) {
		return fmt.Errorf("path is %q; it must be UTF-8 of at most %d bytes without control characters or line breaks", clip(f.Path), maxFilePath)
	}
	if f.Blob == "" {
		return errors.New("blob is missing; upload the file and send the digest that was answered")
	}
	if digest, err := hex.DecodeString(f.Blob); err != nil || len(digest) != 32 || strings.ToLower(f.Blob) != f.Blob {
		return fmt.Errorf("blob is %q; it must be a SHA-256 as 64 lower-case hex digits", clip(f.Blob))
	}
	if f.Mime == "" {
		return fmt.Errorf("mime is missing; it must be one of %s", strings.Join(PromptFileTypes(), ", "))
	}
	if !slices.Contains(PromptFileTypes(), f.Mime) {
		return fmt.Errorf("mime is %q; it must be one of %s", clip(f.Mime), strings.Join(PromptFileTypes(), ", "))
	}
	switch {
	case len(f.Name) > maxFileName:
		return fmt.Errorf("name has %d bytes, the limit is %d", len(f.Name), maxFileName)
	case !utf8.ValidString(f.Name):
		return errors.New("name is not valid UTF-8")
	case strings.ContainsFunc(f.Name, unreadable):
		return fmt.Errorf("name is %q; it must not have control characters or line breaks", clip(f.Name))
	}
	return nil
}

// unreadable is what a person does not see in a name, or sees in the wrong order.
func unreadable(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func blobSize(ctx context.Context, blobs store.Blobs, digest string) (int64, error) {
	reader, size, err := blobs.Open(ctx, digest)
	if err != nil {
		return 0, err
	}
	return size, reader.Close()
}
