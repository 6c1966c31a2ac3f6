package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

const (
	// prefixTurns is how many requests are compared.
	prefixTurns = 50
	// prefixTools is how many tools a request offers.
	prefixTools = 12
)

// measurePrefix tells how much of each request a provider's cache has seen already: over
// fifty turns in which the date changes, an instruction file changes, and a plugin goes.
func measurePrefix(ctx context.Context, dir string) error {
	provider := &recording{}
	k, err := openKernel(ctx, dir, provider)
	if err != nil {
		return err
	}
	defer k.close()
	facts := newFacts()
	if err := k.contribute("core/facts", facts); err != nil {
		return err
	}
	if err := k.contribute("acme/house", newFacts("acme/house/rules")); err != nil {
		return err
	}
	id, err := k.create(ctx)
	if err != nil {
		return err
	}
	for turn := range prefixTurns {
		facts.set("core/date", fmt.Sprintf("Today is day %d.", turn/5))
		facts.set("core/instructions", fmt.Sprintf("%s These are the rules of revision %d.", words(400), turn/12))
		if turn == prefixTurns/2 {
			k.registries.Remove("acme/house", "")
		}
		if err := k.turn(ctx, id, func() {}); err != nil {
			return err
		}
	}
	reused, err := provider.reused()
	if err != nil {
		return err
	}
	contextFigure("prefix_reuse_pct", 100*reused, "percent")
	return nil
}

// recording answers like say and keeps the bytes of every request, in the order in which
// providers cache them.
type recording struct {
	mu       sync.Mutex
	requests []string
}

// Stream keeps the request and answers.
func (r *recording) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	text := lines(request.Tools) + lines(request.System) + lines(request.Messages)
	r.mu.Lock()
	r.requests = append(r.requests, text)
	r.mu.Unlock()
	return say(words(90)).Stream(ctx, request)
}

// lines is each part of a request as JSON, on a line of its own.
func lines[T any](parts []T) string {
	var text []byte
	for _, part := range parts {
		line, err := json.Marshal(part)
		if err != nil {
			panic(err) // a request of this program has no JSON form
		}
		text = append(append(text, line...), '\n')
	}
	return string(text)
}

// reused is the part of all requests but the first that the one before began with. No
// epoch ends here, so each of them has to begin with all of the one before.
func (r *recording) reused() (float64, error) {
	if len(r.requests) != prefixTurns {
		return 0, fmt.Errorf("%d requests were made, not %d", len(r.requests), prefixTurns)
	}
	var same, all int
	for i, next := range r.requests[1:] {
		before := r.requests[i]
		n := commonPrefix(before, next)
		if n < len(before) {
			return 0, fmt.Errorf("request %d repeats %d of the %d bytes of the one before", i+2, n, len(before))
		}
		same, all = same+n, all+len(next)
	}
	return float64(same) / float64(all), nil
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// facts is a context source of texts that the benchmark changes.
type facts struct {
	mu    sync.Mutex
	keys  []string
	texts map[string]string
}

func newFacts(keys ...string) *facts {
	if len(keys) == 0 {
		keys = []string{"core/date", "core/instructions"}
	}
	f := &facts{keys: keys, texts: map[string]string{}}
	for _, key := range keys {
		f.texts[key] = words(120)
	}
	return f
}

func (f *facts) set(key, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts[key] = text
}

// Keys are what it answers for.
func (f *facts) Keys() []string { return f.keys }

// Observe answers the texts as they are.
func (f *facts) Observe(context.Context, session.Observation) ([]session.SourceState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var states []session.SourceState
	for _, key := range f.keys {
		value, err := json.Marshal(f.texts[key])
		if err != nil {
			return nil, err
		}
		states = append(states, session.SourceState{Key: key, State: session.SourceValue, Value: value, Baseline: f.texts[key],
			Update: "It has changed. " + f.texts[key], Removed: key + " no longer applies."})
	}
	return states, nil
}

// contribute adds a scope with a context source, and the first of them with the tools.
func (k *kernel) contribute(scope string, source *facts) error {
	contributions := []registry.Contribution{k.kinds.Contexts.Contribute(source.keys[0], 0, source)}
	if scope == "core/facts" {
		for i := range prefixTools {
			contributions = append(contributions, k.kinds.Tools.Contribute(fmt.Sprintf("tool_%02d", i), 0, offered{}))
		}
	}
	_, err := k.registries.Replace(registry.Scope{ID: scope, Builtin: true, Revision: "r1", Contributions: contributions})
	return err
}

// offered is a tool that nobody calls.
type offered struct{}

// Definition is of an ordinary size.
func (offered) Definition() session.ToolDefinition {
	return session.ToolDefinition{Description: words(70), Input: json.RawMessage(
		`{"type":"object","properties":{"path":{"type":"string","description":"` + words(12) + `"},"limit":{"type":"integer"}},"required":["path"]}`)}
}

// Execute is never called.
func (offered) Execute(context.Context, session.ToolCall) (session.ToolOutput, error) {
	return session.ToolOutput{}, nil
}
