package bridge

import (
	"context"
	"encoding/json"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// Contract names what the engine looks for in a module.
func Contract() wasm.Contract {
	return wasm.Contract{
		Marker: abi.ExportMarker, Alloc: abi.ExportAlloc, Free: abi.ExportFree, Init: abi.ExportInit, Reseed: abi.ExportReseed,
		Module: abi.ImportModule, Call: abi.ImportCall, Read: abi.ImportRead,
	}
}

// Refuse words what the engine itself answers to an operation.
func Refuse(err error) []byte {
	return errorAnswer(&abi.Error{Kind: kindOf(err), Message: err.Error()})
}

// Init is the message of plinth_init: the operator's settings and what this host has.
func Init(plugin string, config json.RawMessage) ([]byte, error) {
	message, err := json.Marshal(abi.Call[abi.Init]{
		Meta: abi.Meta{Plugin: plugin},
		Body: abi.Init{Config: config, Minor: abi.Minor, Operations: Offered()},
	})
	if err != nil {
		return nil, err
	}
	return abi.EncodeMessage(message, nil), nil
}

// CheckInit judges the answer of plinth_init.
func CheckInit(answer []byte) error {
	_, _, err := decodeAnswer[abi.None](answer)
	return err
}

// Module is a guest as an engine runs it: a module of host/wasm or of host/extism, or
// what stands before one. Errors are those of wasm.Module.Call.
type Module interface {
	Call(ctx context.Context, request wasm.Request) (wasm.Result, error)
}

// NewCaller lets calls reach a module of an engine. One built with an Extism PDK has
// the variables of its instance, and its http_request is refused.
func NewCaller(module Module) Caller { return caller{module} }

type caller struct{ module Module }

// Call runs one entry.
func (c caller) Call(ctx context.Context, call Call) ([]byte, error) {
	lane := wasm.LaneQuick
	if call.Entry == abi.ExportTool {
		lane = wasm.LaneTool
	}
	result, err := c.module.Call(ctx, wasm.Request{Entry: call.Entry, Input: call.Message, Deadline: call.Deadline,
		Lane: lane, Session: call.Session, Operations: call.Operations, Log: call.Log, LogAt: call.LogAt})
	if err != nil {
		return nil, &CallError{Kind: kindOf(err), Err: err}
	}
	return result.Output, nil
}

// CallID answers the id of the tool call that a message carries, "" where it carries
// none.
func CallID(message []byte) string {
	body, _, err := abi.DecodeMessage(message)
	if err != nil {
		return ""
	}
	var call abi.Call[struct {
		Call abi.ToolCall `json:"call"`
	}]
	if json.Unmarshal(body, &call) != nil {
		return ""
	}
	return call.Body.Call.ID
}

// Failed reports whether a guest's answer is an error, or none at all.
func Failed(message []byte) bool {
	_, _, err := decodeAnswer[json.RawMessage](message)
	return err != nil
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
