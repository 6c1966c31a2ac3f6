package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNetworkRefused: the refusal names the file system and comes before
// anything is made; the nearest folder that exists is the one that is asked.
func TestNetworkRefused(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "a", "data")
	var asked string
	_, err := open(t.Context(), Options{Dir: dir}, func(path string) (string, error) {
		asked = path
		return "NFS", nil
	})
	var network *NetworkError
	if !errors.As(err, &network) || network.System != "NFS" || network.Dir != dir {
		t.Errorf("open: %v, want a NetworkError", err)
	}
	if asked != parent {
		t.Errorf("asked for %s, want %s", asked, parent)
	}
	if _, err := os.Stat(filepath.Join(parent, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	own := errors.New("own")
	if _, err := open(t.Context(), Options{Dir: dir}, func(string) (string, error) { return "", own }); !errors.Is(err, own) {
		t.Errorf("open: %v", err)
	}
	if kind, err := networkKind(parent); kind != "" || err != nil {
		t.Errorf("the folder of temporary files is on %q, %v", kind, err)
	}
}
