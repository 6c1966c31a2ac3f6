package runner_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// worker is a provider that makes one call per turn until it has made enough, writes
// summaries when it is asked to, and holds every request to the window.
type worker struct {
	t      *testing.T
	window int64
	calls  int
	told   bool // it tells what it used
	prompt string

	mu        sync.Mutex
	made      int
	summaries int
	requests  int
}

// tokensOf counts every text in a request, four bytes a token.
func tokensOf(request session.ModelRequest) int64 {
	bytes := 0
	for _, part := range request.System {
		bytes += len(part.Text)
	}
	for _, tool := range request.Tools {
		bytes += len(tool.Name) + len(tool.Description) + len(tool.Input)
	}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			bytes += len(part.Text) + len(part.Input)
		}
	}
	return int64(bytes+3) / 4
}

func (p *worker) Stream(_ context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if size := tokensOf(request); size > p.window {
		p.t.Errorf("request %d has %d tokens, the window has %d", p.requests, size, p.window)
	}
	var events []session.ModelEvent
	switch {
	case request.Purpose == session.PurposeCompaction:
		p.summaries++
		events = []session.ModelEvent{Delta(words(fmt.Sprintf("## Goal %d", p.summaries), 1_500))}
	case p.made == p.calls:
		events = []session.ModelEvent{Delta("All done")}
	default:
		p.made++
		events = callOf(fmt.Sprintf("call-%d", p.made), "read", fmt.Sprintf(`{"path":"file-%d"}`, p.made))
	}
	if request.Purpose == session.PurposeTurn {
		native, summaries := 0, 0
		for _, message := range request.Messages {
			if strings.HasPrefix(message.Parts[0].Text, "<summary>") {
				summaries++
			}
			if message.Role == session.RoleUser && message.Parts[0].Text == p.prompt {
				native++
			}
		}
		if native != 1 {
			p.t.Errorf("request %d has the user's words %d times", p.requests, native)
		}
		if summaries != min(p.summaries, 1) {
			p.t.Errorf("request %d has %d summaries", p.requests, summaries)
		}
	}
	if p.told {
		events = append(events, Usage(tokensOf(request), 40))
	}
	events = append(events, Finish(session.FinishStop))
	return func(yield func(session.ModelEvent, error) bool) {
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
	}
}

// A prompt that is followed by a hundred calls is worked on to its end: the history is
// condensed as often as it has to be, and never in vain.
func TestALongPromptIsWorkedOnToItsEnd(t *testing.T) {
	for _, c := range []struct {
		name     string
		calls    int
		prune    bool
		told     bool
		size     func(n int) int // tokens of the n-th result
		at, most int             // compactions
	}{
		{"even results", 120, false, true, func(int) int { return 1_000 }, 6, 9},
		{"even results of a silent provider", 40, false, false, func(int) int { return 1_000 }, 1, 3},
		{"uneven results", 40, false, true, func(n int) int { return 50 + n*997%4_000 }, 4, 7},
		{"large results", 40, false, true, func(int) int { return 9_000 }, 15, 40},
		{"pruned results", 40, true, true, func(n int) int { return 50 + n*997%4_000 }, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := c.calls
			w := New(t, Options{Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: 32_000, Output: 4_096}}},
				Config: configured(func(config *runner.Config) { config.MaxTurns, config.Compaction.Prune = 0, c.prune })})
			p := &worker{t: t, window: 32_000, calls: calls, told: c.told, prompt: words("Read all of these files and tell what is in them. ", 300)}
			w.Contribute("core/scripted", w.Kinds.Providers.Contribute("scripted", 0, p))
			read := 0
			w.Contribute("core/tools", tool(w, "read", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
				read++
				return Output(words(fmt.Sprintf("result %d", read), c.size(read))), nil
			}))
			id := w.Create()
			w.Prompt(id, p.prompt, session.Steer)
			idle(w, id)
			if got := ended(w, id); got.Outcome != session.Completed || p.made != calls || read != calls {
				t.Errorf("ended %+v after %d calls, %d of them run", got, p.made, read)
			}
			ended, failed := payloads[session.CompactionEnded](w, id), payloads[session.CompactionFailed](w, id)
			if len(failed) > 0 {
				t.Errorf("%d in vain: %+v", len(failed), failed[0])
			}
			if len(ended) < c.at || len(ended) > c.most || p.summaries != len(ended) {
				t.Errorf("%d compactions by %d summaries, want %d to %d", len(ended), p.summaries, c.at, c.most)
			}
			if pruned := payloads[session.ResultsPruned](w, id); c.prune != (len(pruned) > 0) || len(pruned) > calls/4 {
				t.Errorf("%d prunings", len(pruned))
			}
			kept := 0
			for _, message := range w.Messages(id) {
				for _, part := range message.Parts {
					if part.Tool != nil && strings.HasPrefix(part.Tool.Content[0].Text, "result") {
						kept++
					}
				}
			}
			if kept != calls {
				t.Errorf("the transcript has %d results", kept)
			}
			t.Logf("%d requests, %d compactions, %d prunings", p.requests, len(ended), len(payloads[session.ResultsPruned](w, id)))
		})
	}
}
