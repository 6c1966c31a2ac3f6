package conformance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// The sources of the Go guests, those that Extism's set puts in their place, and the
// SDK.
const (
	goGuests = "guests/go"
	goExtism = "guests/go/extism"
	goSDK    = "../../sdk-plugins/go"
)

// buildGo builds a guest with the Go toolchain that runs the tests; the build cache
// keeps it for the next run.
func buildGo(folder, set, half string) ([]byte, error) {
	file := filepath.Join(folder, set+"-"+half+".wasm")
	args := []string{"build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file}
	if set == "extism" {
		overlay, err := writeOverlay(folder, half)
		if err != nil {
			return nil, fmt.Errorf("lay Extism's files over the Go SDK: %w", err)
		}
		args = append(args, "-overlay", overlay)
	}
	build := exec.Command("go", append(args, "./"+half)...)
	build.Dir = goGuests
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Go guest %s for the %s set: %w\n%s", half, set, err, out)
	}
	return os.ReadFile(file)
}

// writeOverlay writes what -overlay reads: every file of guests/go/extism stands in for
// the one of the same place, go.mod and go.sum beside the guests and the rest in the
// SDK.
func writeOverlay(folder, half string) (file string, err error) {
	replace := map[string]string{}
	stand := func(original, by string) error {
		var paths [2]string
		for i, path := range []string{original, by} {
			if paths[i], err = filepath.Abs(path); err != nil {
				return err
			}
		}
		replace[paths[0]] = paths[1]
		return nil
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := stand(filepath.Join(goGuests, name), filepath.Join(goExtism, name)); err != nil {
			return "", err
		}
	}
	sources := filepath.Join(goExtism, "sdk")
	err = filepath.WalkDir(sources, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		within, err := filepath.Rel(sources, path)
		if err != nil {
			return err
		}
		return stand(filepath.Join(goSDK, within), path)
	})
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(folder, "overlay-"+half+".json")
	return file, os.WriteFile(file, encoded, 0o600)
}
