// Command redact is the plugin core/redact: it replaces secrets in the system text, in
// messages and in tool results before a model is sent them.
//
// What it writes depends on the text and the settings alone, so a message reads the
// same in every request.
package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// active is what the settings look for, made once.
var active *search

func init() {
	plinth.Configure(func(s settings) (err error) {
		active, err = newSearch(s)
		return err
	})
	transform.Register("redact", apply)
}

func main() {}

func apply(request abi.TransformApply) ([]abi.Edit, error) {
	var edits []abi.Edit
	replace := func(part, id, text string) error {
		redacted, found := active.redact(text)
		if !found || id == "" {
			return nil
		}
		edit, err := transform.Replace(part, id, redacted)
		edits = append(edits, edit)
		return err
	}
	for _, part := range request.System {
		if err := replace("system", part.ID, part.Text); err != nil {
			return nil, err
		}
	}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			if !ours(part) {
				continue
			}
			if err := replace("messages", part.ID, part.Text); err != nil {
				return nil, err
			}
		}
	}
	return edits, nil
}

// ours reports whether a part may be changed: the provider made the others, and knows
// them again by their bytes.
func ours(part abi.Part) bool {
	return (part.Type == abi.PartText || part.Type == abi.PartToolResult) && !part.Hosted && len(part.Metadata) == 0
}
