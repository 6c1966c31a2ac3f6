package skill

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/markdown"
	"github.com/plinthhost/plinth/session"
)

// Limits of a skill.
const (
	MaxDescription = 1024 // bytes
	MaxName        = 64   // bytes
)

// fileName is what the file of a skill is called.
const fileName = "SKILL.md"

// projectFolders are where a project has skills, below its root.
var projectFolders = [...]string{".plinth/skills", ".claude/skills"}

// Options are what a finder works with.
type Options struct {
	// Folders are the operator's, absolute. Of skills of one name that in an earlier folder
	// counts, and any of the operator's before a project's.
	Folders []string
	// Project also finds the skills of projects.
	Project bool
	Logger  hclog.Logger
}

// Finder finds the skills there are in a place. It is a session.SkillFinder.
type Finder struct {
	options Options
	files   *markdown.Files[session.Skill]
	teller  *markdown.Teller
}

var _ session.SkillFinder = (*Finder)(nil)

// NewFinder makes a finder.
func NewFinder(options Options) *Finder {
	return &Finder{options: options, files: markdown.New(parse), teller: markdown.NewTeller(options.Logger)}
}

// found is a skill and the folder that nothing of it may lead out of, "" for any.
type found struct {
	session.Skill
	within string
}

// Skills answers the skills by name. What is wrong with a file keeps that one out, and is
// logged once.
func (f *Finder) Skills(ctx context.Context, location session.Location) ([]session.Skill, error) {
	skills, _, err := f.Look(ctx, location)
	return skills, err
}

// Look is Skills with what is wrong with files.
func (f *Finder) Look(ctx context.Context, location session.Location) (skills []session.Skill, wrong []error, err error) {
	all, wrong, err := f.find(ctx, location)
	for _, one := range all {
		skills = append(skills, one.Skill)
	}
	return skills, wrong, err
}

// Skill answers the skill of that name with the files beside it; session.ErrNotFound when
// there is none.
func (f *Finder) Skill(ctx context.Context, location session.Location, name string) (session.Skill, error) {
	all, _, err := f.find(ctx, location)
	if err != nil {
		return session.Skill{}, err
	}
	at := slices.IndexFunc(all, func(one found) bool { return one.Name == name })
	if at < 0 {
		return session.Skill{}, fmt.Errorf("skill %q: %w", name, session.ErrNotFound)
	}
	skill := all[at].Skill
	skill.Files = beside(markdown.Folder{Path: skill.Directory, Within: all[at].within})
	return skill, nil
}

func (f *Finder) find(ctx context.Context, location session.Location) (all []found, wrong []error, err error) {
	for _, folder := range f.folders(location) {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("find skills: %w", context.Cause(ctx))
		}
		skills, mistakes := f.files.In(folder, fileName)
		wrong = append(wrong, mistakes...)
		for _, one := range skills {
			if !slices.ContainsFunc(all, func(other found) bool { return other.Name == one.Name }) {
				all = append(all, found{one, folder.Within})
			}
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.Name, b.Name) })
	f.teller.Tell("a skill is left out", wrong)
	return all, wrong, nil
}

func (f *Finder) folders(location session.Location) (all []markdown.Folder) {
	for _, path := range f.options.Folders {
		all = append(all, markdown.Folder{Path: path})
	}
	if f.options.Project && location.Root != "" {
		for _, name := range projectFolders {
			all = append(all, markdown.Folder{Path: filepath.Join(location.Root, name), Within: location.Root})
		}
	}
	return all
}

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parse makes a skill of its file. Other keys of the format are not ours to know.
func parse(file markdown.File) (session.Skill, error) {
	var front struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := file.Known(&front); err != nil {
		return session.Skill{}, err
	}
	skill := session.Skill{Name: front.Name, Description: strings.Join(strings.Fields(front.Description), " "),
		Text: file.Body, Directory: filepath.Dir(file.Path)}
	switch {
	case skill.Name == "":
		return skill, file.Errorf("name", "is missing; give the skill a name, like %q", "release-notes")
	case len(skill.Name) > MaxName || !validName.MatchString(skill.Name):
		return skill, file.Errorf("name", "must have small letters, digits and single hyphens between them only, at most %d", MaxName)
	case skill.Description == "":
		return skill, file.Errorf("description", "is missing; say what the skill does and when to use it")
	case len(skill.Description) > MaxDescription:
		return skill, file.Errorf("description", "has %d bytes, the limit is %d", len(skill.Description), MaxDescription)
	case skill.Text == "":
		return skill, file.Errorf("", "has no text behind its front matter; write what the agent is to do")
	}
	return skill, nil
}
