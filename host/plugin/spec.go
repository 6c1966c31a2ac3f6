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

// NewEngine makes the engine that plugins run in. CacheDir is a private folder for
// metered modules and their machine code; empty keeps nothing on disk. Compiler is
// as in wasm.Options.
func NewEngine(cacheDir string, compiler func(context.Context) *exec.Cmd, logger hclog.Logger) (*wasm.Engine, error) {
	return wasm.New(wasm.Options{
		Contract: bridge.Contract(), CacheDir: cacheDir, Compiler: compiler, Logger: logger, Refuse: bridge.Refuse,
	})
}

// specOf is how a candidate is loaded with its checked settings.
func specOf(candidate Candidate, config json.RawMessage) (wasm.Spec, error) {
	manifest := candidate.Manifest
	init, err := bridge.Init(manifest.ID, config)
	if err != nil {
		return wasm.Spec{}, err
	}
	return wasm.Spec{
		Name: manifest.ID, Wasm: candidate.Wasm, Entries: entries(manifest),
		Limits: wasm.Limits{MemoryMiB: memoryMiB(manifest)},
		// A provider and a transform have no operations, whatever else the module offers.
		Pure:    len(manifest.Providers)+len(manifest.Transforms) > 0,
		Builtin: candidate.Builtin, Lazy: candidate.Builtin,
		Isolation: wasm.Isolation(manifest.Isolation.Mode),
		Init:      init, CheckInit: bridge.CheckInit,
	}, nil
}

// Default memory limits in MiB.
const (
	memoryDefault  = 32
	memoryProvider = 128
)

func memoryMiB(manifest abi.Manifest) int {
	switch {
	case manifest.Limits.MemoryMiB > 0:
		return manifest.Limits.MemoryMiB
	case len(manifest.Providers) > 0:
		return memoryProvider
	}
	return memoryDefault
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
