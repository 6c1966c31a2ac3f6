// Command new-plugin is a plugin with one context source: it tells the model what the
// session is called, so that it keeps to the matter.
package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

// key names the source, here and in the manifest.
const key = "example/new-plugin/title"

// A module runs package initialisation and never main, so the source is registered here.
func init() { source.Register(observe) }

func main() {}

// observe is asked before every turn, so it is quick, and says what is so now. The host
// compares the value with the one before and tells the model of a change.
func observe(observation abi.ContextObserve) ([]abi.SourceState, error) {
	info, err := host.Info()
	if err != nil {
		host.Log("warn", "the session cannot be asked: "+err.Error())
		return []abi.SourceState{source.Unavailable(key)}, nil // what was told before stays
	}
	if info.Title == "" {
		return []abi.SourceState{source.Absent(key)}, nil
	}
	texts := source.Texts{
		Baseline: "This session is about: " + info.Title,
		Update:   "This session is now about: " + info.Title,
		Removed:  "What this session is about is no longer told.",
	}
	if before, ok := source.Previous[string](observation, key); ok {
		texts.Update += " (before: " + before + ")"
	}
	state, err := source.Value(key, info.Title, texts)
	return []abi.SourceState{state}, err
}
