// Package project reads what a project's own files say of how to work in it: agents in
// .plinth/agents and commands in .plinth/commands, each a Markdown file with front matter.
//
//	files := project.New(project.Options{Agents: names, Logger: logger})
//	agents, wrong := files.Agents(location)
//
// Strangers may have written these files, so they narrow and open nothing: an agent's rules
// allow no more than the operator's, it chooses no model, and a command chooses neither
// agent nor model. A link leads no further than the project's root. They are read as they
// are whenever they are asked for.
package project
