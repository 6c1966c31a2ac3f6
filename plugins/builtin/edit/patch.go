package main

import (
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// patchInput is the input of apply_patch.
type patchInput struct {
	Patch string `json:"patch"`
}

// patched is its structured output.
type patched struct {
	Files []patchedFile `json:"files"`
}

// patchedFile is a file that was changed. Additions and deletions count lines; those of
// a file that was deleted are not known.
type patchedFile struct {
	Status    string `json:"status"` // "added", "modified", "deleted" or "moved"
	Path      string `json:"path"`
	To        string `json:"to,omitempty"` // of one that was moved
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
}

func (in patchInput) check() error {
	switch {
	case blank(in.Patch):
		return plinth.Errorf(abi.KindInvalidInput, "patch is missing")
	case len(in.Patch) > maxPatch:
		return plinth.Errorf(abi.KindLimit, "patch has %d bytes; the most is %d", len(in.Patch), maxPatch)
	}
	return nil
}

// applyPatch changes all files of a patch with one commit.
func applyPatch(_ tool.Call, in patchInput) (tool.Output, error) {
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	sections, err := parse(in.Patch)
	if err != nil {
		return tool.Output{}, untouched(err)
	}
	var output tool.Output
	partial := false
	err = retried(func() (paths []string, err error) {
		all, err := plan(sections)
		if err != nil {
			return nil, err
		}
		changes := make([]host.Change, len(all))
		for i, one := range all {
			if changes[i] = one.change(); one.before.path != "" {
				paths = append(paths, one.before.path)
			}
		}
		committed, err := host.Commit("", changes...)
		if err != nil {
			return paths, err
		}
		output, err = report(all, committed.Changes)
		partial = err != nil
		return nil, err
	})
	if err != nil && !partial {
		err = untouched(err)
	}
	return output, err
}

// untouched adds to what went wrong that nothing has happened.
func untouched(err error) error {
	return plinth.Errorf(plinth.KindOf(err), "%s (nothing was changed)", strings.TrimSuffix(messageOf(err), "."))
}

// report says what was done: that, or an error when it is only a part.
func report(all []*planned, changes []abi.FSChanged) (tool.Output, error) {
	if len(changes) != len(all) {
		return tool.Output{}, plinth.Errorf(abi.KindFailed, "the host told of %d changes, asked was for %d", len(changes), len(all))
	}
	var out patched
	said := []string{"Applied the patch:"}
	var notes []string
	for i, one := range all {
		if changes[i].Outcome != "done" {
			return tool.Output{}, inPart(all, changes)
		}
		file := one.told(changes[i])
		said = append(said, file.line(one.does))
		for _, note := range one.effect.notes {
			notes = append(notes, "Note: "+note+".")
		}
		out.Files = append(out.Files, file)
	}
	title := out.Files[0].Path
	if len(all) > 1 {
		title = plural(len(all), "file")
	}
	return tool.Output{Text: strings.Join(append(said, notes...), "\n"), Title: title, Structured: out}, nil
}

// inPart is the failure of a patch that was applied only in part.
func inPart(all []*planned, changes []abi.FSChanged) error {
	kind := abi.KindFailed
	said := []string{"the patch was applied only in part, and what is done stays:"}
	for i, one := range all {
		line := strings.ReplaceAll(changes[i].Outcome, "_", " ") + ": " + one.told(changes[i]).line(one.does)
		if failure := changes[i].Error; failure != nil {
			kind = failure.Kind
			line += ": " + failure.Message
		}
		said = append(said, line)
	}
	said = append(said, "Read the files that are not done and patch those alone")
	return plinth.Errorf(kind, "%s", strings.Join(said, "\n"))
}

func (p *planned) told(changed abi.FSChanged) patchedFile {
	file := patchedFile{Status: "modified", Path: changed.Path, To: changed.To, Additions: p.effect.additions, Deletions: p.effect.deletions}
	switch {
	case p.does == adds:
		file.Status = "added"
	case p.does == deletes:
		file.Status = "deleted"
	case p.to != "":
		file.Status = "moved"
	}
	return file
}

// line is "M a.go (+1 -2)".
func (f patchedFile) line(does byte) string {
	switch {
	case does == deletes:
		return "D " + f.Path
	case f.To == "":
		return fmt.Sprintf("%c %s (+%d -%d)", does, f.Path, f.Additions, f.Deletions)
	case f.Additions+f.Deletions == 0:
		return "R " + f.Path + " -> " + f.To
	}
	return fmt.Sprintf("R %s -> %s (+%d -%d)", f.Path, f.To, f.Additions, f.Deletions)
}
