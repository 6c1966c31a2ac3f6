package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// moduleExt is how the name of a module ends.
const moduleExt = ".wasm"

// fingerprint tells one state of an entry from another without reading its files. The
// zero fingerprint is that of what is not there.
type fingerprint [sha256.Size]byte

// look is an entry as it was found.
type look struct {
	state  fingerprint
	newest time.Time // of the times of its files
	whole  bool      // its modules are complete
}

// maxFiles is how many files of a plugin's folder are looked at.
const maxFiles = 4096

// lookAt looks at an entry: a module, or a folder with the files in it and in the
// folders of it.
func lookAt(path string) look {
	l := &looking{look: look{whole: true}}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return look{whole: true}
	case info.IsDir():
		l.note("/", path, info)
		l.folder(path, "", true)
	case strings.HasSuffix(path, moduleExt):
		l.note("", path, info)
	default:
		return look{whole: true}
	}
	l.state = sha256.Sum256(l.text)
	return l.look
}

type looking struct {
	look
	text  []byte // what the fingerprint is of
	files int
}

func (l *looking) folder(path, prefix string, deeper bool) {
	entries, err := os.ReadDir(path)
	if err != nil {
		l.text = fmt.Appendf(l.text, "%s: %v\n", prefix, reason(err))
	}
	for _, entry := range entries {
		name := entry.Name()
		if Ignored(name) {
			continue
		}
		if l.files++; l.files > maxFiles {
			return
		}
		inside := filepath.Join(path, name)
		info, err := os.Stat(inside)
		switch {
		case err != nil:
			l.text = fmt.Appendf(l.text, "%s%s: %v\n", prefix, name, reason(err))
		case !info.IsDir():
			l.note(prefix+name, inside, info)
		case deeper:
			l.folder(inside, prefix+name+"/", false)
		}
	}
}

// note adds a file. The time of its last change is part of it: it moves even where
// size, name and time of writing are made to stay.
func (l *looking) note(name, path string, info fs.FileInfo) {
	if info.IsDir() { // its files are noted one by one
		l.text = fmt.Appendf(l.text, "%s %s\n", name, info.Mode().Type())
		return
	}
	inode, changed := uint64(0), info.ModTime()
	if system, ok := info.Sys().(*syscall.Stat_t); ok {
		inode, changed = system.Ino, changeTime(system)
	}
	if changed.After(l.newest) {
		l.newest = changed
	}
	l.text = fmt.Appendf(l.text, "%s %s %d %d %d %d\n", name, info.Mode().Type(), info.Size(), info.ModTime().UnixNano(), inode, changed.UnixNano())
	if strings.HasSuffix(path, moduleExt) && info.Mode().IsRegular() && !wholeModule(path, info.Size()) {
		l.whole = false
	}
}

// reason is a file's error without its path.
func reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// Ignored reports whether a name is one that editors and tools give to what they will
// take away again: hidden files, backups, swap and temporary files.
func Ignored(name string) bool {
	switch {
	case name == "" || name[0] == '.' || name[0] == '#', name == "4913": // vim tries whether it may write
		return true
	}
	for _, end := range []string{"~", ".swp", ".swo", ".swx", ".tmp", ".temp", ".part", ".crdownload", ".bak"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
