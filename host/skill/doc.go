// Package skill finds skills: texts that tell an agent how to do something, each a file
// SKILL.md in a folder of its own, in the Agent Skills format.
//
//	finder := skill.NewFinder(skill.Options{Folders: []string{"/home/me/.config/plinth/skills"}, Project: true, Logger: logger})
//	skills, err := finder.Skills(ctx, location)
//
// A skill is data. Nothing of it is run, and nothing in a project leads out of the project.
package skill
