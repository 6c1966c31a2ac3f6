package scaffold_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/plinthhost/plinth/host/author/scaffold"
)

var update = flag.Bool("update", false, "write the archives, as scripts/sdk does")

const root = "../../.."

// The program's archives are what the tree holds.
func TestArchivesAreTheTree(t *testing.T) {
	for _, source := range scaffold.Sources() {
		packed, err := source.Pack(os.DirFS(root))
		if err != nil {
			t.Error(err)
			continue
		}
		file := filepath.Join("archives", source.Name+".zip")
		if *update {
			if err := os.WriteFile(file, packed, 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, packed) {
			t.Errorf("%s is not what the tree holds (%v); run scripts/sdk and commit what it writes", file, err)
		}
	}
}
