package main

import (
	"github.com/plinthhost/plinth/host/builtin"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/offline"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/project"
	"github.com/plinthhost/plinth/host/skill"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// Where the context sources of the program's own stand: behind what plugins tell.
const (
	orderAgents     = 900
	orderSkills     = 950
	orderReferences = 1000
)

// The plugins that are Go of this program.
const (
	offlinePlugin    = "core/offline"
	sessionPlugin    = "core/session"
	referencesPlugin = "core/references"
)

// natives are the plugins that are Go of this program.
func (a *app) natives() []plugin.Native {
	natives := []plugin.Native{
		{ID: offlinePlugin, Version: "1.0.0", Description: "A model without a network, to try things with",
			Contributions: []registry.Contribution{a.kinds.Providers.Contribute(offline.Name, 0, offline.Provider{})}},
		{ID: sessionPlugin, Version: "1.0.0", Description: "Tools that work on the session itself: task, question, todowrite and skill",
			Contributions: a.sessionTools()},
	}
	if references, ok := a.tellReferences(); ok {
		natives = append(natives, references)
	}
	return natives
}

// sessionTools contributes the tools that are Go values, and what tells of what they take.
func (a *app) sessionTools() []registry.Contribution {
	var all []registry.Contribution
	for _, tool := range builtin.Tools() {
		all = append(all, a.kinds.Tools.Contribute(tool.Definition().Name, 0, tool))
	}
	return append(all,
		a.kinds.Contexts.Contribute(builtin.AgentsKey, orderAgents, builtin.AgentGuidance(a.agents, a.permissions)),
		a.kinds.Contexts.Contribute(builtin.SkillsKey, orderSkills, builtin.SkillGuidance(a.files.skills, a.permissions)))
}

// files read the agents, commands and skills that are files and may change at any time.
type files struct {
	skills  *skill.Finder
	project *project.Files // nil where projects say nothing
}

// startFiles makes what reads the agents, commands and skills that are files.
func (a *app) startFiles() {
	a.files.skills = skill.NewFinder(skill.Options{Folders: a.config.Skills.Folders, Project: a.config.ProjectConfig, Logger: a.logger.Named("skills")})
	if a.config.ProjectConfig {
		options := project.Options{Logger: a.logger.Named("project")}
		for _, agent := range a.agents.List() {
			options.Agents = append(options.Agents, agent.Name)
		}
		for _, command := range a.commands() {
			options.Commands = append(options.Commands, command.Name)
		}
		a.files.project = project.New(options)
		a.agents = a.agents.WithLocal(func(location session.Location) []session.Agent {
			agents, _ := a.files.project.Agents(location)
			return agents
		})
	}
}

// commands are those of the operator, by name, and those that come with the program.
func (a *app) commands() []expand.Command {
	return expand.Together(a.config.Commands, expand.Builtin())
}

// projectCommands answers the commands of a place, nil when projects have none.
func (a *app) projectCommands() func(session.Location) []expand.Command {
	if a.files.project == nil {
		return nil
	}
	return func(location session.Location) []expand.Command {
		commands, _ := a.files.project.Commands(location)
		return commands
	}
}
