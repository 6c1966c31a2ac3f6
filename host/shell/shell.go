// Package shell tells what a command line would do before it is run: the simple
// commands in it, the paths they name, and what nobody can know without running it.
//
//	line := shell.Parse("cd build && sudo make install > log", shell.Options{Directory: "/home/me/project"})
//	line.Resources() // "cd build", "sudo make install", "make install"
//	line.Patterns()  // "cd *", "sudo make install", "make install *"
//
// It is for permission rules: a rule is asked about every command that could run,
// however it is quoted, wrapped or nested. It is not a sandbox. A program that is
// allowed may run others, and a name means what PATH says at that moment.
//
// The text must be run by the shell it was parsed for: the same text may be other
// commands to another shell.
package shell

import "slices"

// Options says where and by what a text would be run.
type Options struct {
	// Directory is the working directory: absolute, links resolved.
	Directory string
	// Home is the user's home folder, absolute; "" when it is not known.
	Home string
	// Shell is the program that runs the text: "" and "bash" are bash, "sh", "dash"
	// and "ash" any shell of that family. All else is reported as unknown.
	Shell string
	// Exported names further variables that the commands find in their environment:
	// to assign one changes what the later commands do.
	Exported []string
}

// Line is what a text would do.
type Line struct {
	// Commands are the simple commands in the order of the text, those of an expansion
	// before the command it is in. The same command may be there several times.
	Commands []Command
	// Paths are the files and folders that the commands and redirections name.
	Paths []Path
	// Unknown is what a person has to judge. When there is any, the commands may not
	// be all.
	Unknown []Unknown
}

// Command is one simple command.
type Command struct {
	// Words are the program and its arguments, without quotes. A word that is not
	// known is as it was written.
	Words []string
	// Exact: the words are exactly what the program gets.
	Exact bool
	// Text is the command in one spelling, quoted only where it must be: what a rule
	// is asked about.
	Text string
	// Pattern is what an approval for always covers: "git push *", or the Text itself
	// where more would be too much. "" when it can be approved only once.
	Pattern string
}

// Access is what a command does to a path.
type Access string

// The kinds of access. Mention: the command is not known to read or write it, but
// an argument of it looks like a path that leads elsewhere.
const (
	Read    Access = "read"
	Write   Access = "write"
	Mention Access = "mention"
)

// Path is a file or a folder that a command names.
type Path struct {
	// Path is absolute. A ".." behind a folder is kept: where it leads depends on
	// links. Resolve follows it.
	Path   string
	Access Access
}

// Kind is the closed set of what cannot be known.
type Kind string

// The kinds.
const (
	UnknownText        Kind = "text"        // it cannot be parsed, or is over a limit
	UnknownCommand     Kind = "command"     // what runs is decided while it runs
	UnknownPath        Kind = "path"        // which file is decided while it runs
	UnknownEnvironment Kind = "environment" // it changes what later commands mean
)

// Unknown is a part of a text whose effect cannot be told.
type Unknown struct {
	Kind   Kind
	Text   string // the part, at most 200 bytes of it
	Reason string // a sentence without capital and full stop
}

// Resources are the texts of the commands, each once: what to ask permission for.
func (l *Line) Resources() []string {
	var texts []string
	for _, command := range l.Commands {
		if !slices.Contains(texts, command.Text) {
			texts = append(texts, command.Text)
		}
	}
	return texts
}

// Patterns are what an approval for always would save, each once.
func (l *Line) Patterns() []string {
	var patterns []string
	for _, command := range l.Commands {
		if command.Pattern != "" && !slices.Contains(patterns, command.Pattern) {
			patterns = append(patterns, command.Pattern)
		}
	}
	return patterns
}
