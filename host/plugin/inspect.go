package plugin

import (
	"fmt"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/host/wasm"
)

// Report is what a plugin says of itself, read without running it. Its texts are the
// author's.
type Report struct {
	ID          string            `json:"id"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Digest      string            `json:"digest"` // of the packed file
	Bytes       int               `json:"bytes"`
	Tools       []ReportTool      `json:"tools"`
	Contexts    []string          `json:"contexts"` // keys
	Providers   []string          `json:"providers"`
	Transforms  []ReportTransform `json:"transforms"`
	// Requests are what it asks the operator for, Requires the host operations that it
	// cannot do without.
	Requests []trust.Request `json:"requests"`
	Requires []string        `json:"requires"`
	// Limits are those that the manifest sets, by its names.
	Limits    map[string]int64 `json:"limits"`
	Isolation string           `json:"isolation"`
	Settings  bool             `json:"settings"` // whether it can be configured
	Goldens   int              `json:"goldens"`
	Module    ReportModule     `json:"module"`
}

// ReportTool is a tool.
type ReportTool struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Effects     []string `json:"effects"`
	TimeoutMS   int64    `json:"timeout_ms,omitempty"`
}

// ReportTransform is a transform with the parts of a request that it reads and writes.
type ReportTransform struct {
	Name   string   `json:"name"`
	Reads  []string `json:"reads"`
	Writes []string `json:"writes"`
}

// ReportModule is the code. Imports and exports are functions with their types, and
// what else there is of the kinds that are imported and exported.
type ReportModule struct {
	Functions   int      `json:"functions"`
	MemoryPages uint32   `json:"memory_pages"` // of 64 KiB, at the start
	Imports     []string `json:"imports"`
	Exports     []string `json:"exports"`
}

// Inspect reads what a candidate and its module say. Errors are of type *SourceError,
// *GoldenError, or *wasm.AdmissionError.
func Inspect(candidate Candidate) (Report, error) {
	report, _, err := inspect(candidate)
	return report, err
}

func inspect(candidate Candidate) (Report, wasm.Info, error) {
	m := candidate.Manifest
	info, err := wasm.Inspect(candidate.Wasm)
	if err != nil {
		return Report{}, info, fmt.Errorf("%s: %w", candidate.Origin, err)
	}
	goldens, err := candidate.Goldens()
	if err != nil {
		return Report{}, info, err
	}
	report := Report{ID: m.ID, Version: m.Version, Description: m.Description, Digest: candidate.Digest, Bytes: len(candidate.Wasm),
		Tools: []ReportTool{}, Contexts: []string{}, Providers: []string{}, Transforms: []ReportTransform{},
		Requests: append([]trust.Request{}, trust.Requests(m)...), Requires: append([]string{}, m.Requires...),
		Limits: LimitsSet(m), Isolation: m.Isolation.Mode, Settings: m.Config != nil, Goldens: len(goldens), Module: moduleOf(info)}
	if report.Isolation == "" {
		report.Isolation = string(wasm.Restore)
	}
	for _, tool := range m.Tools {
		report.Tools = append(report.Tools, ReportTool{tool.Name, tool.Description, append([]string{}, tool.Effects...), tool.TimeoutMS})
	}
	for _, source := range m.Contexts {
		report.Contexts = append(report.Contexts, source.Key)
	}
	for _, provider := range m.Providers {
		report.Providers = append(report.Providers, provider.ID)
	}
	for _, transform := range m.Transforms {
		report.Transforms = append(report.Transforms, ReportTransform{transform.Name, append([]string{}, transform.Reads...), transform.Writes})
	}
	return report, info, nil
}

// LimitsSet are the limits that a manifest sets.
func LimitsSet(m abi.Manifest) map[string]int64 {
	set := map[string]int64{}
	for _, limit := range limits() {
		if value := *limit.of(&m.Limits); value > 0 {
			set[limit.key] = value
		}
	}
	return set
}

func moduleOf(info wasm.Info) ReportModule {
	module := ReportModule{Functions: info.Functions, MemoryPages: info.Memory.Min, Imports: []string{}, Exports: []string{}}
	for _, one := range info.Imports {
		module.Imports = append(module.Imports, described(one.Module+"."+one.Name, one.Kind, one.Type))
	}
	for _, one := range info.Exports {
		module.Exports = append(module.Exports, described(one.Name, one.Kind, one.Type))
	}
	return module
}

// described is a name with a function's type, or with what else it is.
func described(name, kind, signature string) string {
	if kind == wasm.KindFunction {
		return name + " " + signature
	}
	return name + " " + kind
}
