package wasm

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/plinthhost/plinth/host/wasm/meter"
)

// privateFolder makes dir, or checks that nobody but its owner, this process's
// user, can enter it: the code in it is mapped and run.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the compilation cache: %w", err)
	}
	found, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the compilation cache: %w", err)
	}
	if !found.IsDir() {
		return fmt.Errorf("the compilation cache %s is not a folder; remove it", dir)
	}
	if mode := found.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("the compilation cache %s has mode %#o, others could plant code in it; chmod 700 it", dir, mode)
	}
	if stat, ok := found.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the compilation cache %s belongs to user %d; remove it or configure another", dir, stat.Uid)
	}
	return nil
}

// cacheFolder is where one module is kept, metered and compiled: a folder of its
// own, so that a damaged one can be dropped alone. Empty without a cache. What it
// holds depends on the meter and on this format, too; the compiler keeps its
// versions apart itself.
func (e *Engine) cacheFolder(digest string) string {
	if e.options.CacheDir == "" {
		return ""
	}
	return filepath.Join(e.options.CacheDir, fmt.Sprintf("%s-%d.%d", digest, cacheFormat, meter.Version))
}

// cacheFormat changes with what prepared holds.
const cacheFormat = 1

// dropCode removes machine code from a module's folder: the folders in it are the
// compiler's.
func dropCode(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("drop the cached code: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
				return fmt.Errorf("drop the cached code: %w", err)
			}
		}
	}
	return nil
}

// coded says whether a module's folder holds machine code.
func coded(folder string) bool {
	code, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	return err == nil && len(code) > 0
}
