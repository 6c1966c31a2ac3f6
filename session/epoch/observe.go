package epoch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// Source is one contribution to the system context.
type Source struct {
	// Name is the contribution's key; sources render in its order.
	Name string
	// Required: a session cannot begin while it is unavailable.
	Required bool
	Revision string
	Source   session.ContextSource
}

// Observed is one keyed value as sampled.
type Observed struct {
	session.SourceState
	Required bool
	Revision string
}

// Observe samples every source once, side by side, each within timeout, and
// answers the states in the order of the sources. A source that fails, is late or
// answers what it may not is unavailable, and the operator is told.
func Observe(ctx context.Context, sources []Source, observation session.Observation, timeout time.Duration, logger hclog.Logger) []Observed {
	states := make([][]session.SourceState, len(sources))
	var group sync.WaitGroup
	for i, source := range sources {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			answered, err := source.Source.Observe(ctx, observe(observation, source.Source.Keys()))
			if err == nil {
				err = check(source.Source.Keys(), answered)
			}
			if err != nil {
				logger.Warn("context source unavailable", "source", source.Name, "session", observation.Session, "error", err)
				answered = unavailable(source.Source.Keys())
			}
			states[i] = answered
		})
	}
	group.Wait()
	var all []Observed
	for i, source := range sources {
		for _, state := range states[i] {
			all = append(all, Observed{SourceState: state, Required: source.Required, Revision: source.Revision})
		}
	}
	return all
}

// observe leaves a source only the previous values that are its own.
func observe(observation session.Observation, keys []string) session.Observation {
	previous := make(map[string]json.RawMessage, len(keys))
	for _, key := range keys {
		if value, ok := observation.Previous[key]; ok {
			previous[key] = value
		}
	}
	observation.Previous = previous
	return observation
}

func unavailable(keys []string) []session.SourceState {
	states := make([]session.SourceState, len(keys))
	for i, key := range keys {
		states[i] = session.SourceState{Key: key, State: session.SourceUnavailable}
	}
	return states
}

// check holds a source to its contract: every key once, no other, and a value
// with a text.
func check(keys []string, states []session.SourceState) error {
	seen := make(map[string]bool, len(keys))
	for _, state := range states {
		switch {
		case !slices.Contains(keys, state.Key):
			return fmt.Errorf("it answers the key %q, which it does not declare", state.Key)
		case seen[state.Key]:
			return fmt.Errorf("it answers the key %q twice", state.Key)
		}
		seen[state.Key] = true
		switch state.State {
		case session.SourceUnavailable, session.SourceAbsent:
		case session.SourceValue:
			if !json.Valid(state.Value) {
				return fmt.Errorf("the value of %q is not JSON", state.Key)
			}
			if state.Baseline == "" {
				return fmt.Errorf("the baseline of %q is empty", state.Key)
			}
		default:
			return fmt.Errorf("the state of %q is %q; it must be value, unavailable or absent", state.Key, state.State)
		}
	}
	if len(seen) != len(keys) {
		return fmt.Errorf("it answers %d of its %d keys", len(seen), len(keys))
	}
	return nil
}

// equal compares two JSON values by their canonical form.
func equal(a, b json.RawMessage) bool {
	left, err := session.CanonicalJSON(a)
	if err != nil {
		return false
	}
	right, err := session.CanonicalJSON(b)
	return err == nil && bytes.Equal(left, right)
}
