package plugin

import (
	"context"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
)

// caller lets the bridge call a module of the engine.
type caller struct{ module *wasm.Module }

// Call runs one entry.
func (c caller) Call(ctx context.Context, call bridge.Call) ([]byte, error) {
	request := wasm.Request{Entry: call.Entry, Input: call.Message, Deadline: call.Deadline, Session: call.Session, Log: call.Log}
	if call.Operations != nil {
		request.Operations = call.Operations
	}
	result, err := c.module.Call(ctx, request)
	if err != nil {
		return nil, &bridge.CallError{Kind: kindOf(err), Err: err}
	}
	return result.Output, nil
}

// kindOf puts the engine's errors into the contract's closed set.
func kindOf(err error) abi.Kind {
	switch wasm.Kind(err) {
	case wasm.KindDeadline:
		return abi.KindTimeout
	case wasm.KindCancelled:
		return abi.KindCancelled
	case wasm.KindLimit:
		return abi.KindLimit
	case wasm.KindBusy, wasm.KindClosed, wasm.KindUnavailable:
		return abi.KindUnavailable
	}
	return abi.KindFailed
}

// contract names what the engine looks for in a module.
func contract() wasm.Contract {
	return wasm.Contract{
		Marker: abi.ExportMarker, Alloc: abi.ExportAlloc, Free: abi.ExportFree, Init: abi.ExportInit,
		Module: abi.ImportModule, Call: abi.ImportCall, Read: abi.ImportRead,
	}
}
