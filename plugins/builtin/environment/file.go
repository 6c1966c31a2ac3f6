package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

const (
	// maxFile is the largest file that is told, in bytes.
	maxFile = 256 << 10
	// readChunk keeps what is in memory at a time small.
	readChunk = 64 << 10
)

// beside adds the instruction file of a folder: the first of the names that is there.
func (g *gathering) beside(root, folder string, names []string) error {
	for _, name := range names {
		if folder != "" {
			name = folder + "/" + name
		}
		found, err := g.add(abi.Path{Root: root, Path: name})
		if found || err != nil {
			return err
		}
	}
	return nil
}

// add reads one file and reports whether there is one, whatever becomes of it: one
// that another source tells, or that is empty, adds nothing. A directory is not found.
func (g *gathering) add(at abi.Path) (found bool, err error) {
	info, err := host.Stat(at)
	switch {
	case err != nil && plinth.KindOf(err) == abi.KindNotFound:
		return false, nil
	case err != nil && plinth.KindOf(err) == abi.KindDenied:
		g.withhold(g.shown(at.Root, at.Path))
		return true, nil
	case err != nil:
		return false, unreadable(at, err)
	case info.Kind != abi.FileRegular:
		return false, nil
	}
	return true, g.read(at, info)
}

// read adds a file that is there.
func (g *gathering) read(at abi.Path, info abi.FileInfo) error {
	path := g.shown(at.Root, info.Path)
	if g.told[path] {
		return nil
	}
	g.told[path] = true
	if info.Size > maxFile {
		g.say(path, fmt.Sprintf("(This file has %d bytes. Instruction files of more than %d bytes are left out; ask the user to shorten it.)", info.Size, maxFile))
		return nil
	}
	if !g.room(path, info.Size) {
		return nil
	}
	text, err := readAll(at)
	switch {
	case err != nil && plinth.KindOf(err) == abi.KindDenied:
		g.withhold(path)
	case err != nil:
		return unreadable(at, err)
	case text != "":
		g.put(instruction{path: path, digest: sha256Hex(text), text: text})
	}
	return nil
}

func unreadable(at abi.Path, err error) error {
	return fmt.Errorf("an instruction file cannot be read: %s: %w", at.Path, err)
}

// withhold names a file that the permission rules keep from this source. It is told,
// because a user who wrote the file expects it to be followed.
func (g *gathering) withhold(path string) {
	g.say(path, "(This file is there, but the permission rules do not allow it to be read without asking. If it matters, read it with a tool, or ask the user.)")
}

// say puts a text of ours in the place of a file's.
func (g *gathering) say(path, text string) {
	g.told[path] = true
	if g.room(path, int64(len(text))) {
		g.put(instruction{path: path, digest: sha256Hex(text), text: text})
	}
}

func readAll(at abi.Path) (string, error) {
	var text []byte
	for {
		part, err := host.Read(abi.FSRead{Path: at, Offset: int64(len(text)), Length: readChunk})
		if err != nil {
			return "", err
		}
		text = append(text, part.Data...)
		switch {
		case part.EOF || len(part.Data) == 0:
			return clean(text), nil
		case len(text) > maxFile:
			return "", fmt.Errorf("it grew beyond %d bytes while it was read", maxFile)
		}
	}
}

// clean is the text of a file: UTF-8, without white space around it.
func clean(text []byte) string {
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd"))
}

// shown is how the model can name a file: absolute, but for the user's folder, which it
// has no path to.
func (g *gathering) shown(root, path string) string {
	switch root {
	case "config":
		return path + " of the user's configuration"
	case "operator":
		return "/" + strings.TrimPrefix(path, "/")
	}
	return strings.TrimSuffix(g.location.Root, "/") + "/" + path
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
