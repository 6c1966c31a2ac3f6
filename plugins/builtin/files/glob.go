package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// Limits of a search: files of glob, matching lines of grep.
const (
	defaultFound = 100
	maxFound     = 1000
)

// nothingFound is what both searches say of no hit.
const nothingFound = "No files found"

// globInput is the input of glob. Ignored takes in what git ignores, but no name that
// begins with a dot unless the pattern writes one out.
type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Limit   *int64 `json:"limit"`
	Ignored bool   `json:"ignored"`
}

// globResult is the structured output of glob.
type globResult struct {
	Count     int  `json:"count"`   // files that are shown
	Matched   int  `json:"matched"` // files that fit and may be read
	Truncated bool `json:"truncated"`
}

func glob(_ tool.Call, in globInput) (tool.Output, error) {
	limit, err := within("limit", in.Limit, defaultFound, 1, maxFound)
	if err == nil {
		err = checkPath(in.Path)
	}
	if err == nil && in.Pattern == "" {
		err = plinth.Errorf(abi.KindInvalidInput, "pattern is missing; **/* finds every file")
	}
	if err != nil {
		return tool.Output{}, err
	}
	found, err := host.Glob(abi.FSGlob{
		Path: abi.Path{Path: orHere(in.Path)}, Pattern: in.Pattern, Hidden: !in.Ignored, Ignored: in.Ignored, Newest: true, Limit: limit,
	})
	if err != nil {
		return tool.Output{}, explain(in.Path, err)
	}
	text, count := pathLines(found.Files)
	out := globResult{Count: count, Matched: found.Matched, Truncated: count < found.Matched || found.Partial}
	switch {
	case out.Matched == 0:
		text = nothingFound
		if !strings.Contains(in.Pattern, "/") && in.Pattern != "**" {
			text += note("only this folder was looked at; **/%s looks below too", in.Pattern)
		}
	case count < out.Matched:
		text += note("showing %d of %d files, the newest first; narrow pattern or path, or raise limit", count, out.Matched)
	}
	return tool.Output{Text: text + passedOver(found.FSPassed), Title: in.Pattern, Structured: out}, nil
}

// pathLines is one path a line, as many as have room.
func pathLines(files []abi.FileInfo) (text string, count int) {
	var b strings.Builder
	for _, file := range files {
		line := onLine(file.Path)
		if b.Len()+1+len(line) > maxBytes {
			break
		}
		if count > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
		count++
	}
	return b.String(), count
}
