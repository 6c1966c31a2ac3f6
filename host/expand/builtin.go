package expand

// Builtin are the commands that come with the program, by name.
func Builtin() []Command {
	return []Command{{Name: "init", Source: SourceBuiltin, Template: initTemplate,
		Description: "Writes AGENTS.md, which tells agents how to work in this project, or improves the one there is"}}
}

const initTemplate = `Write the file AGENTS.md at the root of this project. It is told to every agent that works here, at the start of each session, so it holds what one needs to know before the first change and would otherwise have to find out, and nothing else.

If the file is there, improve it: keep what is right, in its words; correct what is not true any more; add what is missing; take out what the code says by itself.

Find out first. Read the README, the build files and the configuration of tests, linters and continuous integration; also instructions written for other tools, like CLAUDE.md, .cursor/rules, .cursorrules or .github/copilot-instructions.md, and take over what holds. Look at the layout and at a few files of each kind. Try a command where that is cheap; write down none that you neither ran nor found.

Then write, in this order and leaving out what does not apply:
1. The commands to build, lint and test, and to run a single test.
2. How the project is laid out, as far as the names of the folders do not tell, and which part may depend on which.
3. The conventions that hold here and not everywhere: style, naming, errors, tests, commits.
4. What goes wrong easily: generated files, steps that must come in order, what is not to be touched.

Use short sentences and lists, at most 60 lines. Give no general advice, list no files that a search finds, and invent nothing: where you are not sure, leave it out. Say at the end what you could not find out.`
