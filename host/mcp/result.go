package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plinthhost/plinth/host/filetype"
	"github.com/plinthhost/plinth/session"
)

const (
	// maxText bounds the text of a result, with its structured value, in bytes; maxFiles
	// how many files it has.
	maxText  = 1 << 20
	maxFiles = 32
	// maxFailure bounds what a model is told of a failure, in bytes.
	maxFailure = 8 << 10
)

// output makes the kernel's result of a server's.
func (h *Hub) output(ctx context.Context, server string, result *sdk.CallToolResult) (session.ToolOutput, error) {
	if result.NeedsInput() {
		return session.ToolOutput{}, refuse(kindUnavailable, "The MCP server %s asks for more input before it goes on, which this host does not give", server)
	}
	o := outcome{hub: h, server: server}
	for _, content := range result.Content {
		if err := o.add(ctx, content); err != nil {
			return session.ToolOutput{}, err
		}
	}
	if result.StructuredContent != nil {
		encoded, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return session.ToolOutput{}, fmt.Errorf("encode the structured result: %w", err)
		}
		if scrubbed := []byte(h.scrub(string(encoded))); json.Valid(scrubbed) {
			o.output.Structured = scrubbed
			o.text += len(scrubbed)
		}
	}
	if o.text > maxText {
		return session.ToolOutput{}, refuse(kindLimit, "The MCP server %s answered with %d bytes of text, the limit is %d; ask for less", server, o.text, maxText)
	}
	if result.IsError {
		return session.ToolOutput{}, refuse(kindFailed, "%s", o.failure())
	}
	if len(o.output.Content) == 0 && o.output.Structured == nil {
		o.output.Content = []session.ToolContent{{Type: "text", Text: "(no output)"}}
	}
	return o.output, nil
}

// outcome gathers a result.
type outcome struct {
	hub    *Hub
	server string
	output session.ToolOutput
	text   int // bytes
	files  int
}

func (o *outcome) add(ctx context.Context, content sdk.Content) error {
	switch content := content.(type) {
	case *sdk.TextContent:
		o.say(content.Text)
	case *sdk.ImageContent:
		return o.file(ctx, "image", content.MIMEType, content.Data)
	case *sdk.AudioContent:
		return o.file(ctx, "audio", content.MIMEType, content.Data)
	case *sdk.ResourceLink:
		o.say(fmt.Sprintf("Resource %s: %s", line(content.Name, 200), line(content.URI, 1024)))
	case *sdk.EmbeddedResource:
		return o.resource(ctx, content.Resource)
	default:
		o.say("(content of a kind that is not known)")
	}
	return nil
}

func (o *outcome) say(text string) {
	text = o.hub.scrub(strings.ToValidUTF8(text, "\uFFFD"))
	o.text += len(text)
	o.output.Content = append(o.output.Content, session.ToolContent{Type: "text", Text: text})
}

// resource takes what a server put into its result.
func (o *outcome) resource(ctx context.Context, resource *sdk.ResourceContents) error {
	switch {
	case resource == nil:
		return nil
	case resource.Blob != nil:
		return o.file(ctx, path.Base(line(resource.URI, 200)), resource.MIMEType, resource.Blob)
	}
	o.say(line(resource.URI, 1024) + ":\n" + resource.Text)
	return nil
}

// file keeps a file of the result.
func (o *outcome) file(ctx context.Context, name, kind string, value []byte) error {
	if o.files++; o.files > maxFiles {
		return refuse(kindLimit, "The MCP server %s answered with more than %d files, the limit; ask for less", o.server, maxFiles)
	}
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil || !strings.Contains(kind, "/") {
		kind = "application/octet-stream"
	}
	if found := filetype.Found(value); filetype.Check(kind, found) != nil {
		kind = found // servers say PNG of everything
	}
	digest, err := o.hub.options.Blobs.Put(ctx, value)
	if err != nil {
		return fmt.Errorf("keep a file of %d bytes: %w", len(value), err)
	}
	o.output.Content = append(o.output.Content, session.ToolContent{Type: "file", Mime: kind, Name: name, Blob: digest})
	return nil
}

// failure is the text of a result that says it is an error.
func (o *outcome) failure() string {
	var texts []string
	for _, content := range o.output.Content {
		if content.Text != "" {
			texts = append(texts, content.Text)
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if text == "" {
		text = string(o.output.Structured)
	}
	if text == "" {
		text = "The MCP server " + o.server + " failed and does not say why"
	}
	return cut(text, maxFailure)
}
