package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// broken is a call that fails, and what the model, the client and the operator read.
type broken struct {
	kind   abi.Kind
	text   string
	prompt string
	config string
	exit   int
	logs   string // what the host logs of it
	// arrange readies the host.
	arrange func(r *rig)
}

func brokenCalls() []broken {
	return []broken{
		{kind: abi.KindInvalidInput, prompt: `call read {"file":"notes.txt"}`,
			text: "Invalid tool input: additional properties 'file' not allowed; missing property 'path'"},
		{kind: abi.KindNotFound, prompt: "read nothing.txt", text: "nothing.txt does not exist"},
		{kind: abi.KindDenied, prompt: "read secret.txt", text: "read on secret.txt is denied by the permission rules",
			config: "[permissions]\nrules = [{ action = \"read\", resource = \"secret.txt\", effect = \"deny\" }]\n"},
		{kind: abi.KindUnavailable, prompt: "hello", text: "Stale tool call: leaving", arrange: (*rig).leavingTool},
		{kind: abi.KindConflict, prompt: "call tasks {}", text: "session · is still at work; wait for its end, or leave session out to begin another",
			arrange: (*rig).busyTask},
		{kind: abi.KindLimit, prompt: "hello", text: "One answer may call 1 tools and this is call 2 of it; call the rest in the next",
			config: "[runner]\nmax_calls_per_turn = 1\n", arrange: (*rig).twoCalls},
		{kind: abi.KindCancelled, prompt: "call stop {}", text: "Tool execution interrupted", exit: exitInterrupted, arrange: (*rig).stopTool},
		{kind: abi.KindTimeout, prompt: "call endless {}", text: "The tool endless did not answer within 100ms", arrange: (*rig).endlessPlugin},
		{kind: abi.KindFailed, prompt: "call broken {}", text: "Tool execution failed: broken broke; the host's log has the reason",
			logs: "tool failed: tool=broken", arrange: func(r *rig) {
				r.tool("broken", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
					return session.ToolOutput{}, errors.New("the tool's own disk is full")
				})
			}},
	}
}

// TestToolKinds: how a call failed reads the same in the log, over HTTP and at the
// terminal. What a tool did not mean for models is in the host's log alone.
func TestToolKinds(t *testing.T) {
	for _, c := range brokenCalls() {
		t.Run(string(c.kind), func(t *testing.T) {
			r := newRig(t)
			r.write("notes.txt", "one\n")
			r.write("secret.txt", "two\n")
			if c.config != "" {
				r.configure(c.config)
				r.restart()
			}
			if c.arrange != nil {
				c.arrange(r)
			}
			id := r.session()
			got[protocol.PromptAnswer](r, request{path: "/v1/sessions/" + id + "/prompts?wait=settled", body: failing{prompt: c.prompt}.body("")})
			c.told(r, id)
			id = r.session()
			_, notes, exit := r.terminal("run", "--session", id, c.prompt)
			want := "✗ " + string(c.kind) + ": " + oneLine(c.text, noteLength)
			if !strings.Contains(r.same(notes), want+"\n") || exit != c.exit {
				t.Errorf("plinth run ends with %d, want %d, and lacks\n%s\n%s", exit, c.exit, want, r.same(notes))
			}
			c.told(r, id)
			if log := r.log.String(); !strings.Contains(log, c.logs) || c.logs != "" && !strings.Contains(log, "the tool's own disk is full") {
				t.Errorf("the host does not log %q:\n%s", c.logs, log)
			}
		})
	}
}

// told looks at the one call that failed, in the log and in the transcript.
func (c broken) told(r *rig, id string) {
	r.t.Helper()
	var inLog, inTranscript []protocol.ToolError
	for _, event := range got[protocol.EventList](r, request{method: http.MethodGet, path: "/v1/sessions/" + id + "/events?limit=200"}).Events {
		if event.Type == (session.ToolFailed{}).EventType() {
			var failed session.ToolFailed
			r.unmarshal(event.Data, &failed)
			inLog = append(inLog, protocol.ToolError(failed.Error))
		}
	}
	for _, message := range got[protocol.MessageList](r, request{method: http.MethodGet, path: "/v1/sessions/" + id + "/messages"}).Messages {
		for _, part := range message.Parts {
			if part.Tool != nil && part.Tool.Error != nil {
				inTranscript = append(inTranscript, *part.Tool.Error)
			}
		}
	}
	for where, all := range map[string][]protocol.ToolError{"the log": inLog, "the transcript": inTranscript} {
		if len(all) != 1 || all[0].Kind != string(c.kind) || r.same(all[0].Message) != c.text {
			r.t.Errorf("%s has %+v, want %s: %s", where, all, c.kind, c.text)
		}
	}
}

// calls is an answer that calls a tool, as often as there are ids.
func calls(yield func(session.ModelEvent, error) bool, name string, ids ...string) {
	for _, id := range ids {
		if !yield(session.ModelEvent{Type: session.EventToolStart, ID: id, Name: name}, nil) || !yield(session.ModelEvent{Type: session.EventToolEnd, ID: id}, nil) {
			return
		}
	}
	yield(session.ModelEvent{Type: session.EventFinish, Reason: session.FinishToolCalls}, nil)
}

// done is an answer of one word.
func done(yield func(session.ModelEvent, error) bool) {
	if yield(session.ModelEvent{Type: session.EventTextDelta, ID: "t", Text: "done"}, nil) {
		yield(session.ModelEvent{Type: session.EventFinish, Reason: session.FinishStop}, nil)
	}
}

// called reports whether a request has the result of a call.
func called(request session.ModelRequest) bool {
	return request.Messages[len(request.Messages)-1].Role == session.RoleTool
}

func nothing(context.Context, session.ToolCall) (session.ToolOutput, error) {
	return sessiontest.Output("ok"), nil
}

// leavingTool contributes a tool that is removed after it was offered.
func (r *rig) leavingTool() {
	r.provide(func(_ context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		if called(request) {
			r.tool("leaving", nothing) // for the other door
			done(yield)
			return
		}
		r.registries.Remove("test/leaving", "")
		calls(yield, "leaving", "a")
	})
	r.tool("leaving", nothing)
}

// twoCalls makes the model call a tool twice in one answer.
func (r *rig) twoCalls() {
	r.tool("nothing", nothing)
	r.provide(func(_ context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		if called(request) {
			done(yield)
			return
		}
		calls(yield, "nothing", "a", "b")
	})
}

// busyTask contributes a tool that gives a second task to a session that is at work on
// its first.
func (r *rig) busyTask() {
	working, stop := make(chan struct{}, 2), make(chan struct{})
	r.t.Cleanup(func() { close(stop) })
	r.tool("wait", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		working <- struct{}{}
		select {
		case <-stop:
		case <-ctx.Done():
		}
		return sessiontest.Output("waited"), nil
	})
	r.tool("tasks", func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
		host := call.Host.(session.TaskRunner)
		task := session.Task{Description: "waits", Prompt: "call wait {}", Agent: "general", Background: true}
		begun, err := host.RunTask(ctx, task)
		if err != nil {
			return session.ToolOutput{}, err
		}
		<-working
		task.Session = begun.Session
		_, err = host.RunTask(ctx, task)
		return session.ToolOutput{}, err
	})
}

// endlessPlugin adds a plugin whose tool never answers.
func (r *rig) endlessPlugin() {
	folder := filepath.Join(filepath.Dir(r.data), "plugins", "endless")
	manifest := "schema = 1\nid = \"acme/endless\"\nversion = \"0.1.0\"\ndescription = \"Never answers\"\n" +
		"[[tool]]\nname = \"endless\"\ndescription = \"Never answers\"\ninput = '{\"type\":\"object\"}'\ntimeout_ms = 100\npermission = { action = \"endless\" }\n"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		r.t.Fatal(err)
	}
	for name, content := range map[string]string{"plugin.toml": manifest, "endless.wasm": string(bridgetest.New().Loops(abi.ExportTool).Bytes())} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.configure("[plugins]\nfolders = [\"" + filepath.Dir(folder) + "\"]\n[permissions]\nrules = [{ action = \"endless\", resource = \"*\", effect = \"allow\" }]\n")
	r.restart()
}
