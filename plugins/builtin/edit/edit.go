package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// editInput is the input of edit.
type editInput struct {
	Path string `json:"path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all"`
}

// edited is its structured output. Additions and deletions count lines; the diff shows
// the first replacement.
type edited struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Additions    int    `json:"additions"`
	Deletions    int    `json:"deletions"`
	Diff         string `json:"diff"`
}

// tidy answers the input with line feeds alone at the ends of lines, and without a
// byte-order mark in front: the file has its own of both.
func (in editInput) tidy() editInput {
	in.Old = strings.TrimPrefix(strings.ReplaceAll(in.Old, "\r\n", "\n"), byteOrderMark)
	in.New = strings.TrimPrefix(strings.ReplaceAll(in.New, "\r\n", "\n"), byteOrderMark)
	return in
}

func (in editInput) check() error {
	if err := checkPath(in.Path); err != nil {
		return err
	}
	switch {
	case in.Old == "":
		return plinth.Errorf(abi.KindInvalidInput, "old_string is empty; to create or replace a whole file use write")
	case in.Old == in.New:
		return plinth.Errorf(abi.KindInvalidInput, "old_string and new_string are the same, so there is nothing to change")
	}
	return nil
}

// edit replaces text in a file.
func edit(_ tool.Call, in editInput) (tool.Output, error) {
	in = in.tidy()
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	var output tool.Output
	err := retried(func() (paths []string, err error) {
		f, err := loadText(in.Path, "create it with write")
		if err != nil {
			return nil, err
		}
		output, err = in.apply(f)
		return []string{f.path}, err
	})
	if kindOf(err) == abi.KindConflict {
		err = plinth.Errorf(abi.KindConflict, "%s changed on disk since it was read; read it again, then repeat the edit if it still fits", in.Path)
	}
	return output, err
}

func (in editInput) apply(f file) (tool.Output, error) {
	text := f.text()
	found := occurrences(text, in.Old, in.New, in.All)
	switch {
	case len(found) == 0:
		return tool.Output{}, plinth.Errorf(abi.KindInvalidInput, "old_string is not in %s. %s", in.Path, in.nearest(text))
	case len(found) > maxReplacements:
		return tool.Output{}, plinth.Errorf(abi.KindLimit, "old_string is in %s more than %d times; one edit replaces no more", in.Path, maxReplacements)
	case len(found) > 1 && !in.All:
		return tool.Output{}, plinth.Errorf(abi.KindInvalidInput, "old_string is in %s %d times, at %s; add lines around it until it is unique, or set replace_all",
			in.Path, len(found), linesOf(text, found))
	}
	size := len(f.mark()) + len(text)
	for _, one := range found {
		size += len(one.new) - (one.end - one.start)
	}
	if size > maxFile {
		return tool.Output{}, plinth.Errorf(abi.KindLimit, "%s would have %d bytes; the most is %d", in.Path, size, maxFile)
	}
	changed, err := commitOne(host.Change{
		FSChange: abi.FSChange{Op: "write", Path: in.Path, Expect: f.digest},
		Content:  replaced(f.mark(), text, found, size),
	})
	if err != nil {
		return tool.Output{}, err
	}
	return told(changed.Path, text, found), nil
}

// told says what was done.
func told(path, text string, found []occurrence) tool.Output {
	c := compared(text, found)
	out := edited{Path: path, Replacements: len(found), Additions: c.additions, Deletions: c.deletions, Diff: c.diff}
	said := "Edited " + path + ", line " + itoa(c.line)
	if len(found) > 1 {
		said = "Edited " + path + ": " + plural(len(found), "replacement") + ", at " + linesOf(text, found) + ". The first"
	}
	return tool.Output{Text: said + ":\n" + out.Diff, Title: path, Structured: out}
}
