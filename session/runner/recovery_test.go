package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

func withRecovery(policy session.RecoveryPolicy) runner.Config {
	config := runner.DefaultConfig()
	config.Retries, config.Recovery = 0, policy
	return config
}

// crashed leaves in a folder what a process leaves that died: the log up to the n-th
// event of the type.
func crashed(t *testing.T, w *World, id, eventType string, n int) string {
	t.Helper()
	dir := t.TempDir()
	target := OpenStore(t, dir)
	defer target.Close()
	if err := target.Replay(t.Context(), w.Await(id, eventType, n), store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatACrashLeavesIsDecidedByPolicy(t *testing.T) {
	turn, step := session.TurnStarted{}.EventType(), session.StepStarted{}.EventType()
	for name, test := range map[string]struct {
		policy  session.RecoveryPolicy
		until   string
		again   bool
		outcome session.Outcome
		asks    int
	}{
		"off, outcome unknown":    {session.RecoverOff, turn, false, session.Interrupted, 0},
		"resume, outcome unknown": {session.RecoverResume, turn, true, session.Completed, 0},
		"ask, outcome unknown":    {session.RecoverAsk, turn, false, "", 1},
		"off, partial output":     {session.RecoverOff, step, false, session.Interrupted, 0},
		"resume, partial output":  {session.RecoverResume, step, true, session.Completed, 0},
		"ask, partial output":     {session.RecoverAsk, step, false, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dead := New(t, Options{})
			dead.Provider.Script(Say("Half"))
			id := dead.Create()
			dead.Prompt(id, "Hi", session.Steer)
			dead.Settled(id, 1)
			w := New(t, Options{Dir: crashed(t, dead, id, test.until, 1), Config: withRecovery(test.policy)})
			w.Provider.Script(Say("Whole"))
			again, err := w.Runner.Recover(t.Context(), id)
			if err != nil || again != test.again {
				t.Fatalf("goes on by itself: %v, %v", again, err)
			}
			if again {
				w.Coordinator.Wake(id, 0)
			}
			if test.outcome != "" {
				if ended := outcome(t, w, id, 1); ended.Outcome != test.outcome {
					t.Errorf("ended %+v", ended)
				}
			}
			open, err := w.Permissions.List(t.Context(), id)
			if err != nil || len(open) != test.asks {
				t.Fatalf("open requests %v, %v", open, err)
			}
			for _, message := range w.Messages(id) {
				if message.Type == session.MessageAssistant && message.Completed == 0 {
					t.Errorf("an answer is left open: %+v", message)
				}
			}
		})
	}
}

func TestADoubtfulActivityWaitsForAPerson(t *testing.T) {
	for name, test := range map[string]struct {
		decide  func(w *World, id, request string)
		outcome session.Outcome
		turns   int
	}{
		"allowed": {func(w *World, id, request string) { reply(w, request, session.ReplyOnce) }, session.Completed, 1},
		"refused": {func(w *World, id, request string) { reply(w, request, session.ReplyReject) }, session.Interrupted, 0},
		"resumed": {func(w *World, id, _ string) { resume(w, id) }, session.Completed, 1},
		"a new prompt ends it and opens the next": {func(w *World, id, _ string) {
			w.Prompt(id, "Never mind", session.Steer)
		}, session.Interrupted, 1},
		"interrupted": {func(w *World, id, _ string) {
			if _, err := w.Sessions.Interrupt(w.T.Context(), session.System(), id); err != nil {
				w.T.Fatal(err)
			}
		}, session.Interrupted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dead := New(t, Options{})
			dead.Provider.Script(Say("Half"))
			id := dead.Create()
			dead.Prompt(id, "Hi", session.Steer)
			dead.Settled(id, 1)
			w := New(t, Options{Dir: crashed(t, dead, id, session.TurnStarted{}.EventType(), 1)})
			w.Provider.Script(Say("Whole"))
			if _, err := w.Runner.Recover(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			open, err := w.Permissions.List(t.Context(), id)
			if err != nil || len(open) != 1 || open[0].Ask.Action != "recovery" {
				t.Fatalf("open requests %v, %v", open, err)
			}
			test.decide(w, id, open[0].Request)
			if ended := outcome(t, w, id, 1); ended.Outcome != test.outcome {
				t.Errorf("ended %+v", ended)
			}
			if err := w.Coordinator.Settle(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if n := len(w.Provider.Requests()); n != test.turns {
				t.Errorf("%d requests, want %d", n, test.turns)
			}
			if open, err := w.Permissions.List(t.Context(), id); err != nil || len(open) != 0 {
				t.Errorf("left open: %v, %v", open, err)
			}
		})
	}
}

func TestAnActivitySurvivesAFewCrashesOnly(t *testing.T) {
	dead := New(t, Options{})
	dead.Provider.Script(Say("Half"))
	id := dead.Create()
	dead.Prompt(id, "Hi", session.Steer)
	dead.Settled(id, 1)
	dir := crashed(t, dead, id, session.TurnStarted{}.EventType(), 1)
	for attempt := 1; ; attempt++ {
		w := New(t, Options{Dir: dir, Config: withRecovery(session.RecoverResume)})
		again, err := w.Runner.Recover(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			if ended := outcome(t, w, id, 1); attempt != 4 || ended.Error == nil || ended.Error.Code != session.FailureRecovery {
				t.Errorf("after %d crashes: %+v", attempt, ended)
			}
			return
		}
		reached := make(chan struct{}, 1)
		w.Provider.Script(Gate(reached, nil))
		w.Coordinator.Wake(id, 0)
		<-reached
		next := crashed(t, w, id, session.TurnStarted{}.EventType(), attempt+1)
		if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
			t.Fatal(err)
		}
		dir = next
	}
}

func TestAPlannedRestartGoesOnByItself(t *testing.T) {
	for name, grace := range map[string]time.Duration{"parks at the boundary": time.Hour, "breaks off": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var id string
			synctest.Test(t, func(t *testing.T) {
				w := New(t, Options{Dir: dir})
				release := make(chan struct{})
				w.Contribute("core/tools", tool(w, "slow", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
					select {
					case <-release:
						return Output("done"), nil
					case <-ctx.Done():
						return session.ToolOutput{}, ctx.Err()
					}
				}))
				w.Provider.Script(Calls("slow", `{}`), Say("not now"))
				id = w.Create()
				w.Prompt(id, "Go", session.Steer)
				synctest.Wait()
				go w.Coordinator.Close(grace)
				synctest.Wait()
				close(release)
				synctest.Wait()
				if n := len(w.Provider.Requests()); n != 1 {
					t.Errorf("%d requests, want 1 before the shutdown", n)
				}
			})
			next := New(t, Options{Dir: dir})
			again, err := next.Runner.Recover(t.Context(), id)
			if err != nil || !again {
				t.Fatalf("goes on by itself: %v, %v", again, err)
			}
			next.Provider.Script(Say("Whole"))
			next.Coordinator.Wake(id, 0)
			if ended := outcome(t, next, id, 1); ended.Outcome != session.Completed {
				t.Errorf("ended %+v", ended)
			}
			if n := len(next.Provider.Requests()); n != 1 {
				t.Errorf("%d requests, want 1 after the restart", n)
			}
		})
	}
}

func TestACallThatWaitsOutlivesItsProcess(t *testing.T) {
	for _, planned := range []bool{true, false} {
		for _, answer := range []session.Reply{session.ReplyOnce, session.ReplyReject} {
			t.Run(map[bool]string{true: "shutdown, ", false: "crash, "}[planned]+string(answer), func(t *testing.T) {
				waits(t, planned, answer)
			})
		}
	}
}

func waits(t *testing.T, planned bool, answer session.Reply) {
	dir := t.TempDir()
	options := Options{Dir: dir, Rules: []session.Rule{{Action: "echo", Resource: "*", Effect: session.Ask}}}
	w := New(t, options)
	var runs atomic.Int32
	contribute := func(w *World) {
		w.Contribute("core/tools", tool(w, "echo", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			runs.Add(1)
			return Output("echoed"), nil
		}))
	}
	contribute(w)
	w.Provider.Script(Calls("echo", `{"n":1}`))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Await(id, session.PermissionAsked{}.EventType(), 1)
	if planned {
		w.Close()
	} else {
		options.Dir = crashed(t, w, id, session.PermissionAsked{}.EventType(), 1)
	}
	next := New(t, options)
	contribute(next)
	again, err := next.Runner.Recover(t.Context(), id)
	if err != nil || again {
		t.Fatalf("goes on by itself: %v, %v", again, err)
	}
	open, err := next.Permissions.List(t.Context(), id)
	if err != nil || len(open) != 1 {
		t.Fatalf("open requests %v, %v", open, err)
	}
	if runs.Load() != 0 {
		t.Fatal("the tool ran without an answer")
	}
	next.Provider.Script(Say("Done"))
	reply(next, open[0].Request, answer)
	ended := outcome(t, next, id, 1)
	part := next.Messages(id)[1].Parts[0].Tool
	switch answer {
	case session.ReplyOnce:
		if ended.Outcome != session.Completed || part.State != session.ToolStateCompleted || runs.Load() != 1 {
			t.Errorf("ended %+v with %+v after %d runs", ended, part, runs.Load())
		}
	default:
		if ended.Outcome != session.Halted || part.State != session.ToolStateFailed || runs.Load() != 0 {
			t.Errorf("ended %+v with %+v after %d runs", ended, part, runs.Load())
		}
	}
}

func TestIdempotentToolsRunAgain(t *testing.T) {
	dead := New(t, Options{})
	idempotent := func(w *World, run func(session.ToolCall) (session.ToolOutput, error)) {
		w.Contribute("core/tools", w.Kinds.Tools.Contribute("look", 0, session.Tool(Tool{
			Define: session.ToolDefinition{Name: "look", Idempotent: true},
			Run: func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
				return run(call)
			}})))
	}
	called := make(chan struct{})
	release := make(chan struct{})
	idempotent(dead, func(session.ToolCall) (session.ToolOutput, error) {
		close(called)
		<-release
		return Output("never recorded"), nil
	})
	dead.Provider.Script(Calls("look", `{"at":"it"}`), Say("x"))
	id := dead.Create()
	dead.Prompt(id, "Go", session.Steer)
	<-called
	dir := crashed(t, dead, id, session.ToolCalled{}.EventType(), 1)
	close(release)
	w := New(t, Options{Dir: dir, Config: withRecovery(session.RecoverResume)})
	var calls []string
	idempotent(w, func(call session.ToolCall) (session.ToolOutput, error) {
		calls = append(calls, call.ID+" "+string(call.Input))
		return Output("seen"), nil
	})
	if again, err := w.Runner.Recover(t.Context(), id); err != nil || !again {
		t.Fatalf("goes on by itself: %v, %v", again, err)
	}
	w.Provider.Script(Say("Done"))
	w.Coordinator.Wake(id, 0)
	if ended := outcome(t, w, id, 1); ended.Outcome != session.Completed {
		t.Errorf("ended %+v", ended)
	}
	if diff := cmp.Diff([]string{`call-0 {"at":"it"}`}, calls); diff != "" {
		t.Error(diff)
	}
}

func reply(w *World, request string, answer session.Reply) {
	w.T.Helper()
	if _, err := w.Permissions.Reply(w.T.Context(), session.System(), request, answer, ""); err != nil {
		w.T.Fatal(err)
	}
}

func resume(w *World, id string) {
	w.T.Helper()
	if _, err := w.Sessions.Resume(w.T.Context(), session.System(), id); err != nil {
		w.T.Fatal(err)
	}
}

// A crash that leaves a doubt asks anew, and what was said of an earlier one decides
// nothing. An answer that came just before a crash is not lost with the process.
func TestEveryDoubtIsDecidedAnew(t *testing.T) {
	turn := session.TurnStarted{}.EventType()
	dead := New(t, Options{})
	dead.Provider.Script(Say("Half"))
	id := dead.Create()
	dead.Prompt(id, "Hi", session.Steer)
	dead.Settled(id, 1)
	recovered := func(dir string, again bool) *World {
		w := New(t, Options{Dir: dir})
		w.Provider.Script(Say("Whole"))
		if goes, err := w.Runner.Recover(t.Context(), id); err != nil || goes != again {
			t.Fatalf("goes on by itself: %v, %v", goes, err)
		}
		return w
	}
	doubt := func(w *World) string {
		open, err := w.Permissions.List(t.Context(), id)
		if err != nil || len(open) != 1 {
			t.Fatalf("open requests %v, %v", open, err)
		}
		return open[0].Request
	}

	first := recovered(crashed(t, dead, id, turn, 1), false)
	reply(first, doubt(first), session.ReplyOnce)
	answered := recovered(crashed(t, first, id, session.PermissionReplied{}.EventType(), 1), true)
	answered.Coordinator.Wake(id, 0)
	second := recovered(crashed(t, answered, id, turn, 2), false)
	reply(second, doubt(second), session.ReplyReject)
	if ended := outcome(t, second, id, 1); ended.Outcome != session.Interrupted {
		t.Errorf("ended %+v", ended)
	}
	if turns := second.Await(id, turn, 2); len(second.Provider.Requests()) != 0 {
		t.Errorf("it went on, although a person declined: %s", Text(turns))
	}
}
