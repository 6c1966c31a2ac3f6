package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultMaxFiles is how many recordings a folder holds.
const DefaultMaxFiles = 64

const (
	extension = ".jsonl"
	partial   = ".recording-" // begins the name of a file that is being written
	stamp     = "20060102T150405.000000000Z"
)

// Folder keeps recordings as files of mode 0600, named by time, plugin, export, call
// and whether it failed. When there are too many, the oldest go. It is a Sink, and
// the only one that may write to the folder.
type Folder struct {
	path string
	most int

	mu sync.Mutex
}

// Entry is a recording in a folder.
type Entry struct {
	Path   string
	Time   time.Time // when the call began
	Plugin string    // as in the name: its slash is "~", as is what a name cannot have
	Export string    // likewise
	Call   string    // likewise; "-" for none
	Failed bool
}

// OpenFolder makes the folder, with mode 0700, where it is missing. At most so many
// recordings are kept; 0 is DefaultMaxFiles.
func OpenFolder(path string, most int) (*Folder, error) {
	if most <= 0 {
		most = DefaultMaxFiles
	}
	f := &Folder{path: path, most: most}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open the folder of recordings: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(path, partial+"*"))
	for _, name := range left { // of a host that ended in the middle
		err = errors.Join(err, os.Remove(name))
	}
	if err = errors.Join(err, f.prune()); err != nil {
		return nil, fmt.Errorf("open the folder of recordings: %w", err)
	}
	return f, nil
}

// LookInto answers a folder of recordings that another program keeps: to read, not to
// keep anything in.
func LookInto(path string) *Folder { return &Folder{path: path, most: DefaultMaxFiles} }

// Keep writes a recording.
func (f *Folder) Keep(recording *Recording) error {
	text, err := recording.Encode()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.write(recording, text); err != nil {
		return fmt.Errorf("write a recording: %w", err)
	}
	if err := f.prune(); err != nil {
		return fmt.Errorf("remove old recordings: %w", err)
	}
	return nil
}

// write leaves the whole file or none.
func (f *Folder) write(recording *Recording, text []byte) (err error) {
	file, err := os.CreateTemp(f.path, partial+"*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	name := ""
	for again := 0; ; again++ {
		name = filepath.Join(f.path, fileName(recording, again))
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
	}
	return os.Rename(file.Name(), name)
}

// fileName sorts by time. again tells recordings of the same call and time apart.
func fileName(r *Recording, again int) string {
	at := strings.Replace(r.Time.UTC().Format(stamp), ".", "-", 1)
	call, outcome := namePart(r.Call), "ok"
	if again > 0 {
		call = fmt.Sprintf("%s~%d", call, again)
	}
	if r.End.Failed {
		outcome = "failed"
	}
	return strings.Join([]string{at, namePart(r.Plugin), namePart(r.Entry), call, outcome}, ".") + extension
}

const maxNamePart = 48

// namePart makes text a part of a file's name.
func namePart(text string) string {
	if text == "" {
		return "-"
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '~'
	}, text)
	return text[:min(len(text), maxNamePart)]
}

// entry reads a name; ok is false for a file that is none of ours.
func (f *Folder) entry(name string) (entry Entry, ok bool) {
	parts := strings.Split(strings.TrimSuffix(name, extension), ".")
	if len(parts) != 5 || !strings.HasSuffix(name, extension) || parts[4] != "ok" && parts[4] != "failed" {
		return Entry{}, false
	}
	day, fraction, _ := strings.Cut(parts[0], "-")
	at, err := time.Parse(stamp, day+"."+fraction)
	return Entry{Path: filepath.Join(f.path, name), Time: at, Plugin: parts[1], Export: parts[2], Call: parts[3],
		Failed: parts[4] == "failed"}, err == nil
}

// List answers the recordings, the newest first.
func (f *Folder) List() ([]Entry, error) {
	files, err := os.ReadDir(f.path)
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	var entries []Entry
	for _, file := range files {
		if entry, ok := f.entry(file.Name()); ok {
			entries = append(entries, entry)
		}
	}
	slices.Reverse(entries) // ReadDir sorts by name, so by time
	return entries, nil
}

// Of answers the recordings of an entry of a plugin, the newest first.
func (f *Folder) Of(plugin, entry string) ([]Entry, error) {
	entries, err := f.List()
	return slices.DeleteFunc(entries, func(one Entry) bool { return one.Plugin != namePart(plugin) || one.Export != namePart(entry) }), err
}

// ErrNone is the answer where no recording fits.
var ErrNone = errors.New("no such recording")

// Last answers the newest recording of a call of the plugin. ErrNone where there is none.
func (f *Folder) Last(plugin string) (Entry, error) {
	entries, err := f.List()
	if err != nil {
		return Entry{}, err
	}
	for _, entry := range entries {
		if entry.Plugin == namePart(plugin) {
			return entry, nil
		}
	}
	return Entry{}, fmt.Errorf("a call of %s: %w", plugin, ErrNone)
}

// LastFailing answers the newest recording of a call of the plugin that failed, of
// any plugin where the id is empty. ErrNone where there is none.
func (f *Folder) LastFailing(plugin string) (Entry, error) {
	entries, err := f.List()
	if err != nil {
		return Entry{}, err
	}
	for _, entry := range entries {
		if entry.Failed && (plugin == "" || entry.Plugin == namePart(plugin)) {
			return entry, nil
		}
	}
	if plugin != "" {
		return Entry{}, fmt.Errorf("a failing call of %s: %w", plugin, ErrNone)
	}
	return Entry{}, fmt.Errorf("a failing call: %w", ErrNone)
}

// prune removes the oldest.
func (f *Folder) prune() error {
	entries, err := f.List()
	if err != nil {
		return err
	}
	for _, entry := range entries[min(f.most, len(entries)):] {
		err = errors.Join(err, os.Remove(entry.Path))
	}
	return err
}
