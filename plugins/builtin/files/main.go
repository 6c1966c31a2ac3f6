// Command files is the plugin core/files: the tool read, which shows the model a
// page of a text file or of a directory, an image or a PDF document. The host asks for permission, keeps paths
// inside the location and refuses what is no file; this side makes pages.
package main

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// Limits of a page, so that it stays, with its note, within the 2,000 lines and 51,200
// bytes that the host shows the model of any answer.
const (
	maxLines  = 1900
	maxBytes  = 50_000
	maxRunes  = 2000 // of a line
	cutSuffix = "... (line truncated to 2000 chars)"
)

func init() {
	tool.Register("read", read)
	plinth.Prepare(func() error { _, err := json.Marshal(result{}); return err })
}

func main() {}

// input is the tool's input. Offset counts lines of a file, or entries of a
// directory, from 1.
type input struct {
	Path   string `json:"path"`
	Offset *int64 `json:"offset"`
	Limit  *int64 `json:"limit"`
}

// result is the structured output. Next is the offset to go on from; Count is how
// many lines or entries are shown.
type result struct {
	Type      string `json:"type"` // "file" or "directory"
	Path      string `json:"path"`
	Offset    int64  `json:"offset"`
	Count     int64  `json:"count"`
	Truncated bool   `json:"truncated"` // there is more
	Next      int64  `json:"next,omitempty"`
	Size      int64  `json:"size,omitempty"` // of the whole file, in bytes
	Mime      string `json:"mime,omitempty"` // of a file that is shown and not read
}

func read(_ tool.Call, in input) (tool.Output, error) {
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	info, err := host.Stat(abi.Path{Path: in.Path})
	if err != nil {
		return tool.Output{}, in.explain(err)
	}
	var output tool.Output
	switch {
	case info.Kind == abi.FileDirectory:
		output, err = in.directory(info)
	case in.Offset == nil && in.Limit == nil && info.Size <= maxBytes:
		output, err = in.whole(info)
	default:
		output, err = in.page(info)
	}
	return output, in.explain(err)
}

func (in input) check() error {
	switch {
	case in.Path == "":
		return plinth.Errorf(abi.KindInvalidInput, "path is missing; \".\" is the working directory")
	case strings.ContainsRune(in.Path, 0):
		return plinth.Errorf(abi.KindInvalidInput, "path has a NUL character in it")
	case in.Offset != nil && *in.Offset < 1:
		return plinth.Errorf(abi.KindInvalidInput, "offset is %d; it counts from 1", *in.Offset)
	case in.Offset != nil && *in.Offset > math.MaxInt32:
		return plinth.Errorf(abi.KindInvalidInput, "offset is %d; it is at most %d", *in.Offset, math.MaxInt32)
	case in.Limit != nil && (*in.Limit < 1 || *in.Limit > maxLines):
		return plinth.Errorf(abi.KindInvalidInput, "limit is %d; it is at least 1 and at most %d", *in.Limit, maxLines)
	}
	return nil
}

func (in input) offset() int64 {
	if in.Offset == nil {
		return 1
	}
	return *in.Offset
}

// room is how many bytes a page may have beside a note that names the path.
func room(path string) int { return min(maxBytes, 51_000-len(path)) }

func (in input) limit() int64 {
	if in.Limit == nil {
		return maxLines
	}
	return *in.Limit
}

// explain names the path in what the host said of it.
func (in input) explain(err error) error {
	if err != nil && plinth.KindOf(err) == abi.KindNotFound {
		return plinth.Errorf(abi.KindNotFound, "%s does not exist", in.Path)
	}
	return err
}

func (in input) pastEnd(what string, count int64) error {
	return plinth.Errorf(abi.KindInvalidInput, "offset %d is past the end of %s, which has %d %s", in.offset(), in.Path, count, what)
}
