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
func decodeAll(t *testing.T, frames []string, cuts int) ([]abi.ModelEvent, error) {
	t.Helper()
	var events []abi.ModelEvent
	call := abi.ProviderDecode{Provider: "openai", Frames: []abi.Frame{}}
	next := func() error {
		decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, call)
		events = append(events, decoded.Events...)
		call.State, call.Frames = decoded.State, []abi.Frame{}
		return err
	}
	for i, data := range frames {
		call.Frames = append(call.Frames, abi.Frame{Data: data})
		if cuts&(1<<i) != 0 {
			if err := next(); err != nil {
				return events, err
			}
		}
	}
	call.End = true
	return events, next()
}

// delta is a chunk whose only choice has the given members.
func delta(members string) string { return `{"choices":[{"index":0,` + members + `}]}` }

func text(s string) abi.ModelEvent { return abi.ModelEvent{Type: "text.delta", ID: "text-0", Text: s} }

func reasoning(s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "reasoning.delta", ID: "reasoning-0", Text: s}
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
	frames []string
	want   []abi.ModelEvent
}

func streams() []recorded {
	return []recorded{
		{"text with usage behind the finish", []string{
			delta(`"delta":{"role":"assistant","content":""}`),
			delta(`"delta":{"content":"Hel"}`), ``, delta(`"delta":{"content":"lo"},"finish_reason":null`),
			delta(`"delta":{},"finish_reason":"stop"`),
			`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`, `[DONE]`,
		}, []abi.ModelEvent{text("Hel"), text("lo"), usage(abi.Usage{Input: 3, Output: 2}), finish("stop")}},
		{"the stream ends without DONE", []string{
			delta(`"delta":{"content":"x"}`), delta(`"finish_reason":"length","delta":{"content":"y"}`),
		}, []abi.ModelEvent{text("x"), text("y"), finish("length")}},
		{"cut before the finish reason", []string{
			delta(`"delta":{"content":"x"}`), delta(`"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}`), `[DONE]`,
		}, []abi.ModelEvent{text("x"), start("c", "f"), input("c", "{")}},
		{"two calls, their arguments in pieces", []string{
			delta(`"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}`),
			delta(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`),
			delta(`"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"list","arguments":"{}"}}]}`),
			delta(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
			delta(`"delta":{},"finish_reason":"stop"`), `[DONE]`,
		}, []abi.ModelEvent{start("a", "read"), input("a", `{"path":`), start("b", "list"), input("b", "{}"), input("a", "1}"), end("a"), end("b"), finish("tool_calls")}},
		{"calls without an index, and arguments that are an object", []string{
			delta(`"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x": 1}}},{"id":"b","function":{"name":"g","arguments":"{"}}]}`),
			delta(`"delta":{"tool_calls":[{"index":null,"function":{"arguments":"}"}}]}`),
			delta(`"finish_reason":"tool_calls"`),
		}, []abi.ModelEvent{start("a", "f"), input("a", `{"x": 1}`), start("b", "g"), input("b", "{"), input("b", "}"), end("a"), end("b"), finish("tool_calls")}},
		{"calls that share an index, ids repeated", []string{
			delta(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}]}`),
			delta(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"2"}}]}`),
			delta(`"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"3"}}]}`),
			delta(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"4"}}]},"finish_reason":"tool_calls"`),
		}, []abi.ModelEvent{start("a", "f"), input("a", "1"), input("a", "2"), start("b", "f"), input("b", "3"), input("b", "4"), end("a"), end("b"), finish("tool_calls")}},
		{"reasoning by both names, a refusal", []string{
			delta(`"delta":{"reasoning_content":"a","reasoning":"a"}`), delta(`"delta":{"reasoning":"b","content":null}`),
			delta(`"delta":{"refusal":"no"}`), delta(`"finish_reason":"content_filter"`),
		}, []abi.ModelEvent{reasoning("a"), reasoning("b"), text("no"), finish("content_filter")}},
		{"an error in the stream is the last event", []string{
			delta(`"delta":{"content":"x"}`), `{"error":{"message":"The server had an error","type":"server_error","code":null}}`,
			delta(`"delta":{"content":"y"},"finish_reason":"stop"`), `[DONE]`,
		}, []abi.ModelEvent{text("x"), failed(abi.ProviderError{Classification: "internal", Message: "server_error: The server had an error", Retryable: true})}},
		{"usage on every chunk, the last counts; reasoning beside the completion", []string{
			`{"usage":{"prompt_tokens":1,"completion_tokens":0},"choices":[{"index":0,"delta":{"content":"x"}}]}`,
			`{"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":6},"prompt_tokens_details":{"cached_tokens":9}},"choices":[{"finish_reason":"stop","delta":{},"index":0}]}`,
			`{"choices":[],"usage":null}`, `[DONE]`,
		}, []abi.ModelEvent{text("x"), usage(abi.Usage{Input: 10, Output: 10, Reasoning: 6, CacheRead: 9}), finish("stop")}},
		{"nulls, another choice, unknown fields, an unknown reason", []string{
			`{"choices":[{"delta":{"content":"other"},"index":1},{"x":[{}],"delta":{"content":"x","y":{"z":1}},"index":0}],"obfuscation":"abc"}`,
			delta(`"delta":null,"finish_reason":null`), delta(`"delta":{"tool_calls":null,"content":null}`), `{"choices":null,"error":null}`,
			delta(`"delta":{},"finish_reason":"end_of_time"`), `{}`, `null`,
		}, []abi.ModelEvent{text("x"), finish("unknown")}},
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
	long := `{"choices":[{"delta":{"content":` + strings.Repeat("x", 300)
	for frame, names := range map[string]string{
		`{"choices":[`:                   `{"choices":[`,
		`garbage`:                        `garbage`,
		`[]`:                             `expected an object`,
		`{"choices":1}`:                  `expected an array`,
		`{} {}`:                          `something follows the end`,
		long:                             strings.Repeat("x", 100),
		delta(`"delta":{"content":[1]}`): `expected a string`,
		delta(`"delta":{"tool_calls":[{"index":3,"function":{"arguments":"{}"}}]}`): `tool call 3 has no id`,
		delta(`"delta":{"tool_calls":[{"index":0,"id":"c","function":{}}]}`):        `no id or no name`,
	} {
		for cuts := range 4 {
			_, err := decodeAll(t, []string{delta(`"delta":{"content":"x"}`), frame}, cuts)
			var failure *abi.Error
			if !errors.As(err, &failure) || failure.Kind != abi.KindFailed || !strings.Contains(failure.Message, names) {
				t.Errorf("%s: error %v, want one of kind failed with %q", frame, err, names)
			} else if len(failure.Message) > 450 {
				t.Errorf("the message has %d bytes", len(failure.Message))
			}
		}
	}
	_, err := decodeAll(t, []string{delta(`"finish_reason":"stop"`), delta(`"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]}`)}, 0)
	if err == nil || !strings.Contains(err.Error(), "after the finish reason") {
		t.Errorf("a call after the finish: %v", err)
	}
}

func TestErrorsInAStreamAreClassified(t *testing.T) {
	for frame, want := range map[string]abi.ProviderError{
		`{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`: {Classification: "context_overflow", Message: "context_length_exceeded: This model's maximum context length is 8192 tokens"},
		`{"error":{"message":"Rate limit reached","code":429}}`:                                                       {Classification: "rate_limit", Message: "429: Rate limit reached", Retryable: true},
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`:                         {Classification: "quota", Message: "insufficient_quota: You exceeded your current quota"},
		`{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`:                                          {Classification: "authentication", Message: "invalid_api_key: Incorrect API key"},
		`{"error":{"message":"flagged","code":"content_filter"}}`:                                                     {Classification: "content_policy", Message: "content_filter: flagged"},
		`{"error":{"message":"Overloaded","code":503}}`:                                                               {Classification: "overloaded", Message: "503: Overloaded", Retryable: true},
		`{"error":"no model loaded"}`:                                                                                 {Classification: "unknown", Message: "no model loaded"},
		`{"error":{"type":"invalid_request_error"}}`:                                                                  {Classification: "invalid_request", Message: "the provider sent the error invalid_request_error"},
		`{"error":{}}`: {Classification: "unknown", Message: "the provider sent an error without a text"},
	} {
		got, err := decodeAll(t, []string{frame}, 0)
		if err != nil || !reflect.DeepEqual(got, []abi.ModelEvent{failed(want)}) {
			t.Errorf("%s:\n got %s, %v\nwant %s", frame, lines(t, got), err, lines(t, []abi.ModelEvent{failed(want)}))
		}
	}
}

func TestStateStaysSmallAndIsChecked(t *testing.T) {
	frames := []abi.Frame{}
	for range 1000 {
		frames = append(frames, abi.Frame{Data: delta(`"delta":{"content":"some more text"}`)})
	}
	decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "openai", Frames: frames})
	if err != nil || len(decoded.Events) != 1000 || len(decoded.State) != 0 {
		t.Errorf("%d events, state %s, %v", len(decoded.Events), decoded.State, err)
	}
	for _, state := range []string{`7`, `{"calls":["x"]}`} {
		_, err = plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "openai", State: json.RawMessage(state), Frames: []abi.Frame{}})
		if err == nil {
			t.Errorf("the state %s is taken", state)
		}
	}
}
