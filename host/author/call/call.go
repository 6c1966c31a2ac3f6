// Package call makes one call of a plugin in the engine, without a host: what it asks of
// the host is answered from files of a folder and from recorded answers, and everything
// else is refused with what to do instead.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session/schema"
)

// Deadline bounds a call whose manifest says nothing.
const Deadline = 10 * time.Second

// Location is the directory of the session in a call without a folder of files.
const Location = "/location"

// Call is what is to be called.
type Call struct {
	// Golden has the export's entry, the settings, the body and recorded operations, which
	// are answered from before anything else.
	plugin.Golden
	// Folder is the location whose files can be read, absolute and without links; empty for
	// none.
	Folder string
	// Log gets each line that the plugin logs or prints, with its level; Progress what it
	// shows. Both are called while the call runs.
	Log      func(level, line string)
	Progress func(text string)
}

// Result is how a call came out.
type Result struct {
	Began bool // the plugin was loaded and called
	// Answer is {"ok": …} or {"error": …}, and Raw are the bytes behind it.
	Answer     json.RawMessage
	Raw        []byte
	OK         json.RawMessage // one of
	Error      *abi.Error      // the two
	Operations []Operation     // in order, without log and progress
	Fuel       int64           // in units of meter.Version
	Duration   time.Duration   // that counted towards the deadline
	Memory     uint32          // of the instance afterwards, in bytes
}

// Operation is one that the plugin asked for. Answer is a whole message.
type Operation struct {
	Name    string
	Request json.RawMessage
	Answer  []byte
}

// Tool is the call of a tool, on the folder as its session's directory. Input that does not fit
// the tool's schema is an error, as the model is told it.
func Tool(manifest abi.Manifest, name string, input json.RawMessage, folder string) (plugin.Golden, error) {
	i := slices.IndexFunc(manifest.Tools, func(tool abi.ManifestTool) bool { return tool.Name == name })
	if i < 0 {
		names := make([]string, len(manifest.Tools))
		for i, tool := range manifest.Tools {
			names[i] = tool.Name
		}
		return plugin.Golden{}, fmt.Errorf("%s has no tool %q; it has %q", manifest.ID, name, names)
	}
	compiled, err := schema.Compile([]byte(manifest.Tools[i].Input))
	if err != nil {
		return plugin.Golden{}, fmt.Errorf("tool %s: the schema of its input: %w", name, err)
	}
	if err := compiled.Check(input); err != nil {
		return plugin.Golden{}, fmt.Errorf("the input does not fit the schema of %s, so the model would be told: %w", name, err)
	}
	if folder == "" {
		folder = Location
	}
	body, err := json.Marshal(abi.ToolExecute{Tool: name, Input: input, Call: abi.ToolCall{ID: "call_1", Message: "msg_1"},
		Session: abi.Session{ID: "ses_1", Agent: "build"}, Location: abi.Location{Directory: folder, Root: folder, Platform: platform()}})
	return plugin.Golden{Entry: abi.ExportTool, Body: body}, err
}

// Run makes the call. What the plugin answers is in the result, an error too; it fails when
// the plugin does not load, breaks, answers no message, or ctx ends.
func Run(ctx context.Context, engine *wasm.Engine, candidate plugin.Candidate, call Call) (result Result, err error) {
	module, err := plugin.Load(ctx, engine, candidate, call.Config)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	deadline := deadlineOf(candidate.Manifest, call.Golden)
	message, err := json.Marshal(abi.Call[json.RawMessage]{DeadlineMS: deadline.Milliseconds(), Meta: abi.Meta{Plugin: candidate.Manifest.ID}, Body: call.Body})
	if err != nil {
		return result, err
	}
	asked := newAnswers(candidate.Manifest, call)
	called, err := module.Call(ctx, wasm.Request{Entry: call.Entry, Input: abi.EncodeMessage(message, nil), Deadline: deadline, Lane: laneOf(call.Entry),
		Session: "call", Operations: asked, Log: func(line string) { call.Log("info", line) }, LogAt: call.Log})
	result = Result{Began: true, Operations: asked.made, Fuel: called.Fuel, Duration: called.Duration, Memory: called.Memory}
	switch {
	case errors.Is(err, wasm.ErrEntry):
		return Result{}, fmt.Errorf("%w: %s offers none, and its module does not export %s", err, candidate.Manifest.ID, call.Entry)
	case errors.Is(err, wasm.ErrDeadline):
		fix := "let it end sooner"
		if _, is := plugin.ToolOf(candidate.Manifest, call.Golden); is {
			fix += ", or raise timeout_ms of its [[tool]]"
		}
		return result, fmt.Errorf("%w after %s; %s", err, deadline, fix)
	case err != nil:
		return result, err
	}
	if err := result.read(called.Output); err != nil || result.OK == nil {
		return result, err
	}
	return result, plugin.CheckOutput(candidate.Manifest, call.Golden, result.OK)
}

// read takes an answer apart.
func (r *Result) read(message []byte) (err error) {
	var answer abi.Answer[json.RawMessage]
	if r.Answer, r.Raw, err = abi.DecodeMessage(message); err == nil {
		err = json.Unmarshal(r.Answer, &answer)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the answer cannot be read: %w", err)
	case answer.Error != nil:
		r.Error = answer.Error
	case answer.OK != nil:
		r.OK = *answer.OK
	default:
		return errors.New("the answer has neither ok nor error")
	}
	return nil
}

// deadlineOf is the tool's own deadline where the manifest says one.
func deadlineOf(manifest abi.Manifest, call plugin.Golden) time.Duration {
	if tool, is := plugin.ToolOf(manifest, call); is && tool.TimeoutMS > 0 {
		return time.Duration(tool.TimeoutMS) * time.Millisecond
	}
	return Deadline
}

func laneOf(entry string) wasm.Lane {
	if entry == abi.ExportTool {
		return wasm.LaneTool
	}
	return wasm.LaneQuick
}
