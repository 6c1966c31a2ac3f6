// Command house-rules is the plugin core/house-rules: it adds the rules of its
// configuration to the end of the system text.
package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// partID names the part with the rules.
const partID = "core/house-rules"

// What is told at most: it is sent with every request.
const (
	maxRules = 100
	maxBytes = 8 << 10 // of the whole text
)

// settings are the operator's.
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
	if len(s.Rules) > maxRules {
		return plinth.Errorf(abi.KindInvalidInput, "rules has %d entries, the limit is %d; take some out or put them into one", len(s.Rules), maxRules)
	}
	var lines strings.Builder
	for i, rule := range s.Rules {
		if rule = strings.TrimSpace(rule); rule == "" {
			return plinth.Errorf(abi.KindInvalidInput, "rules[%d] is empty; write a rule or take it out", i)
		}
		// What follows the first line of a rule stays below it.
		lines.WriteString("\n- " + strings.ReplaceAll(rule, "\n", "\n  "))
	}
	if lines.Len() > maxBytes {
		return plinth.Errorf(abi.KindInvalidInput, "rules have %d bytes together, the limit is %d; put what is longer into an instruction file", lines.Len(), maxBytes)
	}
	text = ""
	if lines.Len() > 0 {
		text = "Rules of this house, which hold for all work here:" + lines.String()
	}
	return nil
}

func apply(request abi.TransformApply) ([]abi.Edit, error) {
	if text == "" {
		return nil, nil
	}
	for _, part := range request.System {
		if part.ID == partID {
			return one(transform.Replace("system", partID, text))
		}
	}
	return one(transform.AppendSystem(partID, text))
}

func one(edit abi.Edit, err error) ([]abi.Edit, error) {
	if err != nil {
		return nil, err
	}
	return []abi.Edit{edit}, nil
}
