package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plinthhost/plinth/session"
)

// Kinds of a session.ToolError.
const (
	kindFailed      = "failed"
	kindInvalid     = "invalid_input"
	kindLimit       = "limit"
	kindNotFound    = "not_found"
	kindTimeout     = "timeout"
	kindUnavailable = "unavailable"
)

func refuse(kind, format string, args ...any) error {
	return &session.ToolError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// directTool is a tool that is described whole. It belongs to no connection: it goes to
// whichever its server has.
type directTool struct {
	hub    *Hub
	server string
	tool   remote
}

// Definition is what the server says of the tool, cleaned. Its permission is asked under
// the tool's own name.
func (t directTool) Definition() session.ToolDefinition { return t.tool.definition }

// Execute has the server run the call.
func (t directTool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	return t.hub.call(ctx, t.server, t.tool, call.Input, call)
}

// errTimeout ends a call that takes too long.
var errTimeout = errors.New("the call took too long")

// call has a server run a tool with the input.
func (h *Hub) call(ctx context.Context, name string, tool remote, input json.RawMessage, call session.ToolCall) (session.ToolOutput, error) {
	timeout := tool.definition.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	late := func() error { return refuse(kindTimeout, "The MCP server %s did not answer within %s", name, timeout) }
	s := h.server(name)
	if s == nil {
		return session.ToolOutput{}, refuse(kindUnavailable, "The MCP server %s is not configured any more", name)
	}
	c, err := s.reach(ctx)
	switch {
	case errors.Is(err, errTimeout):
		return session.ToolOutput{}, late()
	case ctx.Err() != nil:
		return session.ToolOutput{}, context.Cause(ctx)
	case err != nil:
		return session.ToolOutput{}, refuse(kindUnavailable, "The MCP server %s is not there: %v; go on without it, or try again later", name, err)
	}
	result, err := c.call(ctx, tool.name, input, call.Host.Progress)
	switch {
	case err == nil:
		return h.output(ctx, name, result)
	case errors.Is(context.Cause(ctx), errTimeout):
		select {
		case c.silent <- struct{}{}:
		default:
		}
		return session.ToolOutput{}, late()
	case ctx.Err() != nil:
		return session.ToolOutput{}, context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return session.ToolOutput{}, refuse(kindFailed, "The MCP server %s refused the call: %s", name, line(h.scrub(refused.Message), 1024))
	}
	c.lost()
	return session.ToolOutput{}, refuse(kindUnavailable, "The connection to the MCP server %s broke in the call (%s); whether the call had an effect is not known, so look before it is repeated",
		name, line(h.scrub(err.Error()), 300))
}

// call makes one call over the connection.
func (c *connection) call(ctx context.Context, tool string, input json.RawMessage, progress func(string)) (result *sdk.CallToolResult, err error) {
	token := strconv.FormatInt(c.calls.Add(1), 10)
	c.shown.Store(token, shown(progress))
	defer c.shown.Delete(token)
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	params := &sdk.CallToolParams{Meta: sdk.Meta{}, Name: tool, Arguments: input}
	params.SetProgressToken(token)
	err = c.guarded(ctx, func() error {
		result, err = c.client.CallTool(ctx, params)
		return err
	})
	return result, err
}

// guarded says something to the server. One that does not even read it is left when the
// context ends.
func (c *connection) guarded(ctx context.Context, say func() error) error {
	returned := make(chan struct{})
	var guard sync.WaitGroup
	guard.Go(func() {
		select {
		case <-returned:
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(farewell)
		defer timer.Stop()
		select {
		case <-returned:
		case <-timer.C:
			c.finish(false)
		}
	})
	defer guard.Wait()
	defer close(returned)
	return say()
}

// showEvery is the least time between two lines of a call's progress.
const showEvery = 200 * time.Millisecond

// shown shows progress, not too often.
func shown(show func(string)) func(*sdk.ProgressNotificationParams) {
	var mu sync.Mutex
	var last time.Time
	return func(params *sdk.ProgressNotificationParams) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) < showEvery {
			return
		} else {
			last = now
		}
		text := strconv.FormatFloat(params.Progress, 'g', -1, 64)
		if params.Total > 0 {
			text += "/" + strconv.FormatFloat(params.Total, 'g', -1, 64)
		}
		if message := line(params.Message, 200); message != "" {
			text += " " + message
		}
		show(text)
	}
}
