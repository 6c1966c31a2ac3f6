package epoch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

// Source is one contribution to the system context.
type Source struct {
	// Name is the contribution's key; sources render in its order.
	Name string
	// Required: a session cannot begin while it is unavailable.
	Required bool
	// Undamped: its changes are told however often they go back and forth.
	Undamped bool
	Revision string
	Source   session.ContextSource
}

// Observed is one keyed value as sampled.
type Observed struct {
	session.SourceState
	Source   string // its Name
	Required bool
	Undamped bool
	Revision string
	// Misfit says why the value admitted before is not understood any more; "" when it is.
	Misfit string
}

// Sampler asks sources.
type Sampler struct {
	// Timeout is how long each may take.
	Timeout time.Duration
	Schemas *schema.Cache
	Metrics *Metrics // nil counts nothing
	Logger  hclog.Logger
}

// Observe samples every source once, side by side, and answers the states in the
// order of the sources. A source that fails, is late or answers what it may not is
// unavailable, and the operator is told.
func (s Sampler) Observe(ctx context.Context, sources []Source, observation session.Observation) []Observed {
	states := make([][]Observed, len(sources))
	var group sync.WaitGroup
	for i, source := range sources {
		group.Go(func() { states[i] = s.observe(ctx, source, observation) })
	}
	group.Wait()
	return slices.Concat(states...)
}

func (s Sampler) observe(ctx context.Context, source Source, observation session.Observation) []Observed {
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	schemas := specOf(source.Source).Schemas
	keys := source.Source.Keys()
	previous, misfits := s.readable(observation.Previous, keys, schemas)
	observation.Previous = previous
	answered, err := source.Source.Observe(bounded, observation)
	if err == nil {
		err = errors.Join(check(keys, answered), s.fit(answered, schemas))
	}
	if err != nil && ctx.Err() == nil {
		s.Logger.Warn("context source unavailable", "source", source.Name, "session", observation.Session, "error", err)
	}
	if err != nil {
		answered = Unavailable(keys)
	}
	all := make([]Observed, len(answered))
	unavailable := false
	for i, state := range answered {
		unavailable = unavailable || state.State == session.SourceUnavailable
		all[i] = Observed{SourceState: state, Source: source.Name, Required: source.Required, Undamped: source.Undamped,
			Revision: source.Revision, Misfit: misfits[state.Key]}
	}
	s.Metrics.observed(source.Name, time.Since(begun), unavailable)
	return all
}

func specOf(source session.ContextSource) session.SourceSpec {
	if specifier, ok := source.(session.SourceSpecifier); ok {
		return specifier.Spec()
	}
	return session.SourceSpec{}
}

// readable leaves a source the previous values that are its own and that it
// understands, and says of the others why it does not.
func (s Sampler) readable(all map[string]json.RawMessage, keys []string, schemas map[string]json.RawMessage) (previous map[string]json.RawMessage,
	misfits map[string]string) {
	previous, misfits = make(map[string]json.RawMessage, len(keys)), map[string]string{}
	for _, key := range keys {
		value, ok := all[key]
		if !ok {
			continue
		}
		if text := schemas[key]; text != nil {
			if mismatch, ok := errors.AsType[*schema.MismatchError](s.Schemas.Check(text, value)); ok {
				misfits[key] = mismatch.Error()
				continue
			}
		}
		previous[key] = value
	}
	return previous, misfits
}

// fit holds values to the schemas that the source itself gives.
func (s Sampler) fit(states []session.SourceState, schemas map[string]json.RawMessage) error {
	for _, state := range states {
		text := schemas[state.Key]
		if text == nil || state.State != session.SourceValue {
			continue
		}
		if err := s.Schemas.Check(text, state.Value); err != nil {
			return fmt.Errorf("the value of %q does not fit its schema: %w", state.Key, err)
		}
	}
	return nil
}

// Unavailable are the states of keys that cannot be sampled.
func Unavailable(keys []string) []session.SourceState {
	states := make([]session.SourceState, len(keys))
	for i, key := range keys {
		states[i] = session.SourceState{Key: key, State: session.SourceUnavailable}
	}
	return states
}

// check holds a source to its contract: every key once, no other, and a value
// with texts that say something.
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
			if err := checkValue(state); err != nil {
				return err
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

// checkValue: an update and a removal text may be left out, the baseline may not, and
// none may be blank.
func checkValue(state session.SourceState) error {
	if !json.Valid(state.Value) {
		return fmt.Errorf("the value of %q is not JSON", state.Key)
	}
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	switch {
	case blank(state.Baseline):
		return fmt.Errorf("the baseline of %q is empty", state.Key)
	case state.Update != "" && blank(state.Update):
		return fmt.Errorf("the update of %q is empty", state.Key)
	case state.Removed != "" && blank(state.Removed):
		return fmt.Errorf("the removal text of %q is empty", state.Key)
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
