package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plinthhost/plinth/cmd/host/config"
)

// Whatever is found beside the file, instructions for one, is found from every
// folder.
func TestTheFileIsNamedAbsolutely(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.WriteFile("mine.toml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(folder, "mine.toml")
	for name, sources := range map[string]config.Sources{
		"flag":     {Environ: []string{"HOME=" + folder}, Flags: config.Overrides{File: "mine.toml"}},
		"variable": {Environ: []string{"HOME=" + folder, "PLINTH_CONFIG=./mine.toml"}},
	} {
		loaded, err := config.Load(sources)
		if err != nil || loaded.File != want {
			t.Errorf("%s: %q, %v; want %q", name, loaded.File, err, want)
		}
	}
}
