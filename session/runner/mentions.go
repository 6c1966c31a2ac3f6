package runner

import (
	"strings"

	"github.com/plinthhost/plinth/session"
)

// lowerMentions says what the mentions of a prompt stand for, "" for none. It depends on
// the prompt alone, so a model reads the same in every request.
func lowerMentions(prompt *session.Prompt) string {
	var lines []string
	for _, agent := range prompt.Agents {
		lines = append(lines, "The user asks you to use the agent "+agent.Name+
			": call the tool task with it, and give it what this message has for it together with all that it needs to know.")
	}
	for _, reference := range prompt.References {
		lines = append(lines, lowerReference(reference))
	}
	for _, note := range prompt.Notes {
		lines = append(lines, note.Text)
	}
	return strings.Join(lines, "\n")
}

func lowerReference(reference session.PromptRef) string {
	text := "The user refers to " + reference.Name
	if reference.Description != "" {
		text += " (" + reference.Description + ")"
	}
	if reference.Path == "" {
		return text + "."
	}
	return text + ": it is at " + reference.Path + "; read there what you need of it."
}
