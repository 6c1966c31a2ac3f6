package main

import (
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// directory answers a page of names, directories first and with a slash behind.
func (in input) directory(info abi.FileInfo) (tool.Output, error) {
	listed, err := host.List(abi.FSList{Path: abi.Path{Path: in.Path}, Offset: int(in.offset() - 1), Limit: int(in.limit())})
	if err != nil {
		return tool.Output{}, err
	}
	if len(listed.Entries) == 0 && in.offset() > 1 {
		total, err := in.countEntries()
		if err != nil {
			return tool.Output{}, err
		}
		return tool.Output{}, in.pastEnd(total, "entry", "entries")
	}
	names := pageOfNames(listed.Entries, room(info.Path))
	out := result{Type: "directory", Path: info.Path, Offset: in.offset(), Count: int64(len(names))}
	out.Truncated = listed.Next > 0 || len(names) < len(listed.Entries)
	text := strings.Join(names, "\n")
	last := out.Offset + out.Count - 1
	switch {
	case len(names) == 0:
		text = "(the directory is empty)"
	case out.Truncated:
		out.Next = last + 1
		text += fmt.Sprintf("\n\n(showing entries %d-%d of %s; next offset %d)", out.Offset, last, info.Path, out.Next)
	case out.Offset > 1:
		text += fmt.Sprintf("\n\n(showing entries %d-%d of %d of %s)", out.Offset, last, last, info.Path)
	}
	return tool.Output{Text: text, Title: info.Path, Structured: out}, nil
}

// pageOfNames takes as many names as have room.
func pageOfNames(entries []abi.FileInfo, room int) []string {
	names := make([]string, 0, len(entries))
	size := 0
	for _, entry := range entries {
		name := entry.Name
		if entry.Kind == abi.FileDirectory {
			name += "/"
		}
		if size += len(name) + 1; size > room+1 {
			break
		}
		names = append(names, name)
	}
	return names
}

func (in input) countEntries() (total int64, err error) {
	for offset := 0; ; {
		listed, err := host.List(abi.FSList{Path: abi.Path{Path: in.Path}, Offset: offset})
		if err != nil {
			return 0, err
		}
		total += int64(len(listed.Entries))
		if offset = listed.Next; offset == 0 {
			return total, nil
		}
	}
}
