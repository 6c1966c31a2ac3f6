// Command edit is the plugin core/edit: the tools write, edit and apply_patch, which
// change text files for the model. The host asks for permission, keeps paths inside the
// location and makes all changes of a call together, comparing each file with what was
// read of it first; this side works out what the files shall hold.
package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// Limits, in bytes.
const (
	maxFile  = 4 << 20 // of a file, before and after
	maxPatch = 1 << 20 // of a patch
	maxTotal = 8 << 20 // of all files of a patch
)

// maxReplacements is the most occurrences that one edit replaces.
const maxReplacements = 100_000

func init() {
	tool.Register("write", write)
	tool.Register("edit", edit)
	tool.Register("apply_patch", applyPatch)
	plinth.Prepare(func() error {
		for _, sample := range []any{written{}, edited{}, patched{Files: make([]patchedFile, 1)}} {
			if _, err := json.Marshal(sample); err != nil {
				return err
			}
		}
		return nil
	})
}

func main() {}

// checkPath refuses what is no path, before the host is asked.
func checkPath(path string) error {
	switch {
	case path == "":
		return plinth.Errorf(abi.KindInvalidInput, "path is missing")
	case strings.ContainsRune(path, 0):
		return plinth.Errorf(abi.KindInvalidInput, "path has a NUL character in it")
	}
	return nil
}

// messageOf is what an error says, without its kind.
func messageOf(err error) string {
	if failure, ok := errors.AsType[*abi.Error](err); ok {
		return failure.Message
	}
	return err.Error()
}

// kindOf is the kind of an error, "" of none.
func kindOf(err error) abi.Kind {
	if err == nil {
		return ""
	}
	return plinth.KindOf(err)
}
