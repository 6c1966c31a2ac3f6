// Package builtin holds the tools of the program that are Go values, because a guest would
// only wait in them for the session: task, question, todowrite and skill. They stand behind
// the port of every tool and ask for the session what a guest's host operations ask, so a
// plugin may take the place of each.
//
// Beside the tools stand two context sources: the agents that take tasks, and the skills.
// Both tell names and one line of each, of what the session's agent may use.
package builtin
