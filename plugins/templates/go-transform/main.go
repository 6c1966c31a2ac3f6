// Command new-plugin is a plugin with one transform: it adds the rules of its settings to
// the end of the system text.
package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// partID names the added part, so that it is found again.
const partID = "example/new-plugin"

// settings are the operator's. Their schema, config.schema.json, is made of this type:
// change it here, then run plinth plugin test --update.
type settings struct {
	Title string   `json:"title,omitempty" doc:"What stands above the rules" max:"200"`
	Rules []string `json:"rules,omitempty" doc:"One rule each, in the words the model is to read" max:"50"`
}

// text is what is added; empty adds nothing. It is in the snapshot that every call begins with.
var text string

// A module runs package initialisation and never main, so all is registered here.
func init() {
	plinth.Configure(configure)
	transform.Register("new-plugin", apply)
}

func main() {}

func configure(s settings) error {
	text = ""
	for i, rule := range s.Rules {
		if rule = strings.TrimSpace(rule); rule == "" {
			return plinth.Errorf(abi.KindInvalidInput, "rules[%d] is empty; write a rule or take it out", i)
		}
		text += "\n- " + rule
	}
	if text == "" {
		return nil
	}
	if s.Title == "" {
		s.Title = "Rules"
	}
	text = s.Title + ":" + text
	return nil
}

// apply sees what the manifest's reads name and edits what its writes name. It is pure:
// the same request gives the same edits, and no host operation can be asked for.
func apply(request abi.TransformApply) ([]abi.Edit, error) {
	if text == "" {
		return nil, nil
	}
	for _, part := range request.System {
		if part.ID == partID { // added before: brought up to date
			edit, err := transform.Replace("system", partID, text)
			return []abi.Edit{edit}, err
		}
	}
	edit, err := transform.AppendSystem(partID, text)
	return []abi.Edit{edit}, err
}
