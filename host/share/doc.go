// Package share shows a session to people who have no host: a page that needs nothing
// else, Markdown, or JSON. It leaves out what is the host's own (context, permission
// rules, plugins, what providers said beside their answers, where outputs are kept) and,
// unless asked for, what the model thought. What models and tools wrote is never trusted.
package share
