// Command environment is the plugin core/environment: it tells the model where it
// works, what day it is, which model it is, and what instruction files ask of it: those
// of the user and of the project, those that the configuration names, and those beside
// files that were read.
package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

// Keys of the sources.
const (
	environmentKey  = "core/environment"
	dateKey         = "core/date"
	modelKey        = "core/model"
	instructionsKey = "core/instructions"
	configuredKey   = "core/instructions-configured"
	remoteKey       = "core/instructions-remote"
	nestedKey       = "core/instructions-nested"
)

// settings are the host's, from [instructions] and project_config of its configuration.
type settings struct {
	// WithoutProject: nothing of the project instructs.
	WithoutProject bool             `json:"without_project"`
	Files          []configuredFile `json:"files"`
	URLs           []string         `json:"urls"`
}

// configuredFile is a file, or with Pattern those below the folder Path that fit.
type configuredFile struct {
	Root    string `json:"root"` // project or operator
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

var configured settings

func init() {
	source.Register(observe)
	plinth.Configure(func(s settings) error { configured = s; return nil })
	plinth.Prepare(observeOnce)
}

// observeOnce goes through what an observation does besides reading files: the first
// time takes much longer than the next.
func observeOnce() error {
	var o abi.ContextObserve
	g := newGathering(o.Location, map[string]bool{})
	g.put(instruction{path: "AGENTS.md", digest: sha256Hex("")})
	if _, err := g.state(o, projectWording); err != nil {
		return err
	}
	if _, err := observeEnvironment(o.Location); err != nil {
		return err
	}
	if _, err := observeDate(o); err != nil {
		return err
	}
	o.Model = "provider/model"
	_, err := observeModel(o)
	return err
}

func main() {}

// observe answers all sources from one sample. The order is that of precedence, and a
// file that several sources find is told by the first.
func observe(o abi.ContextObserve) ([]abi.SourceState, error) {
	environment, err := observeEnvironment(o.Location)
	if err != nil {
		return nil, err
	}
	date, err := observeDate(o)
	if err != nil {
		return nil, err
	}
	model, err := observeModel(o)
	if err != nil {
		return nil, err
	}
	states, told := []abi.SourceState{environment, date, model}, map[string]bool{}
	for _, one := range []struct {
		wording
		gather func(g *gathering, o abi.ContextObserve) error
	}{
		{projectWording, gatherProject}, {configuredWording, gatherConfigured}, {remoteWording, gatherRemote}, {nestedWording, gatherNested},
	} {
		g := newGathering(o.Location, told)
		err := one.gather(g, o)
		state := source.Unavailable(one.key)
		if err == nil {
			state, err = g.state(o, one.wording)
		}
		if err != nil {
			host.Log("warn", one.key+" is unavailable: "+err.Error())
			keep(told, o, one.key)
			state = source.Unavailable(one.key)
		}
		states = append(states, state)
	}
	return states, nil
}

// keep leaves the files that a source told before to it while it is unavailable.
func keep(told map[string]bool, o abi.ContextObserve, key string) {
	files, _ := readValue(o.Previous[key])
	for _, file := range files {
		told[file.path] = true
	}
}
