// Command tool-subset is the plugin core/tool-subset: it takes tools out of the
// requests of the agents that its configuration names.
package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// settings are the operator's.
type settings struct {
	Agents map[string]subset `json:"agents"`
}

// subset says which tools an agent is told of: those of Only, without those of
// Without. A name may end in "*".
type subset struct {
	Only    *[]string `json:"only"` // nil is all
	Without []string  `json:"without"`
}

// others is the entry for agents that have none of their own.
const others = "*"

// formatTool gives the structured answer that a prompt asks for: the kernel offers it
// for that prompt alone, which could not be answered without it.
const formatTool = "structured_output"

var subsets map[string]subset

func init() {
	plinth.Configure(configure)
	transform.Register("tool-subset", apply)
}

func main() {}

func configure(s settings) error {
	for agent, subset := range s.Agents {
		if subset.Only == nil && len(subset.Without) == 0 {
			return plinth.Errorf(abi.KindInvalidInput, "agents.%q has neither only nor without; name tools in one of them or take it out", agent)
		}
		names := subset.Without
		if subset.Only != nil {
			names = append(append([]string{}, names...), *subset.Only...)
		}
		for _, name := range names {
			if stem := strings.TrimSuffix(name, "*"); name == "" || strings.Contains(stem, "*") {
				return plinth.Errorf(abi.KindInvalidInput, "agents.%q has the tool %q; write a tool's name, or the beginning of one with * at its end", agent, name)
			}
		}
	}
	subsets = s.Agents
	return nil
}

func apply(request abi.TransformApply) ([]abi.Edit, error) {
	chosen, ok := subsets[request.Agent]
	if !ok {
		if chosen, ok = subsets[others]; !ok {
			return nil, nil
		}
	}
	var edits []abi.Edit
	for _, tool := range request.Tools {
		if tool.Name != formatTool && !chosen.has(tool.Name) {
			edits = append(edits, transform.Drop("tools", tool.Name))
		}
	}
	return edits, nil
}

func (s subset) has(tool string) bool {
	return (s.Only == nil || named(*s.Only, tool)) && !named(s.Without, tool)
}

func named(names []string, tool string) bool {
	for _, name := range names {
		stem, open := strings.CutSuffix(name, "*")
		if name == tool || open && strings.HasPrefix(tool, stem) {
			return true
		}
	}
	return false
}
