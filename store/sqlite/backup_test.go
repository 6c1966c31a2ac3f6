package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

var noted = sqlite.BackupOptions{Plinth: "test", Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}

// largeEvent has data that is kept as a blob.
func largeEvent(n int) store.Event {
	e := newEvent()
	e.Data = fmt.Appendf(nil, `"%d %s"`, n, strings.Repeat("x", 20<<10))
	return e
}

func fillStore(t *testing.T, s *sqlite.Store, aggregate string, count int) {
	t.Helper()
	for n := range count {
		e := newEvent()
		if n%3 == 0 {
			e = largeEvent(n)
		}
		if _, err := s.Append(t.Context(), store.Batch{Aggregate: aggregate, Events: []store.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
}

// contents reads everything a store has, blobs included, as text.
func contents(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	var all strings.Builder
	after := int64(0)
	for {
		page, err := s.Feed(t.Context(), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			fmt.Fprintf(&all, "%d %s %d %s %d\n", e.Position, e.Aggregate, e.Seq, e.ID, len(e.Data))
			after = e.Position
		}
		if !page.More {
			return all.String()
		}
	}
}

func TestABackupIsRestored(t *testing.T) {
	s := mustOpen(t, countOptions(t.TempDir()))
	fillStore(t, s, "ses_a", 10)
	want := contents(t, s)
	folder, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	manifest, err := s.Backup(t.Context(), folder, noted)
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Log != s.ID() || manifest.Blobs.Count != 4 || manifest.Plinth != "test" {
		t.Errorf("manifest %+v", manifest)
	}
	fillStore(t, s, "ses_a", 2) // of this the backup knows nothing
	restored, err := sqlite.Restore(t.Context(), folder, dir)
	if err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, countOptions(dir))
	if got := contents(t, again); got != want {
		t.Errorf("restored:\n%s\nwant:\n%s", got, want)
	}
	if again.ID() == s.ID() || again.ID() != restored.Log || restored.From.Log != s.ID() {
		t.Errorf("the log is %s, told as %+v; it was %s", again.ID(), restored, s.ID())
	}
	// It goes on: positions ascend, and the lease is a later one.
	written, err := again.Append(t.Context(), store.Batch{Aggregate: "ses_a", Mode: store.Exactly(9), Events: []store.Event{newEvent()}})
	if err != nil || written[0].Position != 11 {
		t.Errorf("appended %+v, %v", written, err)
	}
	if fence, err := again.Acquire(t.Context(), "ses_a"); err != nil || fence < 2 {
		t.Errorf("fence %d, %v", fence, err)
	}
	for _, path := range []string{folder, dir} {
		err := filepath.WalkDir(path, func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestABackupOfAStoreInUseNamesNoMissingBlob(t *testing.T) {
	s := mustOpen(t, countOptions(t.TempDir()))
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := s.Append(ctx, store.Batch{Aggregate: fmt.Sprint("ses_", w), Events: []store.Event{largeEvent(n*4 + w), newEvent()}}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 5 {
		folder, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
		if _, err := s.Backup(t.Context(), folder, noted); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Restore(t.Context(), folder, dir); err != nil {
			t.Fatal(err)
		}
		again := openStore(t, countOptions(dir))
		events := strings.Count(contents(t, again), "\n") // reads every blob
		total := 0
		err := again.View(t.Context(), func(tx store.Tx) error {
			return tx.QueryRow(t.Context(), `SELECT coalesce(sum(total), 0) FROM test_count`).Scan(&total)
		})
		if err != nil || total != events {
			t.Errorf("backup %d has %d events and tables of %d, %v", n, events, total, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	group.Wait()
}

func TestABackupWithoutAHost(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, countOptions(dir))
	fillStore(t, s, "ses_a", 4)
	folder := filepath.Join(t.TempDir(), "backup")
	var held *sqlite.LockedError
	if _, err := sqlite.Backup(t.Context(), dir, folder, noted); !errors.As(err, &held) {
		t.Errorf("of a store that is open: %v", err)
	}
	want := contents(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Backup(t.Context(), dir, folder, noted); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "data")
	if _, err := sqlite.Restore(t.Context(), folder, to); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, mustOpen(t, countOptions(to))); got != want {
		t.Errorf("restored:\n%s\nwant:\n%s", got, want)
	}
	if _, err := sqlite.Backup(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "b"), noted); err == nil || !strings.Contains(err.Error(), "there is no store") {
		t.Errorf("of an empty folder: %v", err)
	}
}

func TestBackupFoldersThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(used, "a")
	for folder, want := range map[string]string{used: "has files already", filepath.Join(dir, "backup"): "in the data folder itself", dir: "in the data folder itself",
		file: "cannot be made", filepath.Join(file, "under"): "cannot be made"} {
		var refused *sqlite.BackupError
		if _, err := s.Backup(t.Context(), folder, noted); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

func TestADamagedBlobIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	digest, err := s.Blobs().Put(t.Context(), []byte("whole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "blobs", digest[:2], digest[2:]), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	manifest, err := s.Backup(t.Context(), folder, noted)
	if err != nil || manifest.Blobs.Count != 0 || len(manifest.Damaged) != 1 || manifest.Damaged[0] != digest {
		t.Errorf("manifest %+v, %v", manifest, err)
	}
	if _, err := sqlite.Restore(t.Context(), folder, filepath.Join(t.TempDir(), "data")); err != nil {
		t.Error(err)
	}
}

// TestAMissingBlobIsNamed: the backup has the rest, and can be restored.
func TestAMissingBlobIsNamed(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	fillStore(t, s, "ses_a", 4) // two blobs
	inspected, err := s.Inspect(t.Context(), false)
	if err != nil || inspected.Blobs != 2 || inspected.Missing != nil {
		t.Fatalf("%+v, %v", inspected, err)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "*"))
	if err != nil || len(blobs) != 2 {
		t.Fatal(blobs, err)
	}
	if err := os.Remove(blobs[0]); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Base(filepath.Dir(blobs[0])) + filepath.Base(blobs[0])}
	folder := filepath.Join(t.TempDir(), "backup")
	manifest, err := s.Backup(t.Context(), folder, noted)
	if diff := cmp.Diff(want, manifest.Missing); err != nil || diff != "" || manifest.Blobs.Count != 1 || manifest.Damaged != nil {
		t.Errorf("manifest %+v, %v\n%s", manifest, err, diff)
	}
	restored, err := sqlite.Restore(t.Context(), folder, filepath.Join(t.TempDir(), "data"))
	if diff := cmp.Diff(want, restored.From.Missing); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestABackupInTheDataFolderByAnotherName is refused: names do not count, folders do.
func TestABackupInTheDataFolderByAnotherName(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := mustOpen(t, countOptions(dir))
	link := filepath.Join(outside, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(outside, "deep")
	if err := os.Symlink(filepath.Join(dir, "sub"), deep); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{link, filepath.Join(link, "backup"), filepath.Join(link, "a", "b"), deep, filepath.Join(deep, "backup")} {
		var refused *sqlite.BackupError
		if _, err := s.Backup(t.Context(), folder, noted); !errors.As(err, &refused) || !strings.Contains(err.Error(), "in the data folder itself") {
			t.Errorf("%s: %v", folder, err)
		}
	}
	// A link out of the data folder leads outside.
	out := filepath.Join(dir, "out")
	if err := os.Symlink(outside, out); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(t.Context(), filepath.Join(out, "backup"), noted); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := sqlite.Backup(t.Context(), link, filepath.Join(dir, "backup"), noted); err == nil {
		t.Error("the data folder has another name, and the backup lies in it")
	}
}

func TestBackupsThatAreRefused(t *testing.T) {
	s := mustOpen(t, countOptions(t.TempDir()))
	fillStore(t, s, "ses_a", 4)
	digest, err := s.Blobs().Put(t.Context(), []byte("a value"))
	if err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join("blobs", digest[:2], digest[2:])
	flip := func(path string, at int) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			content, err := os.ReadFile(filepath.Join(folder, path))
			if err != nil {
				t.Fatal(err)
			}
			content[at] ^= 1
			rewrite(t, filepath.Join(folder, path), content)
		}
	}
	replace := func(old, with string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			content, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
			if err != nil || !bytes.Contains(content, []byte(old)) {
				t.Fatalf("no %s in %s, %v", old, content, err)
			}
			rewrite(t, filepath.Join(folder, "manifest.json"), bytes.Replace(content, []byte(old), []byte(with), 1))
		}
	}
	for name, test := range map[string]struct {
		damage func(t *testing.T, folder string)
		want   string
	}{
		"no manifest":   {func(_ *testing.T, folder string) { os.Remove(filepath.Join(folder, "manifest.json")) }, "has no manifest.json"},
		"other format":  {replace("plinth.backup", "tar"), "none of a backup"},
		"newer version": {replace(`"version": 1`, `"version": 2`), "this program reads 1"},
		"more fields":   {replace(`"version": 1`, `"version": 1, "x": 1`), "cannot be read"},
		"database":      {flip("plinth.db", 5000), "plinth.db does not have the sum"},
		"blob":          {flip(blob, 0), "does not have the sum of its name"},
		"blob gone":     {func(_ *testing.T, folder string) { os.Remove(filepath.Join(folder, blob)) }, "it has 2 blobs"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
			if _, err := s.Backup(t.Context(), folder, noted); err != nil {
				t.Fatal(err)
			}
			test.damage(t, folder)
			var refused *sqlite.BackupError
			if _, err := sqlite.Restore(t.Context(), folder, dir); !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// rewrite replaces a file, which may be a link, by another one.
func rewrite(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFoldersThatAreNotRestoredInto(t *testing.T) {
	s := mustOpen(t, countOptions(t.TempDir()))
	folder := filepath.Join(t.TempDir(), "backup")
	if _, err := s.Backup(t.Context(), folder, noted); err != nil {
		t.Fatal(err)
	}
	running := t.TempDir()
	mustOpen(t, countOptions(running))
	var held *sqlite.LockedError
	if _, err := sqlite.Restore(t.Context(), folder, running); !errors.As(err, &held) {
		t.Errorf("a host runs: %v", err)
	}
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Restore(t.Context(), folder, used); err == nil || !strings.Contains(err.Error(), "has files already") {
		t.Errorf("a folder in use: %v", err)
	}
	// One that is empty is taken, whatever a killed restore left beside it.
	empty := filepath.Join(t.TempDir(), "data")
	left := filepath.Join(filepath.Dir(empty), ".data.restoring")
	for _, path := range []string{empty, filepath.Join(left, "blobs", "ab")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sqlite.Restore(t.Context(), folder, empty); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left is there still: %v", err)
	}
	if _, err := os.Stat(filepath.Join(empty, "blobs", "ab")); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a killed restore left came into the folder")
	}
}

// backUp backs the store up and restores it, again and again, until it is killed.
func backUp(s *sqlite.Store) error {
	for n := range 300 {
		e := largeEvent(n)
		if _, err := s.Append(context.Background(), store.Batch{Aggregate: "ses_a", Events: []store.Event{e}}); err != nil {
			return err
		}
	}
	root := os.Getenv("PLINTH_STORE_DIR") + "-copies"
	for n := range 1000 {
		folder := filepath.Join(root, fmt.Sprint(n))
		fmt.Println("backup")
		if _, err := s.Backup(context.Background(), filepath.Join(folder, "backup"), noted); err != nil {
			return err
		}
		fmt.Println("restore")
		if _, err := sqlite.Restore(context.Background(), filepath.Join(folder, "backup"), filepath.Join(folder, "data")); err != nil {
			return err
		}
	}
	return nil
}

// TestKilledBackups kills a process somewhere in its backups and restores: what is
// there is whole or refused.
func TestKilledBackups(t *testing.T) {
	for kill := range 8 {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.MkdirAll(dir+"-copies", 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := childCommand(t, "backup", dir)
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(output)
		for seen := 0; lines.Scan(); seen++ {
			if seen == kill {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		expectWhole(t, dir+"-copies")
	}
}

func expectWhole(t *testing.T, root string) {
	t.Helper()
	copies, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range copies {
		folder := filepath.Join(root, one.Name())
		dir := filepath.Join(folder, "data")
		_, restored := os.Stat(dir)
		if restored != nil {
			var refused *sqlite.BackupError
			switch _, err := sqlite.Restore(t.Context(), filepath.Join(folder, "backup"), dir); {
			case errors.As(err, &refused) && strings.Contains(err.Error(), "was not finished"):
				continue
			case err != nil:
				t.Errorf("backup %s: %v", one.Name(), err)
				continue
			}
		}
		s := openStore(t, countOptions(dir))
		if events := strings.Count(contents(t, s), "\n"); events != 300 {
			t.Errorf("copy %s has %d events", one.Name(), events)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
