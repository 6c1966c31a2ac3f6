package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// TestLock: a second process, and a second opener in the same one, are told who
// holds the store; when the holder is gone they may.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	cmd := childCommand(t, "hold", dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(stdout).ReadString('\n'); said != "open\n" {
		t.Fatalf("the child said %q, %v", said, err)
	}
	_, err = sqlite.Open(t.Context(), countOptions(dir))
	var locked *sqlite.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("open: %v, want a LockedError", err)
	}
	host, _ := os.Hostname()
	if locked.PID != cmd.Process.Pid || locked.Host != host || time.Since(locked.Since) > time.Hour || locked.Path != filepath.Join(dir, "lock") {
		t.Errorf("the holder is %+v", locked)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child: %v", err)
	}
	s := mustOpen(t, countOptions(dir))
	if _, err := sqlite.Open(t.Context(), countOptions(dir)); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("second opener in one process: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, countOptions(dir))
}

func TestPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := mustOpen(t, countOptions(dir))
	big := newEvent()
	big.Data = []byte(`"` + strings.Repeat("x", 20<<10) + `"`)
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_0", Events: []store.Event{big}}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || seen < 8 {
		t.Errorf("%d files and folders, %v", seen, err)
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, countOptions(shared))
	for path, want := range map[string]fs.FileMode{shared: 0o755, filepath.Join(shared, "plinth.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

// TestNewerStore: a program older than the store refuses it, names both versions
// and changes nothing.
func TestNewerStore(t *testing.T) {
	t.Run("format", func(t *testing.T) {
		dir := makeStoreIn(t, countOptions(t.TempDir()))
		alter(t, dir, `PRAGMA user_version = 99`)
		expectNewer(t, countOptions(dir), &sqlite.FormatError{Path: filepath.Join(dir, "plinth.db"), Line: "format", Found: 99, Known: 1})
	})
	t.Run("migration line", func(t *testing.T) {
		newer := countOptions(t.TempDir())
		older := newer
		newer.Migrations = []sqlite.Migration{{Name: "count", FS: fstest.MapFS{
			"001_count.sql": {Data: []byte("-- +goose Up\n" + countSchema + ";\n")},
			"007_more.sql":  {Data: []byte("-- +goose Up\nALTER TABLE test_count ADD COLUMN more INTEGER;\n")},
		}}}
		dir := makeStoreIn(t, newer)
		expectNewer(t, older, &sqlite.FormatError{Path: filepath.Join(dir, "plinth.db"), Line: "count", Found: 7, Known: 1})
		makeStoreIn(t, newer)
	})
}

func expectNewer(t *testing.T, options sqlite.Options, want *sqlite.FormatError) {
	t.Helper()
	_, err := sqlite.Open(t.Context(), options)
	var newer *sqlite.FormatError
	if !errors.As(err, &newer) {
		t.Fatalf("open: %v, want a FormatError", err)
	}
	if diff := cmp.Diff(want, newer); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// makeStoreIn opens and closes a store.
func makeStoreIn(t *testing.T, options sqlite.Options) (dir string) {
	t.Helper()
	if err := openStore(t, options).Close(); err != nil {
		t.Fatal(err)
	}
	return options.Dir
}

// alter changes a closed store from outside.
func alter(t *testing.T, dir, statement string) {
	t.Helper()
	db := sqlite.OpenDatabase(filepath.Join(dir, "plinth.db"))
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestMigrations: lines run in order, once, and a later file is added to a store
// with content.
func TestMigrations(t *testing.T) {
	options := countOptions(t.TempDir())
	s := openStore(t, options)
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_0", Events: []store.Event{newEvent()}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := options.Migrations[0].FS.(fstest.MapFS)
	files["002_more.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nALTER TABLE test_count ADD COLUMN more INTEGER NOT NULL DEFAULT 5;\n")}
	second := line("second", `CREATE VIEW both AS SELECT aggregate, total + more AS sum FROM test_count`)
	options.Migrations = append(options.Migrations, second)
	s = mustOpen(t, options)
	err := s.View(t.Context(), func(tx store.Tx) error {
		var sum int
		if err := tx.QueryRow(t.Context(), `SELECT sum FROM both`).Scan(&sum); err != nil || sum != 6 {
			t.Errorf("sum %d, %v", sum, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRefusedOptions(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	valid := countSchema
	broken := line("broken", `CREATE TABLE`)
	cases := map[string]sqlite.Options{
		"no folder":     {},
		"group":         {Dir: dir, MaxGroup: -1},
		"line's name":   {Dir: dir, Migrations: []sqlite.Migration{line("Kernel; DROP", valid)}},
		"line twice":    {Dir: dir, Migrations: []sqlite.Migration{line("a", valid), line("a", valid)}},
		"line is ours":  {Dir: dir, Migrations: []sqlite.Migration{line("store", valid)}},
		"no files":      {Dir: dir, Migrations: []sqlite.Migration{{Name: "a"}}},
		"empty files":   {Dir: dir, Migrations: []sqlite.Migration{{Name: "a", FS: fstest.MapFS{}}}},
		"wrong SQL":     {Dir: dir, Migrations: []sqlite.Migration{broken}},
		"no number":     {Dir: dir, Migrations: []sqlite.Migration{{Name: "a", FS: fstest.MapFS{"first.sql": {}}}}},
		"not a folder":  {Dir: file},
		"in a dead end": {Dir: "/dev/null/x"},
	}
	for name, options := range cases {
		s, err := sqlite.Open(t.Context(), options)
		if err == nil {
			t.Errorf("%s: opened", name)
			s.Close()
		}
	}
	mustOpen(t, countOptions(dir)) // what failed has left neither lock nor half a store
}

// TestOpenCancelled: the context bounds the opening, not the store.
func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := sqlite.Open(ctx, countOptions(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Append(t.Context(), store.Batch{Aggregate: "ses_0", Events: []store.Event{newEvent()}}); err != nil {
		t.Errorf("append after the opening's context ended: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnfinishedBlobs: what a crash left of a blob is removed.
func TestUnfinishedBlobs(t *testing.T) {
	dir := makeStoreIn(t, countOptions(t.TempDir()))
	left := filepath.Join(dir, "blobs", "unfinished", "123")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, countOptions(dir))
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
