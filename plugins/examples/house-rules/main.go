// Command house-rules is an example of a request transform: it adds the rules of
// its configuration to the end of the system text.
package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// partID names the added part, so that other transforms can tell it.
const partID = "example/house-rules"

// settings is the plugin's configuration.
type settings struct {
	Rules []string `json:"rules"`
}

// text is what is added, made once from the settings; empty adds nothing.
var text string

func init() {
	plinth.Configure(configure)
	transform.Register("house-rules", apply)
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
	if text != "" {
		text = "House rules:" + text
	}
	return nil
}

func apply(request abi.TransformApply) ([]abi.Edit, error) {
	if text == "" {
		return nil, nil
	}
	// The id is taken when the text was added already: then it is brought up to date.
	for _, part := range request.System {
		if part.ID == partID {
			return edits(transform.Replace("system", partID, text))
		}
	}
	return edits(transform.AppendSystem(partID, text))
}

func edits(edit abi.Edit, err error) ([]abi.Edit, error) {
	if err != nil {
		return nil, err
	}
	return []abi.Edit{edit}, nil
}
