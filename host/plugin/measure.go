package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// Measured is what repeated calls of a golden take.
type Measured struct {
	Golden  Golden
	Calls   []time.Duration // each as its caller sees it, in their order
	Elapsed time.Duration   // of all, one after the other
	Fuel    int64           // of a call, the most
	Memory  uint32          // of the instance afterwards, in bytes
	Start   time.Duration   // of the first instance
}

// Measure makes the call of a golden so often, one after the other, but not after a time
// that is over; 0 for no such time. A golden that does not hold is not measured: the error
// is that of its proof, or why the module does not load.
func Measure(ctx context.Context, engine *wasm.Engine, candidate Candidate, golden Golden, count int, most time.Duration) (measured Measured, err error) {
	measured.Golden = golden
	module, err := loadFor(ctx, engine, candidate, golden)
	if err != nil {
		return measured, err
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	if proof := prove(ctx, module, golden); proof.Err != nil {
		return measured, proof.Err
	}
	measured.Start = module.Report().Start
	message, err := json.Marshal(abi.Call[json.RawMessage]{
		DeadlineMS: goldenDeadline.Milliseconds(), Meta: abi.Meta{Plugin: module.Name()}, Body: golden.Body,
	})
	if err != nil {
		return measured, err
	}
	input := abi.EncodeMessage(message, nil)
	began := time.Now()
	for range count {
		call := time.Now()
		result, err := module.Call(ctx, wasm.Request{Entry: golden.Entry, Input: input, Deadline: goldenDeadline,
			Session: "golden " + golden.Input, Operations: &answers{recorded: golden.Operations}, Log: func(string) {}})
		if err != nil {
			return measured, fmt.Errorf("%s: %w", golden.Input, err)
		}
		now := time.Now()
		measured.Calls = append(measured.Calls, now.Sub(call))
		measured.Elapsed, measured.Memory, measured.Fuel = now.Sub(began), result.Memory, max(measured.Fuel, result.Fuel)
		if most > 0 && measured.Elapsed >= most {
			break
		}
	}
	return measured, nil
}
