package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

const questionDescription = `Asks the user and waits. Use it when the answer decides what you do and you cannot find it out. Unless custom is false, the user may write an answer too.`

const questionInput = `{"type":"object","required":["questions"],"properties":{"questions":{"type":"array","items":` +
	`{"type":"object","required":["question"],"additionalProperties":false,"properties":{` +
	`"header":{"type":"string"},"question":{"type":"string"},` +
	`"options":{"type":"array","items":{"type":"object","required":["label"],"properties":{"label":{"type":"string"},"description":{"type":"string"}}}},` +
	`"multiple":{"type":"boolean"},"custom":{"type":"boolean"}}}}}}`

const questionOutput = `{"type":"object","required":["answers"],"additionalProperties":false,"properties":{` +
	`"answers":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}`

// questionTool asks the user.
func questionTool() session.Tool {
	return tool{session.ToolDefinition{Name: "question", Description: questionDescription, Input: json.RawMessage(questionInput), Output: json.RawMessage(questionOutput),
		Permission: byOperation("question")}, ask}
}

func ask(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	input, err := decode[struct {
		Questions []struct {
			Header   string                   `json:"header"`
			Question string                   `json:"question"`
			Options  []session.QuestionOption `json:"options"`
			Multiple bool                     `json:"multiple"`
			Custom   *bool                    `json:"custom"`
		} `json:"questions"`
	}](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	questioner, err := served[session.Questioner](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	questions := make([]session.Question, len(input.Questions))
	for i, asked := range input.Questions {
		questions[i] = session.Question{Header: asked.Header, Text: asked.Question, Options: asked.Options, Multiple: asked.Multiple,
			Custom: asked.Custom == nil || *asked.Custom}
	}
	const before = true // it has had no effect, so it may be asked again by the next host
	answers, err := questioner.Question(ctx, questions, before)
	if err != nil {
		return session.ToolOutput{}, err
	}
	var text strings.Builder
	text.WriteString("The user answered:")
	for i, question := range questions {
		chosen := "nothing"
		if i < len(answers) && len(answers[i]) > 0 {
			chosen = strings.Join(answers[i], ", ")
		}
		fmt.Fprintf(&text, "\n- %s: %s", question.Text, chosen)
	}
	value := struct {
		Answers [][]string `json:"answers"`
	}{answers}
	return answer("", text.String(), value)
}
