package fsys_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
)

// show writes a listing as "name" or "name/", with what a link leads to.
func show(page []fsys.Info, folder string) []string {
	lines := make([]string, 0, len(page))
	for _, info := range page {
		line := info.Name
		if info.Directory {
			line += "/"
		}
		if info.Path != filepath.Join(folder, info.Name) {
			line += " -> " + info.Path
		}
		lines = append(lines, line)
	}
	return lines
}

func TestList(t *testing.T) {
	_, root, roots := tree(t)
	must(t, os.WriteFile(filepath.Join(root, "bad\xffname"), nil, 0o644))
	directory, err := roots.Open("location", ".")
	must(t, err)
	defer directory.Close()
	want := []string{"docs/", "in/ -> docs/deep", "in-abs/ -> docs", "self/ -> .", "slash/ -> docs/deep",
		"Case.txt", "go.mod", "in-file -> docs/a.md"}
	page, next, err := directory.List(t.Context(), 0, 0)
	must(t, err)
	if diff := cmp.Diff(want, show(page, ".")); diff != "" || next != 0 {
		t.Errorf("next %d, %s", next, diff)
	}

	// Page by page it is the same listing, from the same handle.
	var paged []string
	for offset := 0; ; {
		page, next, err := directory.List(t.Context(), offset, 3)
		must(t, err)
		paged = append(paged, show(page, ".")...)
		if next == 0 {
			break
		}
		if next != offset+3 {
			t.Fatalf("next %d after %d", next, offset)
		}
		offset = next
	}
	if diff := cmp.Diff(want, paged); diff != "" {
		t.Error(diff)
	}

	page, next, err = directory.List(t.Context(), 100, 0)
	if len(page) != 0 || next != 0 || err != nil {
		t.Errorf("past the end: %v, %d, %v", page, next, err)
	}
	_, _, err = directory.List(t.Context(), -1, 0)
	wantError(t, err, fsys.KindInvalid, "negative")
}

func TestListBelow(t *testing.T) {
	_, _, roots := tree(t)
	for path, want := range map[string][]string{
		"docs":       {"deep/", "empty/", "a.md", "back -> go.mod"},
		"docs/empty": {},
		"in":         {"b.md"},
	} {
		directory, err := roots.Open("location", path)
		must(t, err)
		page, _, err := directory.List(t.Context(), 0, 0)
		must(t, err)
		if diff := cmp.Diff(want, show(page, directory.Identity())); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		must(t, directory.Close())
	}
}

func TestListSizes(t *testing.T) {
	_, _, roots := tree(t)
	directory, err := roots.Open("location", "docs")
	must(t, err)
	defer directory.Close()
	page, _, err := directory.List(t.Context(), 2, 1)
	must(t, err)
	if len(page) != 1 || page[0].Path != "docs/a.md" || page[0].Size != 4 || page[0].Modified.IsZero() {
		t.Errorf("%+v", page)
	}
}

func TestListLargeAndCancelled(t *testing.T) {
	_, root, roots := tree(t)
	for i := range fsys.MaxPage + 5 {
		must(t, os.WriteFile(filepath.Join(root, "docs/empty", fmt.Sprintf("%05d", i)), nil, 0o644))
	}
	directory, err := roots.Open("location", "docs/empty")
	must(t, err)
	defer directory.Close()
	page, next, err := directory.List(t.Context(), 0, fsys.MaxPage+1)
	must(t, err)
	if len(page) != fsys.MaxPage || next != fsys.MaxPage || page[0].Name != "00000" {
		t.Errorf("%d entries, next %d", len(page), next)
	}
	page, next, err = directory.List(t.Context(), next, 0)
	must(t, err)
	if len(page) != 5 || next != 0 {
		t.Errorf("%d entries, next %d", len(page), next)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the turn was interrupted")
	cancel(reason)
	if _, _, err := directory.List(ctx, 0, 0); !errors.Is(err, reason) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkOpen(b *testing.B) {
	root := b.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a/b"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a/b/c.txt"), []byte("x"), 0o644); err != nil {
		b.Fatal(err)
	}
	roots, err := fsys.New(map[string]string{"location": root}, []string{b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		file, err := roots.Open("location", "a/b/c.txt")
		if err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}
