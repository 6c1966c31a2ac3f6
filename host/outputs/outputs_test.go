package outputs_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/outputs"
	"github.com/plinthhost/plinth/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestKeep(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data", "tool-output")
	files := outputs.New(outputs.Options{Folder: folder})
	var paths []string
	for _, text := range []string{"one", "", "two\n"} {
		path, err := files.Keep(t.Context(), "ses_1", text)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != text {
			t.Errorf("%s has %q, %v", path, content, err)
		}
		if filepath.Dir(path) != folder || session.CheckID(outputs.Prefix, filepath.Base(path)) != nil {
			t.Errorf("the path is %s", path)
		}
		paths = append(paths, path)
	}
	if !slices.IsSorted(paths) {
		t.Errorf("the names do not ascend: %v", paths)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// A folder that somebody opened to others is closed again, and one that somebody
// removed is made again.
func TestKeepMakesTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tool-output")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	files := outputs.New(outputs.Options{Folder: folder})
	for range 2 {
		if _, err := files.Keep(t.Context(), "ses_1", "text"); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeepFails(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := outputs.New(outputs.Options{Folder: folder}).Keep(t.Context(), "ses_1", "text"); err == nil || path != "" || !strings.Contains(err.Error(), "keep a tool's output") {
		t.Errorf("%q, %v", path, err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("over")
	cancel(cause)
	folder = t.TempDir()
	if path, err := outputs.New(outputs.Options{Folder: folder}).Keep(ended, "ses_1", "text"); !errors.Is(err, cause) || path != "" {
		t.Errorf("%q, %v", path, err)
	}
	if left := names(t, folder); left != nil {
		t.Errorf("left: %v", left)
	}
}

// Many at a time get files of their own.
func TestKeepTogether(t *testing.T) {
	folder := t.TempDir()
	files := outputs.New(outputs.Options{Folder: folder})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			text := strings.Repeat("x", i)
			path, err := files.Keep(t.Context(), "ses_1", text)
			if err != nil {
				t.Error(err)
				return
			}
			if content, err := os.ReadFile(path); err != nil || string(content) != text {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
	all.Wait()
	if kept := names(t, folder); len(kept) != 50 {
		t.Errorf("%d files", len(kept))
	}
}

// aged makes a file that changed so long ago.
func aged(t *testing.T, folder, name string, age time.Duration) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

const day = 24 * time.Hour

func TestClean(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		aged(t, folder, "tool_8days", 8*day)
		aged(t, folder, "tool_7days", 7*day+time.Second)
		aged(t, folder, "tool_almost", 7*day-30*time.Minute)
		aged(t, folder, "tool_6days", 6*day)
		aged(t, folder, "unrelated", 30*day)
		aged(t, folder, "elsewhere", 30*day)
		if err := os.Mkdir(filepath.Join(folder, "tool_folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(folder, "elsewhere"), filepath.Join(folder, "tool_link")); err != nil {
			t.Fatal(err)
		}
		files := outputs.New(outputs.Options{Folder: folder})
		files.Start(t.Context())
		files.Start(t.Context())
		synctest.Wait()
		rest := []string{"elsewhere", "tool_6days", "tool_almost", "tool_folder", "tool_link", "unrelated"}
		if diff := cmp.Diff(rest, names(t, folder)); diff != "" {
			t.Errorf("at start: %s", diff)
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(rest, names(t, folder)); diff != "" {
			t.Errorf("before an hour: %s", diff)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]string{"elsewhere", "tool_6days", "tool_folder", "tool_link", "unrelated"}, names(t, folder)); diff != "" {
			t.Errorf("after an hour: %s", diff)
		}
		for range 2 {
			if err := files.Close(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(30 * day)
		if kept := names(t, folder); !slices.Contains(kept, "tool_6days") {
			t.Errorf("cleaned after Close: %v", kept)
		}
		files.Start(t.Context())
		synctest.Wait()
		if kept := names(t, folder); !slices.Contains(kept, "tool_6days") {
			t.Errorf("started after Close: %v", kept)
		}
	})
}

func TestCleanKeepsAsLongAsConfigured(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		aged(t, folder, "tool_2days", 2*day)
		aged(t, folder, "tool_now", 0)
		files := outputs.New(outputs.Options{Folder: folder, Keep: day})
		files.Start(t.Context())
		synctest.Wait()
		if diff := cmp.Diff([]string{"tool_now"}, names(t, folder)); diff != "" {
			t.Error(diff)
		}
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A folder that cannot be read is the operator's to know, and stops nothing; one that
// is missing is nothing.
func TestCleanGoesOn(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, warns := range map[string]bool{file: true, filepath.Join(base, "missing"): false} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			files := outputs.New(outputs.Options{Folder: folder, Logger: hclog.New(&hclog.LoggerOptions{Output: &said})})
			files.Start(t.Context())
			synctest.Wait()
			if err := files.Close(); err != nil {
				t.Error(err)
			}
			if got := strings.Contains(said.String(), "[WARN]"); got != warns {
				t.Errorf("%s: %s", folder, said.String())
			}
		})
	}
	if _, err := os.Stat(filepath.Join(base, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("cleaning makes the folder")
	}
}

func TestCloseWithoutStart(t *testing.T) {
	if err := outputs.New(outputs.Options{Folder: t.TempDir()}).Close(); err != nil {
		t.Error(err)
	}
}
