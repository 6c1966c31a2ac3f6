package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func asToolError(err error) (*session.ToolError, bool) { return errors.AsType[*session.ToolError](err) }

// parentAndChild is a model that gives one task, in the background or not, and answers
// what comes of it; the child answers with child.
func parentAndChild(background bool, child sessiontest.Turn) func(session.ModelRequest) sessiontest.Turn {
	return func(request session.ModelRequest) sessiontest.Turn {
		switch text := said(request); {
		case strings.Contains(text, "look around"):
			return child
		case text == "go":
			return sessiontest.Calls("task", taskInput(background))
		}
		return sessiontest.Say("noted")
	}
}

func TestATaskInTheForegroundAnswersTheCall(t *testing.T) {
	r := newTaskRig(t, "", parentAndChild(false, sessiontest.Say("seen")))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	r.Settled(parent, 1)

	started := payloads[session.TaskStarted](r, parent)[0]
	got := r.Messages(parent)[1]
	if subtask := got.Parts[1]; subtask.Type != session.MessagePartSubtask || subtask.Subtask.Session != started.Session {
		t.Errorf("the call shows %+v", subtask)
	}
	if text := got.Parts[0].Tool.Content[0].Text; text != "result: seen" {
		t.Errorf("the call answered %q", text)
	}
	if diff := cmp.Diff([]session.TaskEnded{{Session: started.Session, Prompt: started.Prompt, Outcome: session.Completed}},
		payloads[session.TaskEnded](r, parent)); diff != "" {
		t.Error(diff)
	}
	child, err := r.Sessions.Get(t.Context(), started.Session)
	if err != nil {
		t.Fatal(err)
	}
	want := session.Session{ID: started.Session, Title: "Look", Location: session.Location{Directory: "/work", Root: "/work"}, Agent: "helper",
		Model: session.ModelRef{Provider: "scripted", Model: "m1"}, Created: child.Created, Parent: parent, Depth: 1,
		Interrupt: -1, Resume: -1, History: -1, Compaction: -1, Compact: -1, Pruned: -1, Rewritten: -1,
		Answered: child.Answered}
	if diff := cmp.Diff(want, child); diff != "" {
		t.Error(diff)
	}
	if len(r.running(parent)) != 0 || len(r.delivered(parent)) != 0 {
		t.Errorf("running %v, delivered %v", r.running(parent), r.delivered(parent))
	}
	// What the child spends counts for the parent.
	spent := func(id string) session.Totals {
		return seen(r, func(ctx context.Context, tx store.Tx) (session.Totals, error) { return session.LoadTotals(ctx, tx, id) })
	}
	if own, all := spent(child.ID), spent(parent); own.Turns != 1 || own.Usage.Input != 10 || all.Turns != 3 || all.Usage.Input != 20 {
		t.Errorf("the child spent %+v, the parent %+v", own, all)
	}
}

// The record of a task comes before its child, and the child's end before the parent's.
func TestATaskIsRecordedBeforeItsChildExists(t *testing.T) {
	r := newTaskRig(t, "", parentAndChild(false, sessiontest.Say("seen")))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	r.Settled(parent, 1)
	feed, err := r.Log.Feed(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	var record string
	for _, event := range feed.Events {
		name, of := event.Type, "child "
		if event.Aggregate == parent {
			of = "parent "
		}
		switch name {
		case "session.task.started":
			record = event.ID
		case "session.created", "session.prompt.admitted":
			if of == "child " && event.Cause != record {
				t.Errorf("the child's %s has the cause %q, want the task's record %q", name, event.Cause, record)
			}
		case "session.activity.ended", "session.task.ended", "session.tool.success":
		default:
			continue
		}
		order = append(order, of+strings.TrimPrefix(name, "session."))
	}
	want := []string{"parent created", "parent prompt.admitted", "parent task.started", "child created", "child prompt.admitted",
		"child activity.ended", "parent task.ended", "parent tool.success", "parent activity.ended"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestABackgroundTaskDeliversToAnIdleParent(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	r := newTaskRig(t, "", parentAndChild(true, sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	r.Settled(parent, 1) // with the child at work
	if texts := r.delivered(parent); len(texts) != 0 {
		t.Fatalf("delivered already: %q", texts)
	}
	close(open)
	r.Settled(parent, 2)
	child := payloads[session.TaskStarted](r, parent)[0].Session
	want := []string{fmt.Sprintf("The background task \"Look\" in session %s is completed. Its last answer:\n\nseen", child)}
	if diff := cmp.Diff(want, r.delivered(parent)); diff != "" {
		t.Error(diff)
	}
	requests := r.requests(parent)
	if text := said(requests[len(requests)-1]); text != want[0] {
		t.Errorf("the model was last told %q", text)
	}
	if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || ended[0].Outcome != session.Completed {
		t.Errorf("ended %+v", ended)
	}
}

func TestABackgroundTaskDeliversToARunningParent(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	begun, look := make(chan struct{}, 1), make(chan struct{})
	turns := 0
	r := newTaskRig(t, "", func(request session.ModelRequest) sessiontest.Turn {
		switch text := said(request); {
		case strings.Contains(text, "look around"):
			return sessiontest.Then(sessiontest.Gate(begun, look), sessiontest.Say("seen"))
		case text == "go":
			return sessiontest.Calls("task", taskInput(true))
		}
		if turns++; turns == 1 {
			return sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("working"))
		}
		return sessiontest.Say("noted")
	})
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached // the parent runs, and the child has not answered
	close(look)
	r.Await(parent, session.TaskEnded{}.EventType(), 1)
	close(open)
	r.Settled(parent, 1)
	if len(r.delivered(parent)) != 1 || turns != 2 {
		t.Errorf("delivered %q after %d turns", r.delivered(parent), turns)
	}
	if started := payloads[session.ActivityStarted](r, parent); len(started) != 1 {
		t.Errorf("%d activities; the result steers the one that runs", len(started))
	}
}

func TestAnInterruptOfTheParentStopsTheChild(t *testing.T) {
	reached := make(chan struct{}, 1)
	r := newTaskRig(t, "", parentAndChild(false, sessiontest.Gate(reached, nil)))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	if _, err := r.Sessions.Interrupt(t.Context(), session.System(), parent); err != nil {
		t.Fatal(err)
	}
	child := payloads[session.TaskStarted](r, parent)[0].Session
	if r.Coordinator.Running(child) {
		t.Error("the interrupt returned before the child had cleaned up")
	}
	if ended := payloads[session.ActivityEnded](r, child); len(ended) != 1 || ended[0].Outcome != session.Interrupted {
		t.Errorf("the child ended %+v", ended)
	}
	if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || ended[0].Outcome != session.Interrupted {
		t.Errorf("the task ended %+v", ended)
	}
}

// A task in the background belongs to the session, not to the call that gave it.
func TestAnInterruptOfTheParentLeavesABackgroundTask(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	r := newTaskRig(t, "", parentAndChild(true, sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	r.Settled(parent, 1)
	if _, err := r.Sessions.Interrupt(t.Context(), session.System(), parent); err != nil {
		t.Fatal(err)
	}
	close(open)
	r.Settled(parent, 2)
	if texts := r.delivered(parent); len(texts) != 1 || !strings.Contains(texts[0], "is completed") {
		t.Errorf("delivered %q", texts)
	}
}

func TestAChildThatDoesNotComplete(t *testing.T) {
	failing := sessiontest.Fail(&session.ProviderError{Class: session.ProviderQuota, Message: "No credit is left."})
	t.Run("failed", func(t *testing.T) {
		r := newTaskRig(t, "", func(session.ModelRequest) sessiontest.Turn { return failing })
		parent := r.Create()
		_, err := r.run(parent, helperTask("look"))
		child := payloads[session.TaskStarted](r, parent)[0].Session
		toolError(t, err, "failed", "The task failed: No credit is left. To go on with it, give a task with session "+child+".")
		if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || ended[0].Outcome != session.Failed {
			t.Errorf("ended %+v", ended)
		}
	})
	t.Run("failed in the background", func(t *testing.T) {
		r := newTaskRig(t, "", func(request session.ModelRequest) sessiontest.Turn {
			if said(request) == "look" {
				return failing
			}
			return sessiontest.Say("noted")
		})
		parent := r.Create()
		task := helperTask("look")
		task.Background = true
		if _, err := r.run(parent, task); err != nil {
			t.Fatal(err)
		}
		r.Settled(parent, 1)
		if texts := r.delivered(parent); len(texts) != 1 || !strings.HasSuffix(texts[0], " failed: No credit is left.") {
			t.Errorf("delivered %q", texts)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		reached := make(chan struct{}, 1)
		r := newTaskRig(t, "", func(session.ModelRequest) sessiontest.Turn { return sessiontest.Gate(reached, nil) })
		parent := r.Create()
		var group sync.WaitGroup
		group.Go(func() {
			_, err := r.run(parent, helperTask("look"))
			toolError(t, err, "cancelled", "was interrupted", "ses_")
		})
		<-reached
		child := payloads[session.TaskStarted](r, parent)[0].Session
		if _, err := r.Sessions.Interrupt(t.Context(), session.System(), child); err != nil {
			t.Fatal(err)
		}
		group.Wait()
	})
	t.Run("halted", func(t *testing.T) {
		r := newTaskRig(t, "", func(session.ModelRequest) sessiontest.Turn { return sessiontest.Calls("risky", `{}`) })
		r.Contribute("core/risky", r.Kinds.Tools.Contribute("risky", 0, sessiontest.Tool{
			Define: session.ToolDefinition{Name: "risky", Input: json.RawMessage(`{"type":"object"}`)},
			Run: func(context.Context, session.ToolCall) (session.ToolOutput, error) {
				t.Error("the tool ran")
				return session.ToolOutput{}, nil
			}}))
		parent := r.Create()
		var group sync.WaitGroup
		group.Go(func() {
			_, err := r.run(parent, helperTask("look"))
			toolError(t, err, "denied", "was halted because a person declined", "ses_")
		})
		r.Await(parent, session.TaskStarted{}.EventType(), 1)
		child := payloads[session.TaskStarted](r, parent)[0].Session
		r.Await(child, session.PermissionAsked{}.EventType(), 1)
		asked := payloads[session.PermissionAsked](r, child)[0]
		if _, err := r.Permissions.Reply(t.Context(), session.System(), asked.Request, session.ReplyReject, ""); err != nil {
			t.Error(err)
		}
		group.Wait()
		if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || ended[0].Outcome != session.Halted {
			t.Errorf("ended %+v", ended)
		}
	})
	t.Run("without a context", func(t *testing.T) {
		r := newTaskRig(t, "", sayAlways("seen"))
		r.Contribute("core/required", r.Kinds.Contexts.Contribute("core/required", 0, sessiontest.Source{Names: []string{"core/required"},
			Run: func(context.Context, session.Observation) ([]session.SourceState, error) {
				return nil, errors.New("down")
			}}))
		parent := r.Create()
		_, err := r.run(parent, helperTask("look"))
		toolError(t, err, "failed", "core/required")
		child := payloads[session.TaskStarted](r, parent)[0].Session
		if pending, err := r.Sessions.Inbox(t.Context(), child); err != nil || len(pending) != 0 {
			t.Errorf("pending %v, %v; the prompt must not run later for nobody", pending, err)
		}
	})
	t.Run("with its prompt taken out", func(t *testing.T) {
		r := newTaskRig(t, "", sayAlways("seen"))
		parent := r.Create()
		r.tasks = session.NewTasks(r.Log, r.Encoder, r.Sessions, asleep{}, r.Agents, hclog.NewNullLogger())
		var group sync.WaitGroup
		group.Go(func() {
			_, err := r.run(parent, helperTask("look"))
			toolError(t, err, "cancelled", "its prompt was taken out of the inbox")
		})
		r.Await(parent, session.TaskStarted{}.EventType(), 1)
		started := payloads[session.TaskStarted](r, parent)[0]
		r.Await(started.Session, session.PromptAdmitted{}.EventType(), 1)
		appendTo(r, started.Session, session.PromptCancelled{Message: started.Prompt})
		group.Wait()
	})
}

// asleep wakes nobody, so nothing is promoted.
type asleep struct{}

func (asleep) Wake(string, int64) {}

func appendTo(r *taskRig, id string, payloads ...session.Payload) {
	r.T.Helper()
	events, err := r.Encoder.Encode(session.System(), payloads...)
	if err != nil {
		r.T.Fatal(err)
	}
	if _, err := r.Log.Append(r.T.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err != nil {
		r.T.Fatal(err)
	}
}

func TestGoingOnWithATask(t *testing.T) {
	r := newTaskRig(t, "", func(request session.ModelRequest) sessiontest.Turn {
		return sessiontest.Say(fmt.Sprintf("%s answers %s", request.Model.Model, said(request)))
	})
	parent := r.Create()
	first, err := r.run(parent, helperTask("one"))
	if err != nil || first.Text != "m1 answers one" {
		t.Fatalf("%+v, %v", first, err)
	}
	again := helperTask("two")
	again.Session = first.Session
	if second, err := r.run(parent, again); err != nil || second != (session.TaskResult{Session: first.Session, Text: "m1 answers two"}) {
		t.Fatalf("%+v, %v", second, err)
	}
	if n := len(r.requests(first.Session)[1].Messages); n != 3 {
		t.Errorf("the child was sent %d messages; it must see what it did before", n)
	}
	again.Agent, again.Prompt = "expert", "three"
	if third, err := r.run(parent, again); err != nil || third.Text != "expert-model answers three" {
		t.Errorf("%+v, %v", third, err)
	}
	if child, err := r.Sessions.Get(t.Context(), first.Session); err != nil || child.Agent != "expert" {
		t.Errorf("%+v, %v", child, err)
	}
	again.Agent, again.Prompt = "helper", "four" // whose model is the parent's
	if fourth, err := r.run(parent, again); err != nil || fourth.Text != "m1 answers four" {
		t.Errorf("%+v, %v", fourth, err)
	}
	if children := seen(r, func(ctx context.Context, tx store.Tx) ([]string, error) { return session.LoadChildren(ctx, tx, parent) }); len(children) != 1 {
		t.Errorf("children %v", children)
	}
}

func TestGoingOnWithATaskThatFailed(t *testing.T) {
	r := newTaskRig(t, "", func(request session.ModelRequest) sessiontest.Turn {
		if said(request) == "one" {
			return sessiontest.Fail(&session.ProviderError{Class: session.ProviderQuota, Message: "no credit"})
		}
		return sessiontest.Say("seen")
	})
	parent := r.Create()
	_, err := r.run(parent, helperTask("one"))
	toolError(t, err, "failed", "no credit")
	again := helperTask("two")
	again.Session = payloads[session.TaskStarted](r, parent)[0].Session
	if second, err := r.run(parent, again); err != nil || second.Text != "seen" {
		t.Errorf("%+v, %v", second, err)
	}
}

func TestTheDoorOfTasks(t *testing.T) {
	reached, open := make(chan struct{}, 100), make(chan struct{})
	r := newTaskRig(t, "", func(session.ModelRequest) sessiontest.Turn {
		return sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))
	})
	parent := r.Create()
	busy := helperTask("busy")
	busy.Background = true
	at, err := r.run(parent, busy)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*session.Task)) session.Task {
		task := helperTask("look")
		change(&task)
		return task
	}
	for _, c := range []struct {
		name  string
		task  session.Task
		kind  string
		words string
	}{
		{"no description", with(func(t *session.Task) { t.Description = " " }), "invalid_input", "description is empty; say in a few words what the task is"},
		{"a long description", with(func(t *session.Task) { t.Description = strings.Repeat("d", 201) }), "invalid_input", "description has 201 characters, the limit is 200; a few words"},
		{"a description of two lines", with(func(t *session.Task) { t.Description = "a\nb" }), "invalid_input", "description has a line break or another control character"},
		{"no prompt", with(func(t *session.Task) { t.Prompt = "\n" }), "invalid_input", "prompt is empty; the child knows only what it says"},
		{"a long prompt", with(func(t *session.Task) { t.Prompt = strings.Repeat("p", session.MaxPromptBytes) }), "invalid_input", "the limit is 1048576"},
		{"no text", with(func(t *session.Task) { t.Prompt = "\xff" }), "invalid_input", "not valid UTF-8"},
		{"an unknown agent", with(func(t *session.Task) { t.Agent = "build" }), "not_found", `agent is "build", which takes no tasks; those that do: expert, explore, general, helper`},
		{"an unknown session", with(func(t *session.Task) { t.Session = "ses_none" }), "not_found", "ses_none is no task of this session; leave session out to begin another"},
		{"somebody else's session", with(func(t *session.Task) { t.Session = parent }), "not_found", "is no task of this session"},
		{"a session at work", with(func(t *session.Task) { t.Session = at.Session }), "conflict", "is still at work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.run(parent, c.task)
			toolError(t, err, c.kind, c.words)
		})
	}
	if started := payloads[session.TaskStarted](r, parent); len(started) != 1 {
		t.Errorf("%d tasks were recorded; a refused one must not be", len(started))
	}
	close(open)
	r.Settled(parent, 1)
}

// A host that has lost the session opens nothing.
func TestATaskNeedsTheSession(t *testing.T) {
	r := newTaskRig(t, "", sayAlways("seen"))
	parent := r.Create()
	if _, err := r.run(parent, helperTask("look")); err != nil {
		t.Fatal(err)
	}
	before := len(r.feed())
	stale := r.caller(parent)
	stale.Fence--
	if _, err := r.tasks.Run(t.Context(), stale, helperTask("look")); !errors.Is(err, store.ErrFenced) {
		t.Errorf("error %v, want ErrFenced", err)
	}
	if n := len(r.feed()); n != before {
		t.Errorf("%d events more", n-before)
	}
	reached, open := make(chan struct{}, 1), make(chan struct{})
	r.play = func(session.ModelRequest) sessiontest.Turn {
		return sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))
	}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := r.run(parent, helperTask("look")); !errors.Is(err, store.ErrFenced) {
			t.Errorf("error %v of a task whose host lost the session meanwhile, want ErrFenced", err)
		}
	})
	<-reached
	events, err := r.Encoder.Encode(session.System(), session.Synthetic{Message: r.Encoder.IDs.New(session.PrefixMessage), Text: "taken over"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Log.Append(t.Context(), store.Batch{Aggregate: parent, Mode: store.Fenced(r.caller(parent).Fence + 1), Events: events}); err != nil {
		t.Fatal(err)
	}
	close(open)
	group.Wait()
	if left := r.running(parent); len(left) != 1 {
		t.Errorf("running %+v; the next holder is to end it", left)
	}
	none := r.caller("ses_none")
	if _, err := r.tasks.Run(t.Context(), none, helperTask("look")); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
}

func TestTasksAreNotNestedWithoutEnd(t *testing.T) {
	r := newTaskRig(t, "", sayAlways("seen"))
	id := r.Create()
	for depth := 1; depth <= session.MaxTaskDepth; depth++ {
		result, err := r.run(id, helperTask("deeper"))
		if err != nil {
			t.Fatal(err)
		}
		child, err := r.Sessions.Get(t.Context(), result.Session)
		if err != nil || child.Depth != depth || child.Parent != id {
			t.Fatalf("%+v, %v", child, err)
		}
		id = child.ID
	}
	_, err := r.run(id, helperTask("deeper"))
	toolError(t, err, "limit", "4 deep", "the limit is 4")
	lineage := seen(r, func(ctx context.Context, tx store.Tx) ([]session.Session, error) {
		return session.LoadLineage(ctx, tx, id)
	})
	if len(lineage) != 5 || lineage[0].ID != id || lineage[4].Depth != 0 {
		t.Errorf("lineage %+v", lineage)
	}
	if err := r.Log.Delete(t.Context(), lineage[3].ID); err != nil {
		t.Fatal(err)
	}
	err = r.Log.View(t.Context(), func(tx store.Tx) error {
		_, err := session.LoadLineage(t.Context(), tx, id)
		return err
	})
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("error %v of a lineage with a gap, want ErrNotFound", err)
	}
}

func TestManyTasksAtOnce(t *testing.T) {
	open := make(chan struct{})
	r := newTaskRig(t, "", func(request session.ModelRequest) sessiontest.Turn {
		if said(request) == "look" {
			return sessiontest.Then(sessiontest.Gate(make(chan struct{}, 1), open), sessiontest.Say("seen"))
		}
		return sessiontest.Say("noted")
	})
	parent := r.Create()
	const asked = session.MaxRunningTasks + 4
	refused := make(chan error, asked)
	var group sync.WaitGroup
	for range asked {
		group.Go(func() {
			task := helperTask("look")
			task.Background = true
			if _, err := r.run(parent, task); err != nil {
				refused <- err
			}
		})
	}
	group.Wait()
	close(refused)
	if len(refused) != 4 {
		t.Errorf("%d were refused, want 4", len(refused))
	}
	for err := range refused {
		toolError(t, err, "limit", "16 tasks of this session run already")
	}
	close(open)
	r.Await(parent, session.TaskEnded{}.EventType(), session.MaxRunningTasks)
	texts := r.delivered(parent)
	slices.Sort(texts)
	if n := len(slices.Compact(texts)); n != session.MaxRunningTasks {
		t.Errorf("%d results were delivered, want %d", n, session.MaxRunningTasks)
	}
	if left := r.running(parent); len(left) != 0 {
		t.Errorf("still running: %+v", left)
	}
}

func TestSessionsThatMoveOrGo(t *testing.T) {
	gated := func(t *testing.T) (r *taskRig, parent string, open chan struct{}) {
		reached := make(chan struct{}, 1)
		open = make(chan struct{})
		r = newTaskRig(t, "", func(request session.ModelRequest) sessiontest.Turn {
			if said(request) == "look" {
				return sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))
			}
			return sessiontest.Say("noted")
		})
		parent = r.Create()
		task := helperTask("look")
		task.Background = true
		if _, err := r.run(parent, task); err != nil {
			t.Fatal(err)
		}
		<-reached
		return r, parent, open
	}
	t.Run("a parent that moves", func(t *testing.T) {
		r, parent, open := gated(t)
		appendTo(r, parent, session.Moved{Location: session.Location{Directory: "/elsewhere", Root: "/elsewhere"}})
		close(open)
		r.Settled(parent, 1)
		child, err := r.Sessions.Get(t.Context(), payloads[session.TaskStarted](r, parent)[0].Session)
		if err != nil || child.Location.Directory != "/work" || len(r.delivered(parent)) != 1 {
			t.Errorf("%+v, %v, delivered %q", child, err, r.delivered(parent))
		}
	})
	t.Run("a child that is removed", func(t *testing.T) {
		r, parent, _ := gated(t)
		if err := r.Log.Delete(t.Context(), payloads[session.TaskStarted](r, parent)[0].Session); err != nil {
			t.Fatal(err)
		}
		r.Await(parent, session.TaskEnded{}.EventType(), 1)
		if texts := r.delivered(parent); len(texts) != 1 || !strings.Contains(texts[0], "was interrupted: its session did not begin, or was removed") {
			t.Errorf("delivered %q", texts)
		}
		r.Settled(parent, 1)
	})
	t.Run("a parent that is removed", func(t *testing.T) {
		r, parent, open := gated(t)
		child := payloads[session.TaskStarted](r, parent)[0].Session
		if err := r.Log.Delete(t.Context(), parent); err != nil {
			t.Fatal(err)
		}
		close(open)
		r.Settled(child, 1)
		parents := seen(r, session.LoadTaskParents)
		if len(parents) != 0 {
			t.Errorf("tasks of %v are still running", parents)
		}
	})
}
