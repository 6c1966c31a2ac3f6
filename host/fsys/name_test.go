package fsys

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStoredName stands in for a file system that folds case: a file found under
// a spelling that its directory does not list.
func TestStoredName(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Secret.env"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := openFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	stat, err := dir.stat("Secret.env")
	if err != nil {
		t.Fatal(err)
	}
	found := idOf(stat)
	// sECRET.ENV answers in the other case, so the directory is asked.
	for _, spelling := range []string{"Secret.env", "sECRET.ENV"} {
		if stored, err := storedName(dir, spelling, found); stored != "Secret.env" || err != nil {
			t.Errorf("%s is stored as %q, %v", spelling, stored, err)
		}
	}
	// A second name of the same file is a file of its own name.
	if err := os.Link(filepath.Join(folder, "Secret.env"), filepath.Join(folder, "sECRET.ENV")); err != nil {
		t.Skip("this file system folds case:", err)
	}
	if stored, err := storedName(dir, "sECRET.ENV", found); stored != "sECRET.ENV" || err != nil {
		t.Errorf("the hard link is stored as %q, %v", stored, err)
	}
}
