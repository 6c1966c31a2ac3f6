package main

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// decodeAll gives the frames to the plugin in calls that end behind the frames of
// the bits set in cuts, and the end of the stream in the last.
func decodeAll(t *testing.T, frames []abi.Frame, cuts int) ([]abi.ModelEvent, error) {
	t.Helper()
	var events []abi.ModelEvent
	call := abi.ProviderDecode{Provider: "bedrock", Frames: []abi.Frame{}}
	next := func() error {
		decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, call)
		events = append(events, decoded.Events...)
		call.State, call.Frames = decoded.State, []abi.Frame{}
		return err
	}
	for i, frame := range frames {
		call.Frames = append(call.Frames, frame)
		if cuts&(1<<i) != 0 {
			if err := next(); err != nil {
				return events, err
			}
		}
	}
	call.End = true
	return events, next()
}

// Frames of the protocol, with the padding that it adds.

func frame(event, members string) abi.Frame {
	return abi.Frame{Event: event, Data: `{"p":"abcdef",` + members + `}`}
}

func begin() abi.Frame { return frame("messageStart", `"role":"assistant"`) }

func opened(index, id, name string) abi.Frame {
	return frame("contentBlockStart", `"contentBlockIndex":`+index+`,"start":{"toolUse":{"toolUseId":"`+id+`","name":"`+name+`"}}`)
}

func delta(index, members string) abi.Frame {
	return frame("contentBlockDelta", `"contentBlockIndex":`+index+`,"delta":{`+members+`}`)
}

func said(index, text string) abi.Frame { return delta(index, `"text":"`+text+`"`) }

func stopped(index string) abi.Frame {
	return frame("contentBlockStop", `"contentBlockIndex":`+index)
}

func reason(reason string) abi.Frame { return frame("messageStop", `"stopReason":"`+reason+`"`) }

func counted(usage string) abi.Frame {
	return frame("metadata", `"metrics":{"latencyMs":9},"usage":`+usage)
}

func exceptional(name, text string) abi.Frame {
	return frame(name, `"message":"`+text+`"`)
}

// What they mean.

func text(id, s string) abi.ModelEvent { return abi.ModelEvent{Type: "text.delta", ID: id, Text: s} }

func textEnd(id string) abi.ModelEvent { return abi.ModelEvent{Type: "text.end", ID: id} }

func thought(id, s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "reasoning.delta", ID: id, Text: s}
}

func thoughtEnd(id, metadata string) abi.ModelEvent {
	event := abi.ModelEvent{Type: "reasoning.end", ID: id}
	if metadata != "" {
		event.Metadata = json.RawMessage(metadata)
	}
	return event
}

func start(id, name string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.start", ID: id, Name: name}
}

func input(id, s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.delta", ID: id, Text: s}
}

func end(id string) abi.ModelEvent { return abi.ModelEvent{Type: "tool.end", ID: id} }

func finish(reason string) abi.ModelEvent { return abi.ModelEvent{Type: "finish", Reason: reason} }

func usage(u abi.Usage) abi.ModelEvent { return abi.ModelEvent{Type: "usage", Usage: &u} }

func failed(e abi.ProviderError) abi.ModelEvent { return abi.ModelEvent{Type: "error", Error: &e} }

type recorded struct {
	name   string
	frames []abi.Frame
	want   []abi.ModelEvent
}

func streams() []recorded {
	const three = `{"inputTokens":3,"outputTokens":2,"totalTokens":5}`
	ends := []abi.ModelEvent{text("text-0", "Hel"), text("text-0", "lo"), textEnd("text-0"), usage(abi.Usage{Input: 3, Output: 2}), finish("stop")}
	return []recorded{
		{"L311: text, the usage behind the reason", []abi.Frame{
			begin(), said("0", "Hel"), said("0", ""), said("0", "lo"), stopped("0"), reason("end_turn"), counted(three),
		}, ends},
		{"L311: text, the usage before the reason", []abi.Frame{
			begin(), said("0", "Hel"), said("0", "lo"), stopped("0"), counted(three), reason("end_turn"),
		}, ends},
		{"L302: what the cache had and took is part of the input", []abi.Frame{
			said("0", "x"), reason("stop_sequence"), counted(`{"inputTokens":10,"cacheReadInputTokens":5,"cacheWriteInputTokens":2,"outputTokens":7,"totalTokens":24}`),
		}, []abi.ModelEvent{text("text-0", "x"), usage(abi.Usage{Input: 17, Output: 7, CacheRead: 5, CacheWrite: 2}), finish("stop")}},
		{"parallel calls between text, one without arguments", []abi.Frame{
			begin(), said("0", "I look."), stopped("0"), opened("1", "tooluse_1", "read"), delta("1", `"toolUse":{"input":""}`), delta("1", `"toolUse":{"input":"{\"pa"}`),
			delta("1", `"toolUse":{"input":"th\":1}"}`), stopped("1"), opened("2", "tooluse_2", "list"), stopped("2"), reason("tool_use"), counted(three),
		}, []abi.ModelEvent{text("text-0", "I look."), textEnd("text-0"), start("tooluse_1", "read"), input("tooluse_1", `{"pa`), input("tooluse_1", `th":1}`), end("tooluse_1"),
			start("tooluse_2", "list"), end("tooluse_2"), usage(abi.Usage{Input: 3, Output: 2}), finish("tool_calls")}},
		{"reasoning with its signature, reasoning that is hidden", []abi.Frame{
			delta("0", `"reasoningContent":{"text":"Let me"}`), delta("0", `"reasoningContent":{"text":" see"}`), delta("0", `"reasoningContent":{"signature":"Eq"}`), delta("0", `"reasoningContent":{"signature":"o="}`), stopped("0"),
			delta("1", `"reasoningContent":{"redactedContent":"Em/Q="}`), stopped("1"), said("2", "Yes"), stopped("2"), reason("end_turn"),
		}, []abi.ModelEvent{thought("reasoning-0", "Let me"), thought("reasoning-0", " see"), thoughtEnd("reasoning-0", `{"signature":"Eqo="}`),
			thought("reasoning-1", ""), thoughtEnd("reasoning-1", `{"redacted":"Em/Q="}`), text("text-2", "Yes"), textEnd("text-2"), finish("stop")}},
		{"reasoning that nobody signs, and of which nothing is shown", []abi.Frame{
			delta("0", `"reasoningContent":{"text":"hm"}`), stopped("0"), delta("1", `"reasoningContent":{"signature":"s"}`), stopped("1"), reason("max_tokens"),
		}, []abi.ModelEvent{thought("reasoning-0", "hm"), thoughtEnd("reasoning-0", ""), thought("reasoning-1", ""), thoughtEnd("reasoning-1", `{"signature":"s"}`), finish("length")}},
		{"cut before the stop reason", []abi.Frame{said("0", "x"), opened("1", "c", "f"), delta("1", `"toolUse":{"input":"{"}`), counted(three)},
			[]abi.ModelEvent{text("text-0", "x"), start("c", "f"), input("c", "{")}},
		{"L311: throttling", []abi.Frame{
			said("0", "x"), exceptional("throttlingException", "Too many tokens, please wait before trying again."), said("0", "y"), reason("end_turn"), counted(three),
		}, []abi.ModelEvent{text("text-0", "x"), failed(abi.ProviderError{Classification: "rate_limit", Message: "throttlingException: Too many tokens, please wait before trying again.", Retryable: true})}},
		{"an exception behind the finish", []abi.Frame{said("0", "x"), counted(three), reason("end_turn"), exceptional("internalServerException", "late")},
			[]abi.ModelEvent{text("text-0", "x"), usage(abi.Usage{Input: 3, Output: 2}), finish("stop")}},
		{"a guardrail", []abi.Frame{said("0", "x"), reason("guardrail_intervened")}, []abi.ModelEvent{text("text-0", "x"), finish("content_filter")}},
		{"the window is full", []abi.Frame{said("0", "x"), reason("model_context_window_exceeded")}, []abi.ModelEvent{text("text-0", "x"), finish("length")}},
		{"the window was full before", []abi.Frame{begin(), counted(three), reason("model_context_window_exceeded")},
			[]abi.ModelEvent{failed(abi.ProviderError{Classification: "context_overflow", Message: "model_context_window_exceeded: the request fills the model's context window"})}},
		{"output that cannot be read", []abi.Frame{reason("malformed_tool_use"), counted(three)},
			[]abi.ModelEvent{failed(abi.ProviderError{Classification: "internal", Message: "malformed_tool_use: the model's output cannot be read", Retryable: true})}},
		{"what nobody knows", []abi.Frame{
			{Event: "initial-response", Data: ""}, {Event: "newEvent", Data: "[]"}, {}, frame("contentBlockStart", `"contentBlockIndex":0,"start":{"image":{}}`), delta("0", `"citation":{"title":"x"}`), stopped("0"), stopped("5"),
			reason("new_reason"), frame("metadata", `"trace":{}`),
		}, []abi.ModelEvent{finish("unknown")}},
	}
}

func TestEverySplitGivesTheSameEvents(t *testing.T) {
	for _, s := range streams() {
		t.Run(s.name, func(t *testing.T) {
			for cuts := range 1 << len(s.frames) {
				got, err := decodeAll(t, s.frames, cuts)
				if err != nil {
					t.Fatalf("cuts %b: %v", cuts, err)
				}
				if !reflect.DeepEqual(got, s.want) {
					t.Fatalf("cuts %b:\n got %s\nwant %s", cuts, lines(t, got), lines(t, s.want))
				}
			}
		})
	}
}

func lines(t *testing.T, events []abi.ModelEvent) string {
	t.Helper()
	encoded, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestMalformedFramesAreNamed(t *testing.T) {
	for _, c := range []struct {
		frame abi.Frame
		names string
	}{
		{abi.Frame{Event: "contentBlockDelta", Data: `{"delta":{`}, `{"delta":{`},
		{abi.Frame{Event: "metadata", Data: `garbage`}, `garbage`},
		{abi.Frame{Event: "messageStop", Data: `[]`}, `expected an object`},
		{abi.Frame{Event: "messageStop", Data: `{} {}`}, `something follows the end`},
		{abi.Frame{Event: "messageStop", Data: `{"stopReason":` + strings.Repeat("x", 300)}, strings.Repeat("x", 100)},
		{delta("0", `"reasoningContent":{"text":"x"}`), `block 0 is text and goes on as reasoning`},
		{delta("0", `"toolUse":{"input":"x"}`), `the arguments of block 0 are of no call`},
		{delta("3", `"toolUse":{"input":"x"}`), `the arguments of block 3 are of no call`},
		{opened("0", "c", "f"), `block 0 is started twice`},
		{opened("1", "c", ""), `the tool call of block 1 has no id or no name`},
		{delta("0", `"text":[1]`), `expected a string`},
	} {
		for cuts := range 4 {
			_, err := decodeAll(t, []abi.Frame{said("0", "x"), c.frame}, cuts)
			var failure *abi.Error
			if !errors.As(err, &failure) || failure.Kind != abi.KindFailed || !strings.Contains(failure.Message, c.names) {
				t.Errorf("%s: error %v, want one of kind failed with %q", c.frame.Data, err, c.names)
			} else if len(failure.Message) > 450 {
				t.Errorf("the message has %d bytes", len(failure.Message))
			}
		}
	}
	_, err := decodeAll(t, []abi.Frame{opened("0", "c", "f"), said("0", "x")}, 0)
	if err == nil || !strings.Contains(err.Error(), "block 0 is call and goes on as text") {
		t.Errorf("a text in a call: %v", err)
	}
}

// L 311: exceptions are typed by their names, and validation by its words.
func TestExceptionsAreClassified(t *testing.T) {
	for _, c := range []struct {
		frame abi.Frame
		class string
		retry bool
	}{
		{exceptional("throttlingException", "slow down"), "rate_limit", true},
		{exceptional("internalServerException", "it broke"), "internal", true},
		{exceptional("modelStreamErrorException", "it broke"), "internal", true},
		{exceptional("modelTimeoutException", "too slow"), "internal", true},
		{exceptional("serviceUnavailableException", "later"), "overloaded", true},
		{exceptional("accessDeniedException", "no"), "authentication", false},
		{exceptional("validationException", "messages: bad"), "invalid_request", false},
		{exceptional("validationException", "Input is too long for requested model."), "context_overflow", false}, // L305
		{exceptional("newException", "new"), "unknown", false},
		{abi.Frame{Event: "InternalError", Data: "it broke"}, "internal", true},
	} {
		got, err := decodeAll(t, []abi.Frame{c.frame}, 0)
		if err != nil || len(got) != 1 || got[0].Error == nil {
			t.Errorf("%s: %s, %v", c.frame.Event, lines(t, got), err)
		} else if e := *got[0].Error; e.Classification != c.class || e.Retryable != c.retry || !strings.HasPrefix(e.Message, c.frame.Event+": ") {
			t.Errorf("%s: %+v", c.frame.Event, e)
		}
	}
}

func TestResponsesAreClassified(t *testing.T) {
	for _, c := range []struct {
		status     int
		name, body string
		want       abi.ProviderError
	}{
		{429, "ThrottlingException:http://internal.amazon.com/coral/", `{"message":"Too many tokens, please wait"}`,
			abi.ProviderError{Classification: "rate_limit", Retryable: true, Message: "the provider answered HTTP 429: ThrottlingException: Too many tokens, please wait"}},
		{429, "ModelNotReadyException", `{"message":"warming up"}`, abi.ProviderError{Classification: "overloaded", Retryable: true, Message: "the provider answered HTTP 429: ModelNotReadyException: warming up"}},
		{400, "ServiceQuotaExceededException", `{"message":"quota"}`, abi.ProviderError{Classification: "quota", Message: "the provider answered HTTP 400: ServiceQuotaExceededException: quota"}},
		{400, "ValidationException", `{"message":"The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum"}`, // L305
			abi.ProviderError{Classification: "context_overflow", Message: "the provider answered HTTP 400: ValidationException: The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum"}},
		{400, "ValidationException", `{"message":"bad"}`, abi.ProviderError{Classification: "invalid_request", Message: "the provider answered HTTP 400: ValidationException: bad"}},
		{413, "", `too large`, abi.ProviderError{Classification: "invalid_request", Message: "the provider answered HTTP 413: too large"}}, // L305
		{403, "AccessDeniedException", `{"Message":"no"}`, abi.ProviderError{Classification: "authentication", Message: "the provider answered HTTP 403: AccessDeniedException: no"}},
		{400, "ExpiredTokenException", `{"message":"expired"}`, abi.ProviderError{Classification: "authentication", Message: "the provider answered HTTP 400: ExpiredTokenException: expired"}},
		{408, "ModelTimeoutException", `{"message":"slow"}`, abi.ProviderError{Classification: "internal", Retryable: true, Message: "the provider answered HTTP 408: ModelTimeoutException: slow"}},
		{424, "ModelErrorException", `{"message":"broke"}`, abi.ProviderError{Classification: "internal", Retryable: true, Message: "the provider answered HTTP 424: ModelErrorException: broke"}},
		{503, "ServiceUnavailableException", `{}`, abi.ProviderError{Classification: "overloaded", Retryable: true, Message: "the provider answered HTTP 503: {}"}},
		{404, "", `{"message":"no such model"}`, abi.ProviderError{Classification: "invalid_request", Message: "the provider answered HTTP 404: no such model"}},
	} {
		got, err := plinthtest.Call[abi.ProviderError](t, abi.ExportProviderClassify,
			abi.ProviderClassify{Provider: "bedrock", Status: c.status, Headers: map[string]string{"X-Amzn-ErrorType": c.name}, Body: c.body})
		if err != nil || got != c.want {
			t.Errorf("%d %s:\n got %+v, %v\nwant %+v", c.status, c.name, got, err, c.want)
		}
	}
}

func TestStateStaysSmallAndIsChecked(t *testing.T) {
	frames := []abi.Frame{}
	for range 1000 {
		frames = append(frames, said("0", "some more text"))
	}
	decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "bedrock", Frames: frames})
	if want := `{"blocks":[0,"text","","",""],"said":true}`; err != nil || len(decoded.Events) != 1000 || string(decoded.State) != want {
		t.Errorf("%d events, state %s, %v", len(decoded.Events), decoded.State, err)
	}
	for _, state := range []string{`7`, `{"blocks":["x"]}`, `{"usage":7}`} {
		_, err = plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "bedrock", State: json.RawMessage(state), Frames: []abi.Frame{}})
		if err == nil {
			t.Errorf("the state %s is taken", state)
		}
	}
}
