package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// ErrFiles is wrapped by every error about a section of files that is malformed.
var ErrFiles = errors.New("the packed files are damaged")

// EncodeFiles answers the content of a section of files: for each, by ascending name,
// the name and the content, both behind their length. Nil stands for no files.
func EncodeFiles(files map[string][]byte) []byte {
	var encoded []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		encoded = appendPrefixed(encoded, []byte(name))
		encoded = appendPrefixed(encoded, files[name])
	}
	return encoded
}

func appendPrefixed(to, data []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(data))), data...)
}

// DecodeFiles reads what EncodeFiles wrote, and nothing that it would not have
// written: names are valid paths as io/fs has them, and ascend. The files share the
// section's memory. Errors wrap ErrFiles.
func DecodeFiles(section []byte) (map[string][]byte, error) {
	files, previous := map[string][]byte{}, ""
	for at := 0; at < len(section); {
		name, after, err := prefixed(section, at)
		if err != nil {
			return nil, fmt.Errorf("%w: a name at byte %d is cut", ErrFiles, at)
		}
		content, end, err := prefixed(section, after)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: the file at byte %d is cut", ErrFiles, after)
		case !fs.ValidPath(string(name)) || string(name) == ".":
			return nil, fmt.Errorf("%w: %q is not the path of a file in the plugin's folder", ErrFiles, name)
		case string(name) <= previous:
			return nil, fmt.Errorf("%w: %q stands behind %q; the names ascend", ErrFiles, name, previous)
		}
		files[string(name)], previous, at = content, string(name), end
	}
	return files, nil
}
