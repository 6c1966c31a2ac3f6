package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// maxContext is the most lines that the host answers around a match.
const maxContext = 20

// grepInput is the input of grep. Ignored is as with glob.
type grepInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Include string `json:"include"`
	Context *int64 `json:"context"`
	Limit   *int64 `json:"limit"`
	Ignored bool   `json:"ignored"`
}

// grepResult is the structured output of grep: what is shown.
type grepResult struct {
	Matches   int  `json:"matches"`
	Files     int  `json:"files"`
	Truncated bool `json:"truncated"` // there is more
}

func grep(_ tool.Call, in grepInput) (tool.Output, error) {
	request, err := in.request()
	if err != nil {
		return tool.Output{}, err
	}
	matched, err := host.Grep(request)
	if err != nil {
		return tool.Output{}, explain(in.Path, err)
	}
	var shown matches
	for _, file := range matched.Files {
		if !shown.file(file) {
			break
		}
	}
	out := grepResult{Matches: shown.count, Files: shown.files, Truncated: shown.full || matched.More || matched.Partial}
	text := nothingFound
	if out.Files > 0 {
		text = fmt.Sprintf("Found %s in %s", counted(out.Matches, "match", "matches"), counted(out.Files, "file", "files"))
		if shown.full || matched.More {
			text += ", and there are more; narrow pattern, path or include, or raise limit"
		}
		text += string(shown.text)
	}
	return tool.Output{Text: text + passedOver(matched.FSPassed), Title: in.Pattern, Structured: out}, nil
}

// request asks for no more lines than can be shown.
func (in grepInput) request() (abi.FSGrep, error) {
	limit, err := within("limit", in.Limit, defaultFound, 1, maxFound)
	if err != nil {
		return abi.FSGrep{}, err
	}
	context, err := within("context", in.Context, 0, 0, maxContext)
	if err != nil {
		return abi.FSGrep{}, err
	}
	if err := checkPath(in.Path); err != nil {
		return abi.FSGrep{}, err
	}
	if in.Pattern == "" {
		return abi.FSGrep{}, plinth.Errorf(abi.KindInvalidInput, "pattern is missing; it is a regular expression")
	}
	request := abi.FSGrep{
		Path: abi.Path{Path: orHere(in.Path)}, Pattern: in.Pattern, Hidden: !in.Ignored, Ignored: in.Ignored,
		Context: context, Limit: min(limit, maxLines/(2*context+1)),
	}
	if in.Include != "" {
		request.Include = []string{in.Include}
	}
	return request, nil
}

// matches is the text of a grep as it grows, file by file.
type matches struct {
	text  []byte
	lines int
	files int
	count int  // matching lines
	full  bool // something had no room
}

// file adds a file with its lines, as many as have room; false when one had none.
func (m *matches) file(file abi.FSMatchedFile) bool {
	context := slices.ContainsFunc(file.Lines, func(line abi.FSLine) bool { return !line.Match })
	before, last := "\n\n"+onLine(file.Path), 0
	for _, line := range file.Lines {
		if context && last > 0 && line.Number > last+1 {
			before = "\n  --"
		}
		piece := before + "\n" + shownLine(line)
		lines := strings.Count(piece, "\n")
		if m.lines+lines > maxLines || len(m.text)+len(piece) > maxBytes {
			m.full = true
			return false
		}
		m.text, m.lines = append(m.text, piece...), m.lines+lines
		if last == 0 {
			m.files++
		}
		if line.Match {
			m.count++
		}
		before, last = "", line.Number
	}
	return true
}

// shownLine is "  12: text", with a hyphen where it is context.
func shownLine(line abi.FSLine) string {
	mark := "- "
	if line.Match {
		mark = ": "
	}
	text := "  " + strconv.Itoa(line.Number) + mark + line.Text
	if line.Cut {
		text += " [cut]"
	}
	return text
}
