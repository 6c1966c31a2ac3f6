package main

import (
	"math"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// input is the input of read. Offset counts lines of a file, or entries of a
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
		return tool.Output{}, explain(in.Path, err)
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
	return output, explain(in.Path, err)
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

func (in input) limit() int64 {
	if in.Limit == nil {
		return maxLines
	}
	return *in.Limit
}

func (in input) pastEnd(count int64, one, several string) error {
	what := several
	if count == 1 {
		what = one
	}
	return plinth.Errorf(abi.KindInvalidInput, "offset %d is past the end of %s, which has %d %s", in.offset(), in.Path, count, what)
}
