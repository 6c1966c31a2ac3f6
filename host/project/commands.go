package project

import (
	"regexp"

	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/markdown"
	"github.com/plinthhost/plinth/session"
)

// Commands answers the commands of a place's project by name, and what is wrong with files,
// which keeps those out.
func (f *Files) Commands(location session.Location) (commands []expand.Command, wrong []error) {
	in, ok := folder(location, ".plinth/commands")
	if !ok {
		return nil, nil
	}
	commands, wrong = f.commands.In(in, "")
	f.teller.Tell("a command of the project is left out", wrong)
	return commands, wrong
}

var commandName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

func parseCommand(file markdown.File) (expand.Command, error) {
	var front struct {
		Description string `yaml:"description"`
	}
	if err := file.Front(&front); err != nil {
		return expand.Command{}, err
	}
	command := expand.Command{Name: file.Name, Source: expand.SourceProject, Description: front.Description, Template: file.Body}
	if !commandName.MatchString(command.Name) {
		return command, file.Errorf("", "a command's name begins with a small letter and has small letters, digits, - and _ only, at most 64; rename the file")
	}
	if err := checkDescription(file, command.Description); err != nil {
		return command, err
	}
	if err := expand.CheckTemplate(command.Template); err != nil {
		return command, file.Errorf("", "the text %v", err)
	}
	return command, nil
}
