package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
)

// mcpServer is an MCP server over HTTP with a tool that greets, and its table.
func mcpServer(t *testing.T) (address string) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	server.AddTool(&sdk.Tool{Name: "greet", Description: "Greets.", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "good day"}}}, nil
		})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

// A configured server's tools are those of a plugin: they ask, are listed, disabled and
// enabled, come back after a restart, and leave with their table.
func TestServersAreConfigured(t *testing.T) {
	r := newRig(t)
	table := "[mcp.web]\nurl = \"" + mcpServer(t) + "\"\n"
	r.configure(table + "[mcp.away]\ncommand = [\"no-such-program-anywhere\"]\n[mcp.off]\ncommand = [\"no-such-program-anywhere\"]\nenabled = false\n")
	r.restart()
	id := r.session()
	r.prompt(id, "call web_greet {}")
	event := r.await(id, -1, is[session.PermissionAsked])
	if asked := r.decode(event).(session.PermissionAsked); asked.Ask.Action != "web_greet" || asked.Ask.Plugin != "mcp/web" {
		t.Errorf("%+v", asked)
	}
	asked := r.decode(event).(session.PermissionAsked).Request
	got[protocol.PermissionReceipt](r, request{path: "/v1/permissions/" + asked + "/reply", body: `{"reply":"always"}`})
	succeeded := r.decode(r.await(id, event.Seq, is[session.ToolSucceeded])).(session.ToolSucceeded)
	if succeeded.Content[0].Text != "good day" {
		t.Errorf("%+v", succeeded)
	}
	r.idle(id)
	if p := r.plugin("mcp/web", ""); p.State != protocol.PluginActive || p.Source != "native" || !p.Serving || p.Version != "server 1.0.0" {
		t.Errorf("%+v", p)
	}
	list := r.pluginSays(exitOK, []string{"mcp/web", "mcp/away", "no-such-program-anywhere"}, "list")
	if strings.Contains(list, "mcp/off") || strings.Contains(list, "mcp/index") {
		t.Error(list)
	}
	calls := func(want bool) {
		t.Helper()
		before := r.count(id, is[session.ToolSucceeded])
		r.settled(id, "call web_greet {}")
		if got := r.count(id, is[session.ToolSucceeded]) > before; got != want {
			t.Errorf("the tool is called: %v, want %v", got, want)
		}
	}
	calls(true) // and asks no more
	r.pluginSays(exitOK, []string{"disabled"}, "disable", "mcp/web")
	calls(false)
	r.restart()
	calls(false)
	r.pluginSays(exitOK, nil, "enable", "mcp/web")
	r.pluginSays(exitOK, []string{"active"}, "reload", "mcp/web")
	r.pluginSays(exitFailed, []string{"take its table out of the configuration"}, "remove", "mcp/web")
	r.restart()
	calls(true)
	r.reload = func() (config.Config, error) {
		return config.Load(config.Sources{Environ: []string{"HOME=" + filepath.Dir(r.data)}, Flags: config.Overrides{Data: r.data}})
	}
	r.configure("")
	r.pluginSays(exitOK, nil, "reload")
	r.pluginSays(exitFailed, []string{"not_found"}, "show", "mcp/web")
	calls(false)
	r.configure(table)
	r.pluginSays(exitOK, nil, "reload")
	calls(true)
}

// What a project says starts no server, also when the project is trusted.
func TestAProjectStartsNoServer(t *testing.T) {
	r := newRig(t)
	marker := filepath.Join(filepath.Dir(r.data), "marker")
	table := "[mcp.evil]\ncommand = [\"touch\", \"" + marker + "\"]\n"
	r.file(".plinth/config.toml", []byte(table))
	r.pluginSays(exitOK, []string{"trusted"}, "trust", r.project)
	r.restart()
	r.settled(r.session(), "count 1")
	if _, err := os.Stat(marker); err == nil {
		t.Error("the project's server was started")
	}
	r.configure(table) // the same of the operator's is
	r.restart()
	r.settled(r.session(), "count 1")
	if _, err := os.Stat(marker); err != nil {
		t.Error(err)
	}
}
