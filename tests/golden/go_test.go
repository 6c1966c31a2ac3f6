//go:build !race

// The detector makes compiling modules of this size twenty times as slow;
// tests/conformance watches guests of Go under it.

package golden

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/plugin"
)

// The examples in Go, one of each kind, do the same when the Go toolchain builds them in
// the place of TinyGo.
func TestExamplesBuiltByGoDoWhatIsRecorded(t *testing.T) {
	engine := newEngine(t)
	kinds := map[string]bool{}
	for name, one := range plugins(t) {
		if _, err := os.Stat(filepath.Join(one.folder, "go.mod")); one.builtin || err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			candidate, err := plugin.Unpacked(builtByGo(t, one.folder))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries(candidate.Manifest) {
				kinds[entry] = true
			}
			goldens, err := candidate.Goldens()
			if err != nil {
				t.Fatal(err)
			}
			proofs, err := plugin.Prove(t.Context(), engine, candidate, goldens)
			if err != nil || len(proofs) != len(goldens) {
				t.Fatalf("%d of %d goldens were run: %v", len(proofs), len(goldens), err)
			}
			for _, proof := range proofs {
				if proof.Err != nil {
					t.Error(proof.Err)
				}
			}
		})
	}
	if len(kinds) != 6 {
		t.Errorf("the examples in Go have only %v", kinds)
	}
}

// builtByGo is a copy of a plugin's folder with the module that Go gives.
func builtByGo(t *testing.T, folder string) string {
	t.Helper()
	copied := t.TempDir()
	err := os.CopyFS(copied, os.DirFS(folder))
	if err == nil {
		var old []string
		old, err = filepath.Glob(filepath.Join(copied, "*.wasm"))
		for _, module := range old {
			if err == nil {
				err = os.Remove(module)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(copied, "guest.wasm"), ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, strings.TrimSpace(string(out)))
	}
	return copied
}
