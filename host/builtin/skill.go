package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

const skillDescription = `Loads a skill: instructions for one kind of work. Load it before you begin such work.`

const skillInput = `{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string","minLength":1}}}`

const skillOutput = `{"type":"object","required":["name"],"additionalProperties":false,"properties":{` +
	`"name":{"type":"string"},"directory":{"type":"string"},"files":{"type":"array","items":{"type":"string"}}}}`

// skillTool loads a skill.
func skillTool() session.Tool {
	return tool{session.ToolDefinition{Name: "skill", Description: skillDescription, Input: json.RawMessage(skillInput), Output: json.RawMessage(skillOutput),
		Permission: byOperation("skill"), Effects: []string{"read"}, Idempotent: true}, loadSkill}
}

func loadSkill(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	input, err := decode[struct {
		Name string `json:"name"`
	}](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	shelf, err := served[session.SkillShelf](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	skill, err := shelf.Skill(ctx, input.Name)
	if errors.Is(err, session.ErrNotFound) {
		return session.ToolOutput{}, unknownSkill(ctx, shelf, input.Name)
	}
	if err != nil {
		return session.ToolOutput{}, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "<skill name=%q>\n%s\n</skill>\n", skill.Name, skill.Text)
	if skill.Directory != "" {
		fmt.Fprintf(&text, "\nRelative paths in it begin at %s.", skill.Directory)
	}
	if len(skill.Files) > 0 {
		text.WriteString(" Files there:")
		for _, file := range skill.Files {
			text.WriteString("\n" + file)
		}
	}
	value := struct {
		Name      string   `json:"name"`
		Directory string   `json:"directory,omitempty"`
		Files     []string `json:"files,omitempty"`
	}{skill.Name, skill.Directory, skill.Files}
	return answer(skill.Name, strings.TrimRight(text.String(), "\n"), value)
}

// unknownSkill names the skills there are.
func unknownSkill(ctx context.Context, shelf session.SkillShelf, name string) error {
	skills, err := shelf.Skills(ctx)
	if err != nil {
		return err
	}
	if len(skills) == 0 {
		return &session.ToolError{Kind: "not_found", Message: fmt.Sprintf("There is no skill %q; there are none here", clip(name, 64))}
	}
	names := make([]string, len(skills))
	for i, skill := range skills {
		names[i] = skill.Name
	}
	return &session.ToolError{Kind: "not_found", Message: fmt.Sprintf("There is no skill %q; choose one of %s", clip(name, 64), clip(strings.Join(names, ", "), 2000))}
}
