package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// skillService is server.Skills.
type skillService struct{ *backend }

// List answers the skills by name.
func (b skillService) List(ctx context.Context, in protocol.In) (protocol.SkillList, error) {
	location, err := b.place(ctx, in)
	if err != nil {
		return protocol.SkillList{}, wireError(err)
	}
	skills, wrong, err := b.files.skills.Look(ctx, location)
	list := protocol.SkillList{Warnings: warnings(wrong)}
	for _, skill := range skills {
		list.Skills = append(list.Skills, protocol.Skill{Name: skill.Name, Description: skill.Description, Directory: skill.Directory})
	}
	return list, wireError(err)
}

// place is what a list is asked for, the zero Location for none.
func (b *backend) place(ctx context.Context, in protocol.In) (session.Location, error) {
	if in.Directory == "" {
		return session.Location{}, nil
	}
	return places{}.Resolve(ctx, in.Directory)
}

func warnings(wrong []error) (texts []string) {
	for _, err := range wrong {
		texts = append(texts, err.Error())
	}
	return texts
}

func (c *cli) skillsCommand() *cobra.Command {
	var asJSON bool
	var directory string
	command := &cobra.Command{
		Use:   "skills",
		Short: "List the skills that agents may load, and where they are",
		Args:  usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return c.listSkills(command.Context(), directory, asJSON)
		},
	}
	directoryFlag(command, &directory)
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// directoryFlag is of the commands that list what a project adds.
func directoryFlag(command *cobra.Command, directory *string) {
	command.Flags().StringVarP(directory, "dir", "C", "", "the folder whose project counts (default: this one)")
}

func (c *cli) listSkills(ctx context.Context, directory string, asJSON bool) error {
	directory, err := c.absolute(directory)
	if err != nil {
		return err
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	list, err := host.Skills(ctx, protocol.In{Directory: directory})
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(list)
	}
	c.warn(list.Warnings)
	if len(list.Skills) == 0 {
		fmt.Fprintln(c.errors, "no skills")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, skill := range list.Skills {
		fmt.Fprintf(table, "%s\t%s\t%s\n", skill.Name, oneLine(skill.Directory, 200), oneLine(skill.Description, 1000))
	}
	return table.Flush()
}

// warn tells what is left out of a list.
func (c *cli) warn(texts []string) {
	for _, text := range texts {
		fmt.Fprintf(c.errors, "! %s\n", oneLine(text, noteLength))
	}
}
