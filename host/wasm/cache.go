package wasm

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// cacheFolder is where one module's code is kept: a folder of its own, so that a
// damaged one can be dropped alone. Empty without a cache.
func (e *Engine) cacheFolder(info Info) string {
	if e.options.CacheDir == "" {
		return ""
	}
	return filepath.Join(e.options.CacheDir, info.Digest)
}
