package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store/sqlite"
)

// kept are the options of a backup with a folder.
func kept(folders ...string) sqlite.BackupOptions {
	options := noted
	options.Folders = folders
	return options
}

// filesOf reads a folder's files by name.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

func TestFoldersAreBackedUpAndRestored(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, countOptions(dir))
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(filepath.Join(plugins, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.wasm": "one", "b.wasm": "two two"}
	for name, content := range want {
		rewriteNew(t, filepath.Join(plugins, name), content)
	}
	rewriteNew(t, filepath.Join(plugins, ".unfinished-1"), "half")
	folder, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	manifest, err := s.Backup(t.Context(), folder, kept("plugins", "none"))
	if err != nil {
		t.Fatal(err)
	}
	if sum := manifest.Folders["plugins"]; len(manifest.Folders) != 1 || sum.Count != 2 || sum.Bytes != 10 || len(sum.SHA256) != 64 {
		t.Errorf("%+v", manifest.Folders)
	}
	// What comes and goes afterwards is nothing to the backup.
	if err := os.Remove(filepath.Join(plugins, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Restore(t.Context(), folder, restored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, filesOf(t, filepath.Join(restored, "plugins"))); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(restored, "plugins", "b.wasm")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// A store without the folder has a backup without it.
	plain := filepath.Join(t.TempDir(), "backup")
	if manifest, err := mustOpen(t, countOptions(t.TempDir())).Backup(t.Context(), plain, kept("plugins")); err != nil || manifest.Folders != nil {
		t.Errorf("%+v, %v", manifest, err)
	}
	if _, err := sqlite.Restore(t.Context(), plain, filepath.Join(t.TempDir(), "data")); err != nil {
		t.Error(err)
	}
}

func rewriteNew(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFoldersOfBackupsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, folder string)
		want   string
	}{
		"another content": {func(t *testing.T, folder string) { rewrite(t, filepath.Join(folder, "plugins", "a"), []byte("x")) },
			"is damaged: plugins has 1 files of 1 bytes that are not the 1 of 1 bytes which the manifest names; take another backup"},
		"one gone": {func(t *testing.T, folder string) { os.Remove(filepath.Join(folder, "plugins", "a")) }, "plugins has 0 files of 0 bytes"},
		"one more": {func(t *testing.T, folder string) { rewriteNew(t, filepath.Join(folder, "plugins", "b"), "b") }, "plugins has 2 files of 2 bytes"},
		"a way out": {func(t *testing.T, folder string) {
			manifest := filepath.Join(folder, "manifest.json")
			content, err := os.ReadFile(manifest)
			if err != nil {
				t.Fatal(err)
			}
			rewrite(t, manifest, bytes.Replace(content, []byte(`"plugins"`), []byte(`"../plugins"`), 1))
		}, `has a manifest.json that names the folder "../plugins"`},
	} {
		t.Run(name, func(t *testing.T) {
			source := t.TempDir()
			s := mustOpen(t, countOptions(source))
			if err := os.MkdirAll(filepath.Join(source, "plugins"), 0o700); err != nil {
				t.Fatal(err)
			}
			rewriteNew(t, filepath.Join(source, "plugins", "a"), "a")
			folder, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
			if _, err := s.Backup(t.Context(), folder, kept("plugins")); err != nil {
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
