package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

func blobFile(dir, digest string) string {
	return filepath.Join(dir, "blobs", digest[:2], digest[2:])
}

// age makes a file older than the grace.
func age(t testing.TB, path string) {
	t.Helper()
	then := time.Now().Add(-2 * sqlite.SweepGrace)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, s *sqlite.Store, text string) string {
	t.Helper()
	digest, err := s.Blobs().Put(t.Context(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestSweepRemovesWhatNothingNames(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	named, escaped, inLarge, inValue, free, young := put(t, s, "named"), put(t, s, "escaped"), put(t, s, "in large"), put(t, s, "in value"), put(t, s, "free"), put(t, s, "young")
	events := []store.Event{newEvent(), newEvent(), newEvent()}
	events[0].Data = fmt.Appendf(nil, `{"blob":%q}`, named)
	events[1].Data = fmt.Appendf(nil, `{"blob":"\u%04x%s"}`, escaped[0], escaped[1:])
	events[2].Data = fmt.Appendf(nil, `["%s","sha256:%s"]`, strings.Repeat("z", 20<<10), inLarge) // a blob itself
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_a", Events: events}); err != nil {
		t.Fatal(err)
	}
	if err := s.KV().Set(t.Context(), "plugin", "key", []byte("ff"+inValue)); err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, dir) {
		age(t, path)
	}
	if err := os.WriteFile(filepath.Join(dir, "blobs", "unfinished", "left"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, filepath.Join(dir, "blobs", "unfinished", "left"))
	put(t, s, "young")

	swept, err := s.Sweep(t.Context(), sqlite.SweepGrace)
	if err != nil || swept != (sqlite.Swept{Old: 6, Removed: 1, Bytes: 4}) {
		t.Errorf("swept %+v, %v", swept, err)
	}
	for digest, there := range map[string]bool{named: true, escaped: true, inLarge: true, inValue: true, young: true, free: false} {
		if _, err := s.Blobs().Get(t.Context(), digest); (err == nil) != there {
			t.Errorf("blob %s: %v", digest, err)
		}
	}
	if left := glob(t, filepath.Join(dir, "blobs", "unfinished", "..", "..")); len(left) != 6 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "blobs", "unfinished", "left")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half file: %v", err)
	}
	if events := strings.Count(contents(t, s), "\n"); events != 3 {
		t.Errorf("%d events", events)
	}
}

func glob(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSweepAfterADeletion(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	fillStore(t, s, "ses_a", 3)
	fillStore(t, s, "ses_b", 6)
	if err := errors.Join(s.Delete(t.Context(), "ses_b"), s.Purge(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, dir) {
		age(t, path)
	}
	if swept, err := s.Sweep(t.Context(), sqlite.SweepGrace); err != nil || swept.Removed != 1 { // the other one both had
		t.Errorf("swept %+v, %v", swept, err)
	}
	contents(t, s)
}

func TestSweepRemovesNothingWhenItCannotRead(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	free := put(t, s, "free")
	fillStore(t, s, "ses_a", 1)
	for _, path := range glob(t, dir) {
		age(t, path)
		if path != blobFile(dir, free) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if swept, err := s.Sweep(t.Context(), sqlite.SweepGrace); !errors.Is(err, store.ErrNotFound) || swept.Removed != 0 {
		t.Errorf("swept %+v, %v", swept, err)
	}
}

func TestAnOpenedBlobIsYoungAgain(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	digest := put(t, s, "looked at")
	age(t, blobFile(dir, digest))
	reader, _, err := s.Blobs().Open(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if swept, err := s.Sweep(t.Context(), sqlite.SweepGrace); err != nil || swept.Old != 0 {
		t.Errorf("swept %+v, %v", swept, err)
	}
}

// TestSweepAndPutAtOnce: what a put has answered can be read, however a sweep of old
// files runs beside it.
func TestSweepAndPutAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Sweep(ctx, sqlite.SweepGrace); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	removed := 0
	for n := range 400 {
		text := fmt.Sprint(n % 5)
		digest := put(t, s, text)
		if _, err := s.Blobs().Get(t.Context(), digest); err != nil {
			t.Fatalf("put %d: %v", n, err)
		}
		age(t, blobFile(dir, digest))
		if _, err := os.Stat(blobFile(dir, digest)); err != nil {
			removed++
		}
	}
	stop()
	group.Wait()
	swept, err := s.Sweep(t.Context(), sqlite.SweepGrace)
	if err != nil {
		t.Fatal(err)
	}
	if removed+swept.Removed == 0 {
		t.Error("nothing was ever removed, so this shows nothing")
	}
}
