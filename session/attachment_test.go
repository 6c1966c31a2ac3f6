package session_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// blobs are a store's own, in a temporary folder.
func blobs(t *testing.T) store.Blobs {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened.Blobs()
}

func TestCheckFiles(t *testing.T) {
	kept := blobs(t)
	put := func(size int, fill string) string {
		digest, err := kept.Put(t.Context(), []byte(strings.Repeat(fill, size)))
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	small, whole, more := put(10, "s"), put(session.MaxPromptFileBytes, "w"), put(session.MaxPromptFileBytes+1, "m")
	png := session.PromptFile{Blob: small, Mime: "image/png", Name: "häuser (1).png"}
	with := func(change func(*session.PromptFile)) []session.PromptFile {
		file := png
		change(&file)
		return []session.PromptFile{png, file}
	}
	many := func(n int) []session.PromptFile {
		files := make([]session.PromptFile, n)
		for i := range files {
			files[i] = png
		}
		return files
	}
	largest := session.PromptFile{Blob: whole, Mime: "application/pdf"}
	for name, test := range map[string]struct {
		files []session.PromptFile
		want  string // what the error says; empty for none
	}{
		"none":             {nil, ""},
		"32":               {many(32), ""},
		"33":               {many(33), "prompt.files has 33 files, the limit is 32"},
		"two large ones":   {[]session.PromptFile{largest, largest}, ""},
		"three large ones": {[]session.PromptFile{largest, largest, largest}, "prompt.files have 62914560 bytes together, the limit is 41943040"},
		"a larger one":     {with(func(f *session.PromptFile) { f.Blob = more }), "prompt.files[1].blob has 20971521 bytes, the limit of one file is 20971520"},
		"a path":           {with(func(f *session.PromptFile) { f.Path, f.Blob = "/etc/passwd", "" }), "prompt.files[1].path: a path is not read here"},
		"no blob":          {with(func(f *session.PromptFile) { f.Blob = "" }), "prompt.files[1].blob is missing"},
		"no digest":        {with(func(f *session.PromptFile) { f.Blob = "../../lock" }), `prompt.files[1].blob is "../../lock"; it must be a SHA-256`},
		"a short digest":   {with(func(f *session.PromptFile) { f.Blob = small[2:] }), "it must be a SHA-256"},
		"upper case":       {with(func(f *session.PromptFile) { f.Blob = strings.ToUpper(small) }), "it must be a SHA-256"},
		"unknown blob":     {with(func(f *session.PromptFile) { f.Blob = strings.Repeat("0", 64) }), "prompt.files[1].blob: there is no blob 0000"},
		"no mime":          {with(func(f *session.PromptFile) { f.Mime = "" }), "prompt.files[1].mime is missing; it must be one of image/png, "},
		"another mime":     {with(func(f *session.PromptFile) { f.Mime = "image/svg+xml" }), `prompt.files[1].mime is "image/svg+xml"; it must be one of image/png, `},
		"parameters":       {with(func(f *session.PromptFile) { f.Mime = "text/plain; charset=utf-8" }), "it must be one of"},
		"no name":          {with(func(f *session.PromptFile) { f.Name = "" }), ""},
		"a line break":     {with(func(f *session.PromptFile) { f.Name = "a\nb" }), `prompt.files[1].name is "a\nb"; it must not have control characters`},
		"an escape":        {with(func(f *session.PromptFile) { f.Name = "\x1b[2J" }), "it must not have control characters"},
		"right to left":    {with(func(f *session.PromptFile) { f.Name = "gnp\u202e.exe" }), "it must not have control characters"},
		"no UTF-8":         {with(func(f *session.PromptFile) { f.Name = "\xff" }), "prompt.files[1].name is not valid UTF-8"},
		"a long name":      {with(func(f *session.PromptFile) { f.Name = strings.Repeat("n", 256) }), "prompt.files[1].name has 256 bytes, the limit is 255"},
	} {
		err := session.CheckFiles(t.Context(), kept, test.files)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %s", name, err, test.want)
		}
	}
	for _, mime := range session.PromptFileTypes() {
		if err := session.CheckFiles(t.Context(), kept, with(func(f *session.PromptFile) { f.Mime = mime })); err != nil {
			t.Errorf("%s: %v", mime, err)
		}
	}
}

// brokenBlobs cannot be read.
type brokenBlobs struct{ store.Blobs }

func (brokenBlobs) Open(context.Context, string) (io.ReadSeekCloser, int64, error) {
	return nil, 0, store.ErrClosed
}

// A store that fails is not the caller's mistake.
func TestCheckFilesTellsOfTheStore(t *testing.T) {
	err := session.CheckFiles(t.Context(), brokenBlobs{}, []session.PromptFile{{Blob: strings.Repeat("0", 64), Mime: "image/png"}})
	if !errors.Is(err, store.ErrClosed) || errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "prompt.files[0].blob") {
		t.Error(err)
	}
}
