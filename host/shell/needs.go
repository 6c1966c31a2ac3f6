package shell

import (
	"path"
	"slices"
)

// Needs is what a line needs permission for before it is run.
type Needs struct {
	// Folders are those outside of the given ones that it leads to, as "/folder/*".
	Folders []string
	// Unnamed are the words for files that nobody knows before it runs.
	Unnamed []string
	// Commands are the texts of its commands, and Save the patterns that an approval for
	// always covers. When not all is known the whole line is among them and nothing is
	// saved.
	Commands []string
	Save     []string
}

// Needs answers what the line, written as text, needs; folders are the ones it may be in,
// absolute, links resolved. Each of the lists is ascending or in the order of the text.
func (l *Line) Needs(text string, folders ...string) (Needs, error) {
	places, err := Outside(l.Paths, folders...)
	if err != nil {
		return Needs{}, err
	}
	var needs Needs
	for _, place := range places {
		needs.Folders = append(needs.Folders, path.Join(path.Dir(place), "*"))
	}
	slices.Sort(needs.Folders)
	needs.Folders = slices.Compact(needs.Folders)
	whole := false
	for _, unknown := range l.Unknown {
		if unknown.Kind == UnknownPath {
			needs.Unnamed = append(needs.Unnamed, unknown.Text)
		} else {
			whole = true
		}
	}
	needs.Commands, needs.Save = l.Resources(), l.Patterns()
	if whole || len(needs.Commands) == 0 {
		needs.Commands, needs.Save = append(needs.Commands, text), nil
	}
	return needs, nil
}
