package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

// Result is how a golden came out.
type Result struct {
	Input  string `json:"input"` // its files, as the manifest names them
	Output string `json:"output"`
	Export string `json:"export"`
	Passed bool   `json:"passed"`
	// Written: the output was written anew. Such a golden has passed.
	Written bool `json:"written,omitempty"`
	// Problem says in one line what is wrong; empty for a golden that has passed.
	Problem string `json:"problem,omitempty"`
	// Differences are where the answer, or what was asked of the host, is not the recorded
	// one; at most 20.
	Differences []Difference `json:"differences,omitempty"`
	DurationNS  int64        `json:"duration_ns"`   // of the first call
	Fuel        int64        `json:"fuel"`          // likewise
	Memory      uint32       `json:"memory"`        // of the instance afterwards, in bytes
	Log         []string     `json:"log,omitempty"` // what the plugin printed in the first call
}

// Difference is one place where two JSON values part. Long ones are shown from there.
type Difference struct {
	Path string `json:"path"` // "" for all of it
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Duration is how long the first call took.
func (r Result) Duration() time.Duration { return time.Duration(r.DurationNS) }

// Passed reports whether all have.
func Passed(results []Result) bool {
	return !slices.ContainsFunc(results, func(r Result) bool { return !r.Passed })
}

// Run runs the goldens of what was built. It fails when the module does not load or ctx
// ends; how a golden came out is in its result.
func Run(ctx context.Context, engine *wasm.Engine, built build.Result) ([]Result, error) {
	results, _, err := run(ctx, engine, built)
	return results, err
}

// Update is Run that writes the answers which are not the recorded ones into the output
// files in the folder, and those that are missing. A plugin that asks the host for other
// things than recorded, or does not repeat its answer, has no answer to record: such a
// golden fails, and its file stays as it is.
func Update(ctx context.Context, engine *wasm.Engine, folder string, built build.Result) ([]Result, error) {
	results, proofs, err := run(ctx, engine, built)
	if err != nil {
		return results, err
	}
	var changed []int
	var goldens []plugin.Golden
	for i, proof := range proofs {
		if recordable(proof, built.Missing) {
			golden := proof.Golden
			golden.Answer = proof.Answer
			changed, goldens = append(changed, i), append(goldens, golden)
		}
	}
	again, err := plugin.Prove(ctx, engine, built.Candidate, goldens)
	if err != nil {
		return results, err
	}
	for n, i := range changed {
		result := resultOf(again[n], build.Result{Candidate: built.Candidate})
		if result.Passed {
			if err := write(folder, result.Output, again[n].Golden.Answer); err != nil {
				return results, err
			}
			result.Written = true
		}
		result.Export = results[i].Export
		results[i] = result
	}
	return results, nil
}

// recordable reports whether there is an answer that is to be written.
func recordable(proof plugin.Proof, missing []string) bool {
	mismatch, differs := errors.AsType[*plugin.GoldenMismatch](proof.Err)
	if differs {
		return !mismatch.Operations() && proof.Answer != nil
	}
	return proof.Err == nil && slices.Contains(missing, proof.Golden.Output) // it answers what the stand-in says
}

func run(ctx context.Context, engine *wasm.Engine, built build.Result) ([]Result, []plugin.Proof, error) {
	goldens, err := built.Candidate.Goldens()
	if err != nil {
		return nil, nil, err
	}
	proofs, err := plugin.Prove(ctx, engine, built.Candidate, goldens)
	if err != nil {
		return nil, nil, err
	}
	results := make([]Result, len(proofs))
	for i, proof := range proofs {
		results[i] = resultOf(proof, built)
		results[i].Export = built.Candidate.Manifest.Goldens[i].Export
	}
	return results, proofs, nil
}

func resultOf(proof plugin.Proof, built build.Result) Result {
	result := Result{Input: proof.Golden.Input, Output: proof.Golden.Output, DurationNS: int64(proof.Duration), Fuel: proof.Fuel, Memory: proof.Memory, Log: proof.Log}
	mismatch, differs := errors.AsType[*plugin.GoldenMismatch](proof.Err)
	switch {
	case slices.Contains(built.Missing, result.Output) && (proof.Err == nil || differs && !mismatch.Again && !mismatch.Operations()):
		result.Problem = fmt.Sprintf("%s is not there, or holds no answer; plinth plugin test --update writes it", filepath.Join(built.Candidate.Origin, result.Output))
	case differs:
		result.Problem = mismatch.Reason()
		for _, difference := range mismatch.Differences {
			got, want := difference.Shown()
			result.Differences = append(result.Differences, Difference{Path: difference.Path, Want: want, Got: got})
		}
	case proof.Err != nil:
		result.Problem = proof.Err.Error()
	default:
		result.Passed = true
	}
	return result
}

// Try holds a candidate to one golden that is in no file yet. With asNow it is held to
// what the candidate answers first, which is answered too: it repeats that.
func Try(ctx context.Context, engine *wasm.Engine, candidate plugin.Candidate, made plugin.Golden, asNow bool) (Result, json.RawMessage, error) {
	for {
		proofs, err := plugin.Prove(ctx, engine, candidate, []plugin.Golden{made})
		if err != nil {
			return Result{}, nil, err
		}
		proof := proofs[0]
		mismatch, differs := errors.AsType[*plugin.GoldenMismatch](proof.Err)
		if !asNow || !differs || mismatch.Again || mismatch.Operations() || proof.Answer == nil {
			return resultOf(proof, build.Result{Candidate: candidate}), proof.Answer, nil
		}
		made.Answer, asNow = proof.Answer, false
	}
}
