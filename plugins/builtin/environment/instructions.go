package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

const (
	fileName = "AGENTS.md"
	// maxFile is the largest file that is told, in bytes.
	maxFile = 256 << 10
	// readChunk keeps what is in memory at a time small.
	readChunk = 64 << 10
)

// errUnreadable is a file that was found and cannot be read.
var errUnreadable = errors.New("an instruction file cannot be read")

// observeInstructions tells the operator's file first, then the project's from the
// working directory up to the root: the nearest first.
func observeInstructions(o abi.ContextObserve) (abi.SourceState, error) {
	var files []instruction
	for _, at := range candidates(o.Location) {
		file, found, err := load(o.Location, at)
		if errors.Is(err, errUnreadable) {
			host.Log("warn", err.Error())
			return source.Unavailable(instructionsKey), nil
		} else if err != nil {
			return abi.SourceState{}, err
		}
		if found && !slices.ContainsFunc(files, func(known instruction) bool { return known.path == file.path }) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return source.Absent(instructionsKey), nil
	}
	texts := source.Texts{
		Baseline: render(files),
		Removed:  "The instruction files told earlier no longer apply: none of them is there any more.",
	}
	if previous, ok := readValue(o.Previous[instructionsKey]); ok && !slices.EqualFunc(previous, files, same) {
		texts.Update = "The instruction files have changed. These are all that apply now; they supersede every instruction file told earlier.\n\n" + texts.Baseline
	}
	return source.Value(instructionsKey, value(files), texts)
}

func render(files []instruction) string {
	texts := make([]string, len(files))
	for i, file := range files {
		texts[i] = "Instructions from: " + file.path + "\n" + file.text
	}
	return strings.Join(texts, "\n\n")
}

// candidates lists where a file may be. A working directory outside of the
// project's root has the operator's file alone.
func candidates(location abi.Location) []abi.Path {
	paths := []abi.Path{{Root: "config", Path: fileName}}
	below, inside := strings.CutPrefix(location.Directory+"/", strings.TrimSuffix(location.Root, "/")+"/")
	if !inside {
		return paths
	}
	for directory := strings.Trim(below, "/"); ; {
		if directory == "" {
			return append(paths, abi.Path{Root: "project", Path: fileName})
		}
		paths = append(paths, abi.Path{Root: "project", Path: directory + "/" + fileName})
		directory = directory[:max(strings.LastIndexByte(directory, '/'), 0)]
	}
}

// load reads one candidate. One that is not there, is a directory or has nothing
// in it is not found.
func load(location abi.Location, at abi.Path) (file instruction, found bool, err error) {
	info, err := host.Stat(at)
	switch {
	case err != nil && plinth.KindOf(err) == abi.KindNotFound:
		return file, false, nil
	case err != nil && plinth.KindOf(err) == abi.KindDenied:
		return withheld(shownPath(location, at.Root, at.Path)), true, nil
	case err != nil:
		return file, false, fmt.Errorf("%w: %s: %w", errUnreadable, at.Path, err)
	case info.Kind != abi.FileRegular:
		return file, false, nil
	}
	file.path = shownPath(location, at.Root, info.Path)
	if info.Size > maxFile {
		file.text = fmt.Sprintf("(This file has %d bytes. Instruction files of more than %d bytes are left out; ask the user to shorten it.)", info.Size, maxFile)
		file.digest = sha256Hex(file.text)
		return file, true, nil
	}
	if file.text, err = readAll(at); err != nil && plinth.KindOf(err) == abi.KindDenied {
		return withheld(file.path), true, nil
	} else if err != nil {
		return file, false, fmt.Errorf("%w: %s: %w", errUnreadable, at.Path, err)
	}
	file.digest = sha256Hex(file.text)
	return file, strings.TrimSpace(file.text) != "", nil
}

// withheld stands for a file that the permission rules keep from this source. It
// is told, because a user who wrote the file expects it to be followed.
func withheld(path string) instruction {
	text := "(This file is there, but the permission rules do not allow it to be read without asking. If it matters, read it with a tool, or ask the user.)"
	return instruction{path: path, digest: sha256Hex(text), text: text}
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
			return strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd")), nil
		case len(text) > maxFile:
			return "", fmt.Errorf("it grew beyond %d bytes while it was read", maxFile)
		}
	}
}

// shownPath is absolute for a project's file; the operator's folder has no path
// that a model could use.
func shownPath(location abi.Location, root, path string) string {
	if root == "config" {
		return path + " of the user's configuration"
	}
	return strings.TrimSuffix(location.Root, "/") + "/" + path
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
