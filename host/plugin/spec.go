package plugin

import (
	"context"
	"encoding/json"
	"os/exec"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
)

// EngineOptions are those of wasm.Options that a host chooses.
type EngineOptions struct {
	CacheDir     string                          // private; empty keeps nothing on disk
	Compiler     func(context.Context) *exec.Cmd // nil compiles everything in this process
	MemoryMiB    int                             // of all guests; 0 is 1024
	Tools, Quick int                             // guests that run at a time; 0 is by the processors
}

// NewEngine makes the engine that plugins run in.
func NewEngine(options EngineOptions, logger hclog.Logger) (*wasm.Engine, error) {
	return wasm.New(wasm.Options{
		Contract: bridge.Contract(), Refuse: bridge.Refuse, Logger: logger, CacheDir: options.CacheDir,
		Compiler: options.Compiler, MemoryMiB: options.MemoryMiB, Tools: options.Tools, Quick: options.Quick,
	})
}

// specOf is how a candidate is loaded with its checked settings, under the limits
// of its manifest or the operator's.
func specOf(candidate Candidate, config json.RawMessage, operator abi.ManifestLimits) (wasm.Spec, error) {
	manifest := candidate.Manifest
	init, err := bridge.Init(manifest.ID, config)
	if err != nil {
		return wasm.Spec{}, err
	}
	return wasm.Spec{
		Name: manifest.ID, Wasm: candidate.Wasm, Entries: entries(manifest),
		Limits: engineLimits(manifest, operator),
		// A provider and a transform have no operations, whatever else the module offers.
		Pure:    len(manifest.Providers)+len(manifest.Transforms) > 0,
		Builtin: candidate.Builtin, Lazy: candidate.Builtin,
		Isolation: wasm.Isolation(manifest.Isolation.Mode),
		Init:      init, CheckInit: bridge.CheckInit,
		Config: extismConfig(config),
	}, nil
}

// extismConfig is the settings as Extism's own functions answer them: texts as they
// are, all else in JSON.
func extismConfig(config json.RawMessage) map[string]string {
	var values map[string]json.RawMessage
	if json.Unmarshal(config, &values) != nil {
		return nil
	}
	all := make(map[string]string, len(values))
	for key, value := range values {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		all[key] = text
	}
	return all
}

// entries lists what the module must export for what its manifest declares.
func entries(manifest abi.Manifest) []string {
	var all []string
	if len(manifest.Tools) > 0 {
		all = append(all, abi.ExportTool)
	}
	if len(manifest.Contexts) > 0 {
		all = append(all, abi.ExportContext)
	}
	if len(manifest.Providers) > 0 {
		all = append(all, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	}
	if len(manifest.Transforms) > 0 {
		all = append(all, abi.ExportTransform)
	}
	return all
}
