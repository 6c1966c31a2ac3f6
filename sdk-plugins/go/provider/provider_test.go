package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
)

// echo tells what it was given.
type echo struct{ t *testing.T }

func (e echo) Encode(request abi.ModelRequest) (abi.ProviderEncoded, error) {
	if request.Model == "" {
		return abi.ProviderEncoded{}, errors.New("no model")
	}
	return abi.ProviderEncoded{Method: "POST", Path: "/" + request.Model, Body: json.RawMessage(`{"a":1}`)}, nil
}

func (e echo) Classify(response abi.ProviderClassify) abi.ProviderError {
	return abi.ProviderError{Classification: abi.ClassUnknown, Message: fmt.Sprint(response.Status)}
}

// Decode tells every event there is, with texts that need escaping.
func (e echo) Decode(state []byte, frames []abi.Frame, end bool, events *provider.Events) ([]byte, error) {
	for _, frame := range frames {
		switch frame.Event {
		case "all":
			events.Text("t", frame.Data)
			events.TextEnd("t")
			events.Reasoning("r", frame.Data)
			events.ReasoningEnd("r")
			events.ToolStart("c", frame.Data)
			events.ToolInput("c", frame.Data)
			events.ToolEnd("c")
			events.Usage(abi.Usage{Input: 1, Output: 2, Reasoning: 3, CacheRead: 4, CacheWrite: 5})
			events.Fail(abi.ProviderError{Classification: "quota", Message: frame.Data, Retryable: true, RetryAfterMS: 9})
			events.Finish("stop")
		case "hosted":
			events.ReasoningEndWith("r", []byte(`{"signature":"x"}`))
			events.HostedStart("h", "search")
			events.ToolInput("h", frame.Data)
			events.ToolEndWith("h", []byte(` {"item":1}`))
			events.HostedResult("h", provider.Result{Text: frame.Data, Value: []byte(`[{"hit":"\u00e9"}]`), Metadata: []byte(`{"item":2}`)})
			events.HostedResult("h", provider.Result{Text: frame.Data, Failed: true})
		case "broken":
			events.HostedResult("h", provider.Result{Value: []byte(frame.Data)})
		case "fail":
			return nil, errors.New(frame.Data)
		}
	}
	return fmt.Appendf(nil, `{"state":%q,"frames":%d,"end":%v}`, state, len(frames), end), nil
}

func decode(t *testing.T, call abi.ProviderDecode) (abi.ProviderDecoded, error) {
	t.Helper()
	return plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, call)
}

func TestProvider(t *testing.T) {
	provider.Register("echo", echo{t})
	const text = "a\"\\\n\t\x00<é😀>\u2028"
	u := abi.Usage{Input: 1, Output: 2, Reasoning: 3, CacheRead: 4, CacheWrite: 5}
	got, err := decode(t, abi.ProviderDecode{Provider: "echo", State: json.RawMessage(`{"k":["x"]}`), Frames: []abi.Frame{{Event: "all", Data: text}, {Data: "x"}}, End: true})
	want := abi.ProviderDecoded{
		State: json.RawMessage(`{"state":"{\"k\":[\"x\"]}","frames":2,"end":true}`),
		Events: []abi.ModelEvent{
			{Type: "text.delta", ID: "t", Text: text}, {Type: "text.end", ID: "t"},
			{Type: "reasoning.delta", ID: "r", Text: text}, {Type: "reasoning.end", ID: "r"},
			{Type: "tool.start", ID: "c", Name: text}, {Type: "tool.delta", ID: "c", Text: text}, {Type: "tool.end", ID: "c"},
			{Type: "usage", Usage: &u},
			{Type: "error", Error: &abi.ProviderError{Classification: "quota", Message: text, Retryable: true, RetryAfterMS: 9}},
			{Type: "finish", Reason: "stop"},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	got, err = decode(t, abi.ProviderDecode{Provider: "echo", Frames: []abi.Frame{{Event: "hosted", Data: text}}})
	hosted := []abi.ModelEvent{
		{Type: "reasoning.end", ID: "r", Metadata: json.RawMessage(`{"signature":"x"}`)},
		{Type: "tool.start", ID: "h", Name: "search", Hosted: true}, {Type: "tool.delta", ID: "h", Text: text},
		{Type: "tool.end", ID: "h", Metadata: json.RawMessage(`{"item":1}`)},
		{Type: "tool.result", ID: "h", Text: text, Result: json.RawMessage(`[{"hit":"\u00e9"}]`), Metadata: json.RawMessage(`{"item":2}`)},
		{Type: "tool.result", ID: "h", Text: text, Failed: true},
	}
	if err != nil || !reflect.DeepEqual(got.Events, hosted) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got.Events, hosted)
	}
	for _, broken := range []string{`{"a":1`, `{}{}`, "\"\n\"", `,"type":"finish"`} {
		_, err := decode(t, abi.ProviderDecode{Provider: "echo", Frames: []abi.Frame{{Data: "x"}, {Event: "broken", Data: broken}}})
		if err == nil || !strings.HasPrefix(err.Error(), "failed: the result of event 1 is no JSON: ") {
			t.Errorf("%s: %v", broken, err)
		}
	}
	if got, err = decode(t, abi.ProviderDecode{Provider: "echo", Frames: nil}); err != nil || got.Events == nil || string(got.State) != `{"state":"","frames":0,"end":false}` {
		t.Errorf("without frames: %+v, %v", got, err)
	}
	if _, err := decode(t, abi.ProviderDecode{Provider: "echo", Frames: []abi.Frame{{Event: "fail", Data: "why"}}}); err == nil || err.Error() != "failed: why" {
		t.Errorf("%v", err)
	}
	if _, err := decode(t, abi.ProviderDecode{Provider: "none"}); err == nil || err.Error() != `not_found: this plugin has no provider "none"` {
		t.Errorf("%v", err)
	}
	if answer := string(plinthtest.Invoke(t, abi.ExportProviderDecode, map[string]any{"provider": 1})); !strings.Contains(answer, `"invalid_input"`) {
		t.Errorf("%s", answer)
	}
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "echo", Request: abi.ModelRequest{Model: "m"}})
	if err != nil || encoded.Path != "/m" || string(encoded.Body) != `{"a":1}` {
		t.Errorf("%+v, %v", encoded, err)
	}
	if _, err = plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "echo"}); err == nil || err.Error() != "failed: no model" {
		t.Errorf("%v", err)
	}
	classified, err := plinthtest.Call[abi.ProviderError](t, abi.ExportProviderClassify, abi.ProviderClassify{Provider: "echo", Status: 418})
	if err != nil || classified.Message != "418" {
		t.Errorf("%+v, %v", classified, err)
	}
}
