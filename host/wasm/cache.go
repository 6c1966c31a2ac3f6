package wasm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	mode := found.Mode().Perm()
	if mode&0o077 != 0 {
		return fmt.Errorf("the compilation cache %s has mode %#o, others could plant code in it; chmod 700 it", dir, mode)
	}
	if mode&0o700 != 0o700 {
		return fmt.Errorf("the compilation cache %s has mode %#o, the engine must read and write it; chmod 700 it", dir, mode)
	}
	if stat, ok := found.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the compilation cache %s belongs to user %d; remove it or configure another", dir, stat.Uid)
	}
	return nil
}

// cacheFolder is where one module, told by the digest of its core, is kept, metered and
// compiled: a folder of its own, so that a damaged or unused one can be dropped alone. Empty without a cache. What it
// holds depends on the meter and on this format, too; the compiler keeps its
// versions apart itself.
func (e *Engine) cacheFolder(digest string) string {
	if e.options.CacheDir == "" {
		return ""
	}
	return filepath.Join(e.options.CacheDir, fmt.Sprintf("%s-%d.%d", digest, cacheFormat, meter.Version))
}

// cacheFormat changes with what prepared holds, and with the form of metered code.
const cacheFormat = 4

// codeFolder of a module's folder is the compiler's own: nothing else writes into
// it. It appears whole, with its seal.
const (
	codeFolder      = "code"
	sealFile        = "sum"
	compilingPrefix = "compiling-" // folders of code that is not whole yet
)

// errTorn is machine code that is not what was put into the cache.
var errTorn = errors.New("the machine code does not match its sum")

// publish makes a folder of machine code the module's. The one of another process
// that was quicker is as good.
func publish(made, code string) error {
	sum, err := sumOf(made)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(made, sealFile), []byte(sum), 0o600); err != nil {
		return err
	}
	if err := os.RemoveAll(code); err != nil {
		return err
	}
	if err := os.Rename(made, code); err != nil && checkSeal(code) != nil {
		return err
	}
	return nil
}

// checkSeal fails with fs.ErrNotExist when there is no machine code, and with
// errTorn when it is damaged: the compiler's own check leaves the entries of
// functions out, and code entered at the wrong place may do anything.
func checkSeal(code string) error {
	sealed, err := os.ReadFile(filepath.Join(code, sealFile))
	if err != nil {
		return err
	}
	sum, err := sumOf(code)
	if err == nil && sum != string(sealed) {
		err = errTorn
	}
	return err
}

// coded says whether a module's folder seems to hold machine code.
func coded(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, codeFolder, sealFile))
	return err == nil
}

// sumOf is the digest of the files in the folders of a folder.
func sumOf(folder string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, path := range paths { // in order
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		for _, part := range [][]byte{[]byte(strings.TrimPrefix(path, folder)), data} {
			hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			hash.Write(part)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
