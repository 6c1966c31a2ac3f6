package bridge

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// inBubble runs a test with a clock of its own, which moves when everything waits,
// in an engine where one guest runs at a time and a module has one place.
func inBubble(t *testing.T, test func(t *testing.T, r *rig, module *wasm.Module)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine, err := wasm.New(wasm.Options{Contract: Contract(), Refuse: Refuse, CacheDir: compiled, Tools: 1, Quick: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		})
		guest := bridgetest.NewAsking().Relays(abi.ExportTool, `{"ok":{"structured":`, `}}`)
		module, err := engine.Load(t.Context(), wasm.Spec{Name: "acme/test", Wasm: guest.Bytes(), Entries: []string{abi.ExportTool}, CheckInit: CheckInit,
			Limits: wasm.Limits{Instances: 1, Wait: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t)
		r.relay.module = NewCaller(module)
		r.plugin.Caller = r.relay
		test(t, r, module)
	})
}

// beside is another call of the same module that must be answered at once.
func (r *rig) beside(t *testing.T) {
	t.Helper()
	other := *r.relay
	plugin := &Plugin{ID: "acme/test", Caller: &other, Log: func(string, string) {}}
	other.operation, other.request = abi.OpSessionInfo, abi.EncodeMessage([]byte("{}"), nil)
	began := time.Now()
	_, err := newTool(t, plugin, session.ToolDefinition{}, r.reach).Execute(t.Context(), session.ToolCall{Session: "ses_2", Input: []byte("{}"), Location: r.location, Host: r.host})
	if err != nil || time.Since(began) != 0 {
		t.Errorf("beside: %v after %s", err, time.Since(began))
	}
}

// calling begins a gated call.
func (r *rig) calling(t *testing.T, authorise func(context.Context, session.PermissionRequest) error, operation, request string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		answer, err := r.gated(t.Context(), t, authorise, operation, request)
		if err == nil && answer == "" {
			err = fmt.Errorf("no answer")
		}
		ended <- err
	}()
	synctest.Wait()
	return ended
}

// Asks that wait an hour hold no processor, no place in the pool and no deadline,
// whichever operation asks.
func TestAsksThatWaitAnHour(t *testing.T) {
	tries := requests()
	tries[abi.OpHTTPFetch] = `{"url":"https://public.example/"}`
	tries[abi.OpBatch] = `{"operations":[{"operation":"permission.ask","request":{"action":"deploy","resources":["x"]}}]}`
	for _, operation := range []string{abi.OpPermissionAsk, abi.OpFSRead, abi.OpFSList, abi.OpFSAttach, abi.OpFSGlob, abi.OpFSGrep, abi.OpFSCommit, abi.OpProcessRun, abi.OpHTTPFetch, abi.OpBatch} {
		t.Run(operation, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig, module *wasm.Module) {
				if operation == abi.OpProcessRun {
					r.running(t, process.Options{})
				}
				if operation == abi.OpHTTPFetch {
					r.askingFetcher(t)
				}
				r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
				ended := r.calling(t, func(ctx context.Context, request session.PermissionRequest) error {
					if deadline, ok := ctx.Deadline(); ok && operation != abi.OpBatch {
						t.Errorf("who is asked has until %s", deadline)
					}
					time.Sleep(time.Hour)
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					return &session.DeniedError{Action: request.Action, Resource: request.Resources[0]}
				}, operation, tries[operation])
				if diff := cmp.Diff(wasm.Stats{Started: 1, Parked: 1}, module.Stats()); diff != "" {
					t.Error(diff)
				}
				r.beside(t)
				began := time.Now()
				if err := <-ended; err != nil || time.Since(began) != time.Hour {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				if stats := module.Stats(); stats.Parked != 0 || stats.Leased != 0 {
					t.Errorf("%+v", stats)
				}
			})
		})
	}
}

// askingFetcher lets the rig ask for any address, and grants none.
func (r *rig) askingFetcher(t *testing.T) {
	t.Helper()
	fetcher, err := egress.NewFetcher(egress.FetcherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
	})
	r.reach.Fetcher, r.reach.AnyURL = fetcher, true
}

// slowHost takes its time to answer.
type slowHost struct {
	*wholeHost
	takes time.Duration
}

func (h slowHost) Question(context.Context, []session.Question, bool) ([][]string, error) {
	time.Sleep(h.takes)
	return nil, nil
}

func (h slowHost) RunTask(context.Context, session.Task) (session.TaskResult, error) {
	time.Sleep(h.takes)
	return session.TaskResult{}, nil
}

// So do questions and tasks.
func TestQuestionsAndTasksWaitAsLong(t *testing.T) {
	tries := requests()
	for _, operation := range []string{abi.OpQuestionAsk, abi.OpTaskRun} {
		inBubble(t, func(t *testing.T, r *rig, module *wasm.Module) {
			r.relay.operation, r.relay.request = operation, abi.EncodeMessage([]byte(tries[operation]), nil)
			tool := newTool(t, r.plugin, session.ToolDefinition{}, r.reach)
			ended := make(chan error, 1)
			go func() {
				_, err := tool.Execute(t.Context(), session.ToolCall{Input: []byte("{}"), Host: slowHost{r.host, time.Hour}})
				ended <- err
			}()
			synctest.Wait()
			if module.Stats().Parked != 1 {
				t.Errorf("%s: %+v", operation, module.Stats())
			}
			r.beside(t)
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", operation, err)
			}
		})
	}
}

// A batch gives its place up only while nothing of it works; then its deadline stands
// too.
func TestABatchIsParkedWhenNothingOfItWorks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig, module *wasm.Module) {
		r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
		work := make(chan struct{})
		r.host.shown = func(string) { <-work }
		answered := make(chan struct{})
		ended := r.calling(t, func(context.Context, session.PermissionRequest) error { <-answered; return nil }, abi.OpBatch,
			batchOf(t, append(asksFor(3), "progress", `{"text":"x"}`)...))
		if stats := module.Stats(); stats.Parked != 0 || stats.Leased != 1 {
			t.Errorf("one works: %+v", stats)
		}
		time.Sleep(9 * time.Second) // of the ten it has
		close(work)
		synctest.Wait()
		if stats := module.Stats(); stats.Parked != 1 || stats.Leased != 0 {
			t.Errorf("none works: %+v", stats)
		}
		time.Sleep(time.Hour)
		r.beside(t)
		close(answered)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// While one of a batch works, the call's clock runs, and ends all of it.
func TestTheDeadlineOfABatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig, module *wasm.Module) {
		r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
		work := make(chan struct{})
		r.host.shown = func(string) { <-work }
		ended := r.calling(t, func(ctx context.Context, _ session.PermissionRequest) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, abi.OpBatch, batchOf(t, append(asksFor(3), "progress", `{"text":"x"}`)...))
		time.Sleep(DefaultToolTimeout)
		synctest.Wait()
		if stats := module.Stats(); stats.Parked != 0 {
			t.Errorf("%+v", stats)
		}
		close(work)
		err := <-ended
		if err != nil { // told of its end, it may still have answered
			wantTold(t, err, abi.KindTimeout, "The tool probe did not answer within 10s")
		}
		synctest.Wait()
		if stats := module.Stats(); stats.Parked != 0 || stats.Leased != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

// No more of a batch work at once than its width, and the others get their turn.
func TestABatchWorksWithinItsWidth(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig, _ *wasm.Module) {
		var mu sync.Mutex
		working := 0
		work := make(chan struct{})
		r.host.shown = func(string) {
			mu.Lock()
			working++
			mu.Unlock()
			<-work
		}
		var asked []string
		for range 3 * batchWidth {
			asked = append(asked, "progress", `{"text":"x"}`)
		}
		ended := r.calling(t, nil, abi.OpBatch, batchOf(t, asked...))
		for turn := range 3 {
			mu.Lock()
			if working != (turn+1)*batchWidth {
				t.Errorf("turn %d: %d have begun", turn, working)
			}
			mu.Unlock()
			for range batchWidth {
				work <- struct{}{}
			}
			synctest.Wait()
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A call that is cancelled while it is parked ends at once.
func TestACallIsCancelledWhileItWaits(t *testing.T) {
	for _, operation := range []string{abi.OpPermissionAsk, abi.OpBatch} {
		inBubble(t, func(t *testing.T, r *rig, module *wasm.Module) {
			r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
			ctx, cancel := context.WithCancelCause(t.Context())
			request := requests()[operation]
			if operation == abi.OpBatch {
				request = batchOf(t, asksFor(MaxBatch)...)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				answer, err := r.gated(ctx, t, func(ctx context.Context, _ session.PermissionRequest) error {
					<-ctx.Done()
					return context.Cause(ctx)
				}, operation, request)
				wantCancelled(t, answer, err)
			}()
			synctest.Wait()
			if module.Stats().Parked != 1 {
				t.Errorf("%+v", module.Stats())
			}
			began := time.Now()
			cancel(session.ErrInterrupted)
			if <-ended; time.Since(began) != 0 {
				t.Errorf("%s: it took %s", operation, time.Since(began))
			}
			r.beside(t)
		})
	}
}
