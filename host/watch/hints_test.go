package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestHints(t *testing.T) {
	folder := t.TempDir()
	hints, err := NewHints()
	if err != nil {
		t.Fatal(err)
	}
	if err := hints.Add(folder); err != nil {
		t.Fatal(err)
	}
	if err := hints.Add(filepath.Join(folder, "none")); err == nil {
		t.Error("a directory that is not there is watched")
	}
	path := filepath.Join(folder, "a.src")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(10 * time.Second)
	defer timer.Stop()
	for told := false; !told; {
		select {
		case hint := <-hints.C():
			told = hint.Name == path && !Quiet(hint)
		case err := <-hints.Lost():
			t.Fatal(err)
		case <-timer.C:
			t.Fatal("nothing is told")
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for told := false; !told; {
		select {
		case hint := <-hints.C():
			told = Quiet(hint)
		case <-timer.C:
			t.Fatal("the change of its mode is not told")
		}
	}
	if err := hints.Close(); err != nil {
		t.Error(err)
	}
}

// Without a watcher there is nothing to wait for.
func TestNoHints(t *testing.T) {
	var none *Hints
	if none.C() != nil || none.Lost() != nil || none.Close() != nil {
		t.Error("nil hints tell something")
	}
}
