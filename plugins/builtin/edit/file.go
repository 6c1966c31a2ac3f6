package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// byteOrderMark may stand in front of a text. Tools work behind it.
const byteOrderMark = "\ufeff"

// absent is what a change expects where no file may be.
const absent = "absent"

// file is a file as it was read.
type file struct {
	path    string // canonical, as the host names it
	digest  string // of all of it, as fs.commit expects it
	content []byte
}

// load reads a whole file.
func load(path string) (file, error) {
	var f file
	for {
		part, err := host.Read(abi.FSRead{Path: abi.Path{Path: path}, Offset: int64(len(f.content))})
		if err != nil {
			return file{}, err
		}
		if size := max(part.Info.Size, int64(len(f.content)+len(part.Data))); size > maxFile {
			return file{}, plinth.Errorf(abi.KindLimit, "%s has %d bytes; files of at most %d can be changed here", path, size, maxFile)
		}
		f.path = part.Info.Path
		if f.content == nil {
			f.content = part.Data
		} else {
			f.content = append(f.content, part.Data...)
		}
		if part.EOF || len(part.Data) == 0 {
			break
		}
	}
	sum := sha256.Sum256(f.content)
	f.digest = hex.EncodeToString(sum[:])
	return f, nil
}

// loadText reads a file that must be text.
func loadText(path, otherwise string) (file, error) {
	f, err := load(path)
	switch {
	case kindOf(err) == abi.KindNotFound:
		return file{}, plinth.Errorf(abi.KindNotFound, "%s does not exist; %s", path, otherwise)
	case err != nil:
		return file{}, err
	case bytes.IndexByte(f.content, 0) >= 0:
		return file{}, plinth.Errorf(abi.KindInvalidInput, "%s is a binary file; only text can be edited", path)
	}
	return f, nil
}

// mark is the byte-order mark of the file, or "".
func (f file) mark() string {
	if bytes.HasPrefix(f.content, []byte(byteOrderMark)) {
		return byteOrderMark
	}
	return ""
}

// crlf reports whether all lines of the file end in CRLF, and there is one.
func (f file) crlf() bool {
	ends := bytes.Count(f.content, []byte("\r\n"))
	return ends > 0 && ends == bytes.Count(f.content, []byte("\n"))
}

// text is what stands behind the byte-order mark.
func (f file) text() string { return strings.TrimPrefix(string(f.content), byteOrderMark) }

// commitOne makes one change.
func commitOne(change host.Change) (abi.FSChanged, error) {
	committed, err := host.Commit("", change)
	if err != nil {
		return abi.FSChanged{}, err
	}
	if len(committed.Changes) != 1 {
		return abi.FSChanged{}, plinth.Errorf(abi.KindFailed, "the host told of %d changes, asked was for 1", len(committed.Changes))
	}
	changed := committed.Changes[0]
	if changed.Error != nil {
		return changed, changed.Error
	}
	return changed, nil
}

// maxAttempts is how often a change is worked out anew when others were faster.
const maxAttempts = 4

// retried tries again while try ends in a conflict over files that the rules let the
// tool change without asking: then the conflict is with another call, like a second edit
// of the same file, and nobody has decided on what was there before. Try names the files
// that it has read.
func retried(try func() (paths []string, err error)) error {
	for attempt := 1; ; attempt++ {
		paths, err := try()
		if kindOf(err) != abi.KindConflict || attempt == maxAttempts || !free(paths) {
			return err
		}
	}
}

// free reports whether the rules allow edits of all paths.
func free(paths []string) bool {
	if len(paths) == 0 {
		return false
	}
	effects, err := host.Check("edit", paths...)
	if err != nil {
		return false
	}
	for _, effect := range effects {
		if effect != "allow" {
			return false
		}
	}
	return true
}

// countLines counts lines, the last one with or without its end.
func countLines(text string) int {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return lines
}

// plural is "1 line" or "2 lines".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}
