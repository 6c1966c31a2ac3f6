package main

import (
	"strings"

	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// hosted is what an item of a tool that OpenAI runs has more than others.
type hosted struct {
	action  []byte   // what a search was for
	queries []byte   // of a search in files
	code    string   // of the code interpreter
	prompt  string   // of an image
	output  string   // of an MCP server's tool
	logs    []string // of the code interpreter
	found   []string // of a search in files
	failure *wire.Failure
}

func (h *hosted) read(key string, r *jsonscan.Reader) {
	switch key {
	case "action":
		h.action = r.Raw()
	case "queries":
		h.queries = r.Raw()
	case "code":
		h.code = readText(r)
	case "revised_prompt":
		h.prompt = readText(r)
	case "output":
		h.output = readText(r)
	case "outputs":
		h.logs = readNamed(r, "logs")
	case "results":
		h.found = readNamed(r, "filename", "text")
	case "error":
		h.failure = wire.ReadFailure(r)
	default:
		r.Skip()
	}
}

// readNamed reads the strings under the names of a list of objects, an object to a
// string.
func readNamed(r *jsonscan.Reader, names ...string) (list []string) {
	if r.Kind() != '[' {
		r.Skip()
		return nil
	}
	for r.Array(); r.More(); {
		values := make([]string, len(names))
		for r.Object(); ; {
			key, ok := r.Next()
			if !ok {
				break
			}
			at := 0
			for at < len(names) && names[at] != key {
				at++
			}
			if at < len(names) {
				values[at] = readText(r)
			} else {
				r.Skip()
			}
		}
		if text := strings.Trim(strings.Join(values, ": "), ": "); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// hostedName is the name of a tool that OpenAI runs, by the type of its items; empty
// for all others.
func (i *item) hostedName() string {
	switch i.kind {
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call":
		return strings.TrimSuffix(i.kind, "_call")
	case "mcp_call":
		if i.name != "" {
			return i.name
		}
		return "mcp"
	}
	return ""
}

// longestItem is how much of an item is kept to be sent back; one that is longer, and
// an image, is retold.
const longestItem = 1 << 20

// tellHosted tells a call that is through: its arguments, and what came of it.
func (i *item) tellHosted(call string, events *provider.Events) {
	if input := i.hostedInput(); input != "" {
		events.ToolInput(call, input)
	}
	events.ToolEndWith(call, metadata{item: i.id}.encode())
	result := provider.Result{Text: i.hostedText(), Failed: i.status == "failed" || i.tool.failure != nil}
	if i.kind != "image_generation_call" && len(i.raw) <= longestItem {
		result.Value = i.raw
	}
	if result.Failed && result.Text == "" {
		result.Text = "the provider's tool failed"
	}
	events.HostedResult(call, result)
}

// hostedInput is the JSON of a call's arguments.
func (i *item) hostedInput() string {
	switch {
	case i.arguments != "":
		return i.arguments
	case i.tool.action != nil:
		return string(i.tool.action)
	case i.tool.queries != nil:
		return `{"queries":` + string(i.tool.queries) + `}`
	case i.tool.code != "":
		return string(append(jsonscan.AppendStringField([]byte{'{'}, "code", i.tool.code), '}'))
	}
	return ""
}

// hostedText is the result for people and for other models.
func (i *item) hostedText() string {
	switch {
	case i.tool.failure != nil:
		explained := i.tool.failure.Explain()
		return explained.Message
	case i.tool.output != "":
		return i.tool.output
	case len(i.tool.logs) > 0:
		return strings.Join(i.tool.logs, "\n")
	case len(i.tool.found) > 0:
		return strings.Join(i.tool.found, "\n")
	case i.kind == "image_generation_call" && i.tool.prompt != "":
		return "an image was made: " + i.tool.prompt
	case i.kind == "image_generation_call":
		return "an image was made"
	}
	return ""
}
