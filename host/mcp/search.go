package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/session"
)

// The tools that stand for those of servers that are not described whole.
const (
	findName = "mcp_find"
	callName = "mcp_call"
)

const (
	// maxFound is how many tools one search answers, maxFoundBytes how much text.
	maxFound      = 8
	maxFoundBytes = 12 << 10
	// maxNamed bounds the names of servers in a description, in bytes.
	maxNamed = 300
)

// search makes the two tools over the servers.
func (h *Hub) search(searched []shelf) (find, call session.Tool) {
	var named []string
	longest := time.Duration(0)
	for _, one := range searched {
		named = append(named, fmt.Sprintf("%s (%d tools)", one.config.Name, len(one.tools)))
		longest = max(longest, one.config.timeout())
	}
	return findTool{h, cut(strings.Join(named, ", "), maxNamed)}, callTool{h, longest}
}

// findTool finds tools by words.
type findTool struct {
	hub     *Hub
	servers string
}

const findInput = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":500,"description":"Words, or a tool's name"}},"required":["query"],"additionalProperties":false}`

// Definition names the servers. Finding asks no permission; what is found is asked for
// when it is called.
func (t findTool) Definition() session.ToolDefinition {
	return session.ToolDefinition{Name: findName, Input: json.RawMessage(findInput), Idempotent: true, Permission: session.ToolPermission{ByOperation: true},
		Description: "Finds tools of MCP servers that are not listed here: " + t.servers +
			". Answers the names, descriptions and input schemas of the best matches; call them with " + callName + "."}
}

// Execute answers the tools that fit best and are not denied.
func (t findTool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	var input struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return session.ToolOutput{}, refuse(kindInvalid, "Give query, a text")
	}
	_, searched := t.hub.shelves()
	ranked := rank(searched, input.Query)
	var text strings.Builder
	shown := 0
	for _, tool := range ranked {
		effects, err := call.Host.Effects(ctx, tool.definition.Name, []string{"*"})
		if err != nil {
			return session.ToolOutput{}, err
		}
		if slices.Contains(effects, session.Deny) {
			continue
		}
		one := fmt.Sprintf("%s\n%s\nInput: %s\n\n", tool.definition.Name, tool.definition.Description, tool.definition.Input)
		if shown == maxFound || shown > 0 && text.Len()+len(one) > maxFoundBytes {
			text.WriteString("There are more; narrow the query.")
			break
		}
		text.WriteString(one)
		shown++
	}
	if shown == 0 {
		return session.ToolOutput{}, refuse(kindNotFound, "No tool fits %q; try other words. There are tools of %s", line(input.Query, 100), t.servers)
	}
	return session.ToolOutput{Title: line(input.Query, 80), Content: []session.ToolContent{{Type: "text", Text: strings.TrimSpace(text.String())}}}, nil
}

// rank orders the tools that have a word of the query, the best first.
func rank(searched []shelf, query string) []remote {
	type scored struct {
		remote
		score int
	}
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return strings.ContainsRune(" \t\n_-.,;:/\"'", r) })
	var all []scored
	for _, one := range searched {
		for _, tool := range one.tools {
			if score := relevance(tool, query, words); score > 0 {
				all = append(all, scored{tool, score})
			}
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(b.score-a.score, strings.Compare(a.definition.Name, b.definition.Name))
	})
	ranked := make([]remote, len(all))
	for i, one := range all {
		ranked[i] = one.remote
	}
	return ranked
}

// relevance says how well a tool fits: words in its name count more than those in its
// description, and its name itself most.
func relevance(tool remote, query string, words []string) int {
	name, description := strings.ToLower(tool.definition.Name), strings.ToLower(tool.definition.Description)
	if query = strings.TrimSpace(query); query == tool.definition.Name || query == tool.name {
		return 1 << 20
	}
	score := 0
	for _, word := range words {
		switch {
		case len(word) < 2:
		case slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }), word):
			score += 12
		case strings.Contains(name, word):
			score += 8
		case strings.Contains(description, word):
			score += 3
		}
	}
	return score
}

// callTool calls a tool that was found.
type callTool struct {
	hub     *Hub
	timeout time.Duration
}

const callInput = `{"type":"object","properties":{"tool":{"type":"string","description":"A name that ` + findName + ` answered"},"arguments":{"type":"object","description":"As its schema has them"}},"required":["tool","arguments"],"additionalProperties":false}`

// Definition leaves the permission to the tool that is called.
func (t callTool) Definition() session.ToolDefinition {
	return session.ToolDefinition{Name: callName, Input: json.RawMessage(callInput), Timeout: t.timeout, Permission: session.ToolPermission{ByOperation: true},
		Description: "Calls a tool of an MCP server by a name that " + findName + " answered. Permission is asked for that tool."}
}

// Execute holds the arguments to the tool's schema, asks for permission under its name
// and has its server run it.
func (t callTool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	var input struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return session.ToolOutput{}, refuse(kindInvalid, "Give tool, a name, and arguments, an object")
	}
	whole, searched := t.hub.shelves()
	for _, one := range searched {
		tool, ok := one.find(input.Tool)
		if !ok {
			continue
		}
		if err := tool.schema.Check(input.Arguments); err != nil {
			return session.ToolOutput{}, refuse(kindInvalid, "Invalid arguments of %s: %v", input.Tool, err)
		}
		request := session.PermissionRequest{Action: input.Tool, Resources: []string{"*"}, Save: []string{"*"}, Before: true}
		if err := call.Host.Authorise(ctx, request); err != nil {
			return session.ToolOutput{}, err
		}
		return t.hub.call(ctx, one.config.Name, tool, input.Arguments, call)
	}
	for _, one := range whole {
		if _, ok := one.find(input.Tool); ok {
			return session.ToolOutput{}, refuse(kindInvalid, "%s is among your tools; call it itself, without %s", input.Tool, callName)
		}
	}
	return session.ToolOutput{}, refuse(kindNotFound, "There is no tool %q to be called this way; find one with %s", line(input.Tool, 80), findName)
}
