package scaffold

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// noteFile says which SDK lies in a plugin's folder.
const noteFile = ".plinth/sdk.json"

// note is its form.
type note struct {
	SDK    string `json:"sdk"`    // go, rust or assemblyscript
	Plinth string `json:"plinth"` // the version of the program that it is from
	SHA256 string `json:"sha256"` // of the archive, in hexadecimal
}

func noteOf(family, version string) ([]byte, error) {
	digest, err := digestOf(family)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(note{SDK: family, Plinth: version, SHA256: digest}, "", "  ")
	return append(text, '\n'), err
}

func digestOf(family string) (string, error) {
	packed, err := archives.ReadFile("archives/" + family + ".zip")
	if err != nil {
		return "", fmt.Errorf("%s has no SDK %q: use one of go, rust, assemblyscript", noteFile, family)
	}
	digest := sha256.Sum256(packed)
	return hex.EncodeToString(digest[:]), nil
}

// State is how the SDK in a plugin's folder is.
type State struct {
	Unpacked bool   // false: the plugin has its SDK from elsewhere
	Version  string // of the program that unpacked it
	Current  bool   // it is the one of this program
}

// SDKState looks at the SDK in a plugin's folder. The error says that the note of it
// cannot be read.
func SDKState(folder string) (State, error) {
	known, err := readNote(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	digest, err := digestOf(known.SDK)
	return State{Unpacked: true, Version: known.Plinth, Current: digest == known.SHA256}, err
}

func readNote(folder string) (known note, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return known, err
	}
	defer root.Close()
	text, err := root.ReadFile(noteFile)
	if err != nil {
		return known, err
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return known, fmt.Errorf("%s: %w", noteFile, err)
	}
	return known, nil
}

// Renew puts this program's SDK in the place of the one in a plugin's folder.
func Renew(folder, version string) (err error) {
	known, err := readNote(folder)
	if err != nil {
		return err
	}
	content, err := sdkOf(known.SDK, version)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.RemoveAll(sdkFolder); err != nil {
		return err
	}
	return write(root, content)
}

// ErrExists is a folder that a new plugin cannot be written to.
var ErrExists = errors.New("is there already")

// Create writes a new plugin's folder: wholly, or not at all. What is there already stays
// as it is: the folder must not exist, or be empty.
func Create(folder string, content map[string][]byte) (err error) {
	folder, err = filepath.Abs(folder)
	if err != nil {
		return err
	}
	empty, err := isEmpty(folder)
	if err != nil {
		return err
	}
	parent := filepath.Dir(folder)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	made, err := os.MkdirTemp(parent, ".plinth-new-*") // beside it, so that renaming is all that is left
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	inside := filepath.Join(made, "plugin") // with the rights of any other folder, which made has not
	if err := os.Mkdir(inside, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		return err
	}
	err = errors.Join(write(root, content), root.Close())
	if err == nil && empty {
		err = os.Remove(folder)
	}
	if err != nil {
		return err
	}
	return os.Rename(inside, folder)
}

// isEmpty reports whether a folder is there, which must be empty then.
func isEmpty(folder string) (bool, error) {
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, fmt.Errorf("%s %w, and is no folder; name another one with --dir", folder, ErrExists)
	case err != nil:
		return false, err
	case len(entries) > 0:
		return false, fmt.Errorf("%s %w, and nothing is overwritten; name another folder with --dir", folder, ErrExists)
	}
	return true, nil
}

func write(root *os.Root, content map[string][]byte) error {
	for _, name := range sortedNames(content) {
		if at := strings.LastIndexByte(name, '/'); at > 0 {
			if err := root.MkdirAll(name[:at], 0o777); err != nil {
				return err
			}
		}
		if err := root.WriteFile(name, content[name], 0o666); err != nil {
			return err
		}
	}
	return nil
}

func sortedNames(content map[string][]byte) []string { return slices.Sorted(maps.Keys(content)) }
