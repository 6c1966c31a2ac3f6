package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

const (
	// maxTools and maxPages bound a server's list.
	maxTools = 512
	maxPages = 64
	// maxToolName bounds a server's own name of a tool, maxDescription what it says of it,
	// in bytes.
	maxToolName    = 256
	maxDescription = 1024
)

// remote is a tool of a server.
type remote struct {
	name       string // the server's
	definition session.ToolDefinition
	schema     *schema.Schema
}

// weight is what it takes of a request, in bytes.
func (r remote) weight() int {
	return len(r.definition.Name) + len(r.definition.Description) + len(r.definition.Input)
}

// catalog is a server's list of tools, by the model's names, ascending.
type catalog struct {
	version string
	tools   []remote
}

// fingerprint is of all that a model is told, and of how its calls are bounded.
func (c catalog) fingerprint() []byte {
	var all strings.Builder
	for _, tool := range c.tools {
		fmt.Fprintf(&all, "%q %q %q %s %s\n", tool.definition.Name, tool.name, tool.definition.Description, tool.definition.Input, tool.definition.Timeout)
	}
	return []byte(all.String())
}

func (c catalog) weight() (bytes int) {
	for _, tool := range c.tools {
		bytes += tool.weight()
	}
	return bytes
}

// find answers the tool of a model's name.
func (c catalog) find(name string) (remote, bool) {
	at, ok := slices.BinarySearchFunc(c.tools, name, func(r remote, name string) int { return strings.Compare(r.definition.Name, name) })
	if !ok {
		return remote{}, false
	}
	return c.tools[at], true
}

// list asks a server for its tools. Those that cannot be used are left out and named in
// the notes.
func list(ctx context.Context, config Server, client *sdk.ClientSession) (listed catalog, notes []string, err error) {
	all, err := pages(ctx, client)
	if err != nil {
		return catalog{}, nil, err
	}
	if len(all) > maxTools {
		notes = append(notes, fmt.Sprintf("it has more than %d tools; the rest is left out", maxTools))
		all = all[:maxTools]
	}
	if about := client.InitializeResult(); about != nil && about.ServerInfo != nil {
		listed.version = line(about.ServerInfo.Version, 64)
	}
	seen := map[string]bool{}
	var kept []*sdk.Tool
	var own []string
	for _, tool := range all {
		switch {
		case !config.chosen(tool.Name):
			continue
		case tool.Name == "" || len(tool.Name) > maxToolName || line(tool.Name, maxToolName) != tool.Name:
			notes = append(notes, fmt.Sprintf("the tool %.80q is left out: its name is empty, too long or not one line of text", tool.Name))
			continue
		case seen[tool.Name]:
			notes = append(notes, fmt.Sprintf("the tool %q is there twice; the first counts", tool.Name))
			continue
		}
		seen[tool.Name] = true
		kept, own = append(kept, tool), append(own, tool.Name)
	}
	called := names(config.Name, own)
	for _, tool := range kept {
		made, err := config.describe(called[tool.Name], tool)
		if err != nil {
			notes = append(notes, fmt.Sprintf("the tool %q is left out: %s", tool.Name, line(err.Error(), 300)))
			continue
		}
		listed.tools = append(listed.tools, made)
	}
	slices.SortFunc(listed.tools, func(a, b remote) int { return strings.Compare(a.definition.Name, b.definition.Name) })
	return listed, notes, nil
}

// pages reads a list, and little more of it than is kept.
func pages(ctx context.Context, client *sdk.ClientSession) ([]*sdk.Tool, error) {
	var all []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := client.ListTools(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		all = append(all, page.Tools...)
		if page.NextCursor == "" || page.NextCursor == params.Cursor || len(all) > maxTools {
			return all, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// describe makes what a model is told of a tool.
func (s Server) describe(name string, tool *sdk.Tool) (remote, error) {
	description := cut(strings.TrimSpace(clean(tool.Description)), maxDescription)
	if description == "" {
		description = line(tool.Title, maxDescription)
	}
	if description == "" {
		description = "A tool of the MCP server " + s.Name + ", which says nothing of it."
	}
	input, err := taming(tool.InputSchema)
	if err != nil {
		return remote{}, fmt.Errorf("the schema of its input: %w", err)
	}
	compiled, err := schema.Compile(input)
	if err != nil {
		return remote{}, fmt.Errorf("the schema of its input: %w", err)
	}
	return remote{name: tool.Name, schema: compiled,
		definition: session.ToolDefinition{Name: name, Description: description, Input: input, Timeout: s.timeout()}}, nil
}

// taming answers a server's schema as it is shown and used, or why it is not.
func taming(given any) (json.RawMessage, error) {
	object, ok := given.(map[string]any)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	t := tamer{root: object}
	cleaned, err := t.clean(object, 0)
	if err != nil {
		return nil, err
	}
	top := cleaned.(map[string]any)
	if kind, said := top["type"]; said && kind != "object" {
		return nil, errors.New("its type is not object")
	}
	top["type"] = "object"
	delete(top, "$schema")
	encoded, err := json.Marshal(top)
	switch {
	case err != nil:
		return nil, err
	case len(encoded) > maxSchema:
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(encoded), maxSchema)
	case t.weight(object, 0) > maxWeight:
		return nil, fmt.Errorf("its references amount to more than %d parts", maxWeight)
	}
	return encoded, nil
}
