package provider

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// HostedStart opens a call of a tool that the provider runs itself. Its arguments come
// by ToolInput and ToolEnd, and what came of it by HostedResult.
func (e *Events) HostedStart(call, name string) {
	e.open(abi.EventToolStart)
	e.message = jsonscan.AppendStringField(e.message, "id", call)
	e.message = jsonscan.AppendStringField(e.message, "name", name)
	e.message = append(e.message, `,"hosted":true`...)
	e.close()
}

// Result is what came of a hosted call.
type Result struct {
	// Text is the result for people, and for a model of another provider.
	Text string
	// Value is the result as the provider wants it back: JSON, or empty.
	Value []byte
	// Metadata is what else the provider wants back with the result: JSON, or empty for
	// what the call has.
	Metadata []byte
	// Failed says that the tool failed; Text says why.
	Failed bool
}

// HostedResult tells once what came of a hosted call.
func (e *Events) HostedResult(call string, result Result) {
	e.open(abi.EventToolResult)
	e.message = jsonscan.AppendStringField(e.message, "id", call)
	e.message = jsonscan.AppendStringField(e.message, "text", result.Text)
	e.raw("result", result.Value)
	e.raw("metadata", result.Metadata)
	if result.Failed {
		e.message = append(e.message, `,"failed":true`...)
	}
	e.close()
}
