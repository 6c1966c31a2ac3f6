// Package source gives facts to the system context. Importing it makes the module
// export plinth_context_observe.
package source

import (
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// Texts are what the model is told of a value. Update is told when the value
// differs from the one told before, Removed when the source is gone; Baseline
// stands for an empty Update, and a source without Removed cannot be removed.
type Texts struct {
	Baseline string
	Update   string
	Removed  string
}

// Register has observe answer the state of every source of the manifest, in the
// order in which the model is to read them. An error makes all of them
// unavailable. It panics when there is an observer already.
func Register(observe func(abi.ContextObserve) ([]abi.SourceState, error)) {
	if registered {
		panic("the context sources are registered twice")
	}
	registered = true
	guest.Enter(abi.ExportContext, func(message []byte) []byte {
		body, _, err := abi.DecodeMessage(message)
		if err != nil {
			return guest.Fail(guest.Invalid(err))
		}
		observation, err := readObserve(body)
		if err != nil {
			return guest.Fail(guest.Invalid(err))
		}
		states, err := observe(observation)
		if err == nil {
			err = check(states)
		}
		if err != nil {
			return guest.Fail(err)
		}
		return answer(states)
	})
}

// check keeps a value that is no JSON from making the whole answer unreadable.
func check(states []abi.SourceState) error {
	for _, state := range states {
		if len(state.Value) == 0 {
			continue
		}
		if err := jsonscan.Valid(state.Value); err != nil {
			return fmt.Errorf("the value of context source %s: %w", state.Key, err)
		}
	}
	return nil
}

var registered bool

// Value is the state of a source that has a value. Values that encode to the same
// JSON are the same value; a json.RawMessage is JSON already. An empty baseline is an
// error.
func Value(key string, value any, texts Texts) (abi.SourceState, error) {
	if texts.Baseline == "" {
		return abi.SourceState{}, fmt.Errorf("context source %s has an empty baseline", key)
	}
	encoded, raw := value.(json.RawMessage)
	var err error
	if !raw {
		encoded, err = json.Marshal(value)
	}
	if err != nil {
		return abi.SourceState{}, fmt.Errorf("encode the value of context source %s: %w", key, err)
	}
	return abi.SourceState{
		Key: key, State: abi.SourceValue, Value: encoded,
		Baseline: texts.Baseline, Update: texts.Update, Removed: texts.Removed,
	}, nil
}

// Unavailable is the state of a source that could not be observed. What the model
// was told before stays.
func Unavailable(key string) abi.SourceState {
	return abi.SourceState{Key: key, State: abi.SourceUnavailable}
}

// Absent is the state of a source that was looked for and is not there.
func Absent(key string) abi.SourceState {
	return abi.SourceState{Key: key, State: abi.SourceAbsent}
}

// Previous decodes the value last told; ok is false when there is none, or none
// that still decodes.
func Previous[T any](observation abi.ContextObserve, key string) (value T, ok bool) {
	encoded, ok := observation.Previous[key]
	if !ok || json.Unmarshal(encoded, &value) != nil {
		var none T
		return none, false
	}
	return value, true
}
