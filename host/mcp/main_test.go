package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serverVariable makes the test's program an MCP server over stdio, of that kind.
const serverVariable = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serverVariable); kind != "" {
		serveStdio(kind)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serveStdio is a server in a process of its own.
func serveStdio(kind string) {
	fmt.Fprintln(os.Stderr, "serving", kind, os.Getenv("TOKEN"))
	switch kind {
	case "mute": // reads and never answers
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		}
		return
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence \x1b[31mfound")
		os.Exit(3)
	case "leaky": // what it says last is cut in the middle of the secret
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 190)+os.Getenv("TOKEN"))
		os.Exit(3)
	case "babble":
		fmt.Println(strings.Repeat("not JSON ", 1000))
		return
	case "huge list":
		hugeList()
		return
	}
	server := testServer(kind)
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "ended:", err)
	}
}

// hugeList answers a list of tools that is one message of more than maxMessage bytes.
func hugeList() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		switch request.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`+"\n", request.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","description":"%s","inputSchema":{"type":"object"}}]}}`+"\n", request.ID, strings.Repeat("x", maxMessage))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", request.ID)
		}
	}
}

var object = map[string]any{"type": "object"}

// textTool is a tool that answers what say does.
func textTool(server *sdk.Server, name, description string, say func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
	server.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: object}, say)
}

func said(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// testServer makes a server of a kind.
func testServer(kind string) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2.3"}, nil)
	switch kind {
	case "hundred":
		for i := range 100 {
			about := fmt.Sprintf("Does the thing number %d with a record of the ledger, and says so.", i)
			server.AddTool(&sdk.Tool{Name: fmt.Sprintf("thing_%d", i), Description: about, InputSchema: map[string]any{"type": "object",
				"properties": map[string]any{"record": map[string]any{"type": "integer", "description": "The record's number"}}, "required": []any{"record"}}},
				func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return said(request.Params.Name + " " + string(request.Params.Arguments)), nil
				})
		}
		return server
	case "hostile":
		hostileTools(server)
		return server
	}
	usualTools(server)
	return server
}

func usualTools(server *sdk.Server) {
	server.AddTool(&sdk.Tool{Name: "echo", Description: "Says it again.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"text": {Type: "string"}}, Required: []string{"text"}}},
		func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var input struct{ Text string }
			err := json.Unmarshal(request.Params.Arguments, &input)
			return said(input.Text + " from " + os.Getenv("TOKEN")), err
		})
	textTool(server, "rich", "Answers all kinds of content.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}, Content: []sdk.Content{
			&sdk.TextContent{Text: "look"}, &sdk.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"}, &sdk.ImageContent{Data: []byte("GIF89a"), MIMEType: "image/png"},
			&sdk.ResourceLink{URI: "file:///a", Name: "a"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem:/b", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem:/c.bin", Blob: []byte{0, 1}}},
		}}, nil
	})
	textTool(server, "fail", "Fails.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		result := said("the disk is full")
		result.IsError = true
		return result, nil
	})
	textTool(server, "refuse", "Refuses.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("not today")
	})
	textTool(server, "big", "Answers too much.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said(strings.Repeat("x", maxText+1)), nil
	})
	textTool(server, "flood", "Answers a message that is too long.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said(strings.Repeat("x", maxMessage)), nil
	})
	textTool(server, "steps", "Takes steps.", func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		err := request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: request.Params.GetProgressToken(), Progress: 1, Total: 3, Message: "one\x07 of three"})
		if err != nil {
			return nil, err
		}
		<-ctx.Done() // what is shown ends the call
		return nil, ctx.Err()
	})
	textTool(server, "wait", "Waits until it is cancelled.", func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_ = request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: request.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		if path := os.Getenv("CANCELLED"); path != "" {
			_ = os.WriteFile(path, []byte("yes"), 0o600)
		}
		return nil, ctx.Err()
	})
	textTool(server, "crash", "Ends the server.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(7)
		return nil, nil
	})
	textTool(server, "grow", "Adds a tool.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		textTool(server, "grown", "Was added.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return said("new"), nil })
		return said("grown"), nil
	})
	textTool(server, "freeze", "Stops the server as it is.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-make(chan struct{}) // the threads do not stop at the same moment
		return said("thawed"), nil
	})
	textTool(server, "deaf", "Blocks for a long time, whatever is cancelled.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-make(chan struct{})
		return said("late"), nil
	})
}

// hostileTools are such as a stranger might send.
func hostileTools(server *sdk.Server) {
	nothing := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return said("ran"), nil }
	add := func(name, description string, schema any) {
		server.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: schema}, nothing)
	}
	deep := map[string]any{"type": "object"}
	for range maxDepth + 2 {
		deep = map[string]any{"type": "object", "properties": map[string]any{"a": deep}}
	}
	bomb := map[string]any{"type": "object", "$defs": map[string]any{}}
	for i := range 40 { // each part refers twice to the next
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		bomb["$defs"].(map[string]any)[fmt.Sprintf("d%d", i)] = map[string]any{"allOf": []any{next, next}}
	}
	bomb["$defs"].(map[string]any)["d40"] = map[string]any{"type": "string"}
	bomb["properties"] = map[string]any{"x": map[string]any{"$ref": "#/$defs/d0"}}
	add("good", "Fine\x1b[31m, \u202eand\u200b hid\U000E0041den.", map[string]any{"type": "object", "title": "a\x00b"})
	add("long", strings.Repeat("long ", 1000), object)
	add("deep", "Deep.", deep)
	add("bomb", "Bomb.", bomb)
	add("elsewhere", "Refers.", map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "https://example.com/schema"}}})
	add("wrong", "Wrong.", map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "strin"}}})
	add("fat", "Fat.", map[string]any{"type": "object", "description": strings.Repeat("x", maxSchema)})
	add("dot.ted", "Dotted.", object)
	add("dot_ted", "Not dotted.", object)
	add(strings.Repeat("n", 100), "A long name.", object)
}
