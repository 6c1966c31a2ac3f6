package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// taskRig is a world with tasks, whose model answers by what it is asked and by whom.
type taskRig struct {
	*sessiontest.World
	tasks *session.Tasks
	play  func(request session.ModelRequest) sessiontest.Turn

	mu    sync.Mutex
	plays []session.ModelRequest
}

// newTaskRig opens a world on dir, "" for a new one.
func newTaskRig(t *testing.T, dir string, play func(session.ModelRequest) sessiontest.Turn) *taskRig {
	t.Helper()
	config := runner.DefaultConfig()
	config.Retries, config.Recovery = 0, session.RecoverOff
	r := &taskRig{World: sessiontest.New(t, sessiontest.Options{Dir: dir, Config: config,
		Agents: []session.Agent{{Name: "helper", Mode: session.AgentSubagent},
			{Name: "expert", Mode: session.AgentSubagent, Model: &session.ModelRef{Provider: "scripted", Model: "expert-model"}}},
		Rules: []session.Rule{{Action: "risky", Resource: "*", Effect: session.Ask}}}), play: play}
	r.tasks = r.Tasks
	r.Contribute("core/scripted", r.Kinds.Providers.Contribute("scripted", 0, r))
	r.Contribute("core/tools", r.Kinds.Tools.Contribute("task", 0, sessiontest.Tool{Run: r.task,
		Define: session.ToolDefinition{Name: "task", Input: json.RawMessage(`{"type":"object"}`)}}))
	return r
}

// Stream plays what the rig's model answers to the request.
func (r *taskRig) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	r.mu.Lock()
	r.plays = append(r.plays, request)
	r.mu.Unlock()
	return func(yield func(session.ModelEvent, error) bool) { r.play(request)(ctx, request, yield) }
}

// requests answers what the model of a session was asked.
func (r *taskRig) requests(id string) (all []session.ModelRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.plays {
		if request.Session == id {
			all = append(all, request)
		}
	}
	return all
}

// task is the tool that gives tasks.
func (r *taskRig) task(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	var task session.Task
	if err := json.Unmarshal(call.Input, &task); err != nil {
		return session.ToolOutput{}, err
	}
	caller := r.caller(call.Session)
	caller.Message, caller.Call, caller.Location = call.Message, call.ID, call.Location
	result, err := r.tasks.Run(ctx, caller, task)
	return sessiontest.Output("result: " + result.Text), err
}

// caller is a call of the session that the rig makes itself.
func (r *taskRig) caller(id string) session.TaskCaller {
	r.T.Helper()
	fence, err := r.Log.Acquire(context.WithoutCancel(r.T.Context()), id)
	if err != nil {
		r.T.Error(err)
	}
	return session.TaskCaller{Session: id, Message: "msg_none", Call: "call-0", Agent: "build", Fence: fence,
		Model: session.ModelRef{Provider: "scripted", Model: "m1"}, Location: session.Location{Directory: "/work", Root: "/work"}}
}

// run gives a task for a call that the rig makes itself.
func (r *taskRig) run(id string, task session.Task) (session.TaskResult, error) {
	r.T.Helper()
	return r.tasks.Run(r.T.Context(), r.caller(id), task)
}

// payloads answers what a session's log has of one kind.
func payloads[T session.Payload](r *taskRig, id string) (all []T) {
	r.T.Helper()
	page, err := r.Log.Read(context.WithoutCancel(r.T.Context()), id, -1, 10_000)
	if err != nil {
		r.T.Fatal(err)
	}
	for _, event := range page.Events {
		payload, err := session.Decode(event)
		if err != nil {
			r.T.Fatal(err)
		}
		if wanted, ok := payload.(T); ok {
			all = append(all, wanted)
		}
	}
	return all
}

// seen reads tables.
func seen[T any](r *taskRig, read func(ctx context.Context, tx store.Tx) (T, error)) (value T) {
	r.T.Helper()
	err := r.Log.View(r.T.Context(), func(tx store.Tx) (err error) {
		value, err = read(r.T.Context(), tx)
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return value
}

// running answers the tasks of a session that have not ended.
func (r *taskRig) running(id string) []session.TaskRecord {
	r.T.Helper()
	return seen(r, func(ctx context.Context, tx store.Tx) ([]session.TaskRecord, error) {
		return session.LoadTasks(ctx, tx, id)
	})
}

// delivered answers the texts that came to a session's inbox from its tasks.
func (r *taskRig) delivered(id string) (texts []string) {
	r.T.Helper()
	for _, admitted := range payloads[session.PromptAdmitted](r, id) {
		if admitted.Synthetic {
			texts = append(texts, admitted.Prompt.Text)
		}
	}
	return texts
}

// said is the text of the last message of a request.
func said(request session.ModelRequest) string {
	last := request.Messages[len(request.Messages)-1]
	var text strings.Builder
	for _, part := range last.Parts {
		text.WriteString(part.Text)
	}
	return text.String()
}

// toolError asserts a failure that the model is told.
func toolError(t *testing.T, err error, kind string, words ...string) {
	t.Helper()
	told, ok := asToolError(err)
	if !ok || told.Kind != kind {
		t.Errorf("error %v; want a ToolError of kind %s", err, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(told.Message, word) {
			t.Errorf("message %q has no %q", told.Message, word)
		}
	}
}

// sayAlways answers every request with the text.
func sayAlways(text string) func(session.ModelRequest) sessiontest.Turn {
	return func(session.ModelRequest) sessiontest.Turn { return sessiontest.Say(text) }
}

func helperTask(prompt string) session.Task {
	return session.Task{Description: "A task", Prompt: prompt, Agent: "helper"}
}

func taskInput(background bool) string {
	return fmt.Sprintf(`{"Description":"Look","Prompt":"look around","Agent":"helper","Background":%v}`, background)
}
