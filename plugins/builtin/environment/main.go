// Command environment is the plugin core/environment: it tells the model where it
// works (core/environment), what day it is (core/date) and what the AGENTS.md files
// ask of it (core/instructions).
package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

// Keys of the sources.
const (
	environmentKey  = "core/environment"
	dateKey         = "core/date"
	instructionsKey = "core/instructions"
)

func init() {
	source.Register(observe)
	plinth.Prepare(observeOnce)
}

// observeOnce goes through what an observation does besides reading files: the first
// time takes much longer than the next.
func observeOnce() error {
	files := []instruction{{digest: sha256Hex("")}}
	if _, err := source.Value(instructionsKey, value(files), source.Texts{Baseline: render(files)}); err != nil {
		return err
	}
	var o abi.ContextObserve
	if _, err := observeEnvironment(o.Location); err != nil {
		return err
	}
	_, err := observeDate(o)
	return err
}

func main() {}

// observe answers all sources from one sample.
func observe(o abi.ContextObserve) ([]abi.SourceState, error) {
	environment, err := observeEnvironment(o.Location)
	if err != nil {
		return nil, err
	}
	date, err := observeDate(o)
	if err != nil {
		return nil, err
	}
	instructions, err := observeInstructions(o)
	if err != nil {
		return nil, err
	}
	return []abi.SourceState{environment, date, instructions}, nil
}
