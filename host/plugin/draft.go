package plugin

import (
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
)

// Draft reads a folder as Unpacked does, for its author: the output of a golden that is
// missing, or no answer, does not refuse it. Those files are answered, as the manifest
// names them. Without any the candidate is that of Unpacked.
func Draft(folder string) (candidate Candidate, missing []string, err error) {
	if candidate, missing, err = unpack(folder, true); err != nil {
		return candidate, missing, err
	}
	_, err = candidate.Goldens()
	return candidate, missing, err
}

// Examine reads what a candidate says, as Inspect does, and holds its module to its
// manifest: the exports, the imports, the memory. Nothing of it runs. Errors are those of
// Inspect.
func Examine(candidate Candidate) (Report, error) {
	report, info, err := inspect(candidate)
	if err != nil {
		return report, err
	}
	spec, err := specOf(candidate, nil, abi.ManifestLimits{})
	if err != nil {
		return report, err
	}
	return report, wasm.Admissible(info, bridge.Contract(), spec)
}
