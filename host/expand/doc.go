// Package expand turns what a person typed into the whole body of a prompt, before it is
// admitted: the files, folders, agents and references that a text mentions with @, and the
// commands that the operator wrote as templates.
//
//	result, err := expander.Expand(ctx, expand.Request{Session: s, Message: id, Prompt: session.Prompt{Text: "explain @main.go"}})
//
// What is read becomes a blob, so the prompt needs nothing of the file system afterwards.
// What could not be expanded stays in the text as it was typed, with a note beside it that
// people and the model read; only bounds, a wrong command and a caller that goes away are
// errors. The same text over the same files gives the same body.
//
// A mention asks nobody: it reads what the rules allow the session's agent without asking.
// The command lines of a template are asked for like those of a tool, all of them before the
// first one runs.
package expand
