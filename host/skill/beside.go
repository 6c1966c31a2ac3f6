package skill

import (
	"slices"
	"strings"

	"github.com/plinthhost/plinth/host/markdown"
	"github.com/plinthhost/plinth/session"
)

// beside names the other files of a skill, also those in folders one below it, ascending.
// Hidden ones are left out, and so is what cannot be read.
func beside(folder markdown.Folder) []string {
	entries, err := folder.Entries(".")
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case strings.HasPrefix(name, ".") || name == fileName:
		case entry.Type().IsRegular():
			names = append(names, name)
		case entry.IsDir():
			inner, err := folder.Entries(name)
			if err != nil {
				continue
			}
			for _, file := range inner {
				if file.Type().IsRegular() && !strings.HasPrefix(file.Name(), ".") {
					names = append(names, name+"/"+file.Name())
				}
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), session.MaxSkillFiles)]
}
