package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
	call := abi.ProviderDecode{Provider: "gemini", Frames: []abi.Frame{}}
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

func text(id, s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "text.delta", ID: id, Text: s}
}

func textEnd(id string) abi.ModelEvent { return abi.ModelEvent{Type: "text.end", ID: id} }

func reasoning(id, s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "reasoning.delta", ID: id, Text: s}
}

func reasoningEnd(id, metadata string) abi.ModelEvent {
	return abi.ModelEvent{Type: "reasoning.end", ID: id, Metadata: json.RawMessage(metadata)}
}

func start(id, name string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.start", ID: id, Name: name}
}

func argument(id, s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.delta", ID: id, Text: s}
}

func end(id, metadata string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.end", ID: id, Metadata: json.RawMessage(metadata)}
}

// parts is a chunk of an answer.
func parts(members string) string {
	return `{"candidates":[{"content":{"parts":[` + members + `],"role":"model"},"index":0}],"responseId":"R-1_x"}`
}

func ended(reason string) string {
	return `{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"` + reason + `","index":0}],"responseId":"R-1_x"}`
}

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
		{"L302: text, and usage that counts the thoughts", []string{
			parts(`{"text":"Hel"}`), ``, `{"candidates":[{"index":1,"content":{"parts":[{"text":"other"}]}},{"content":{"parts":[{"text":"lo"}]},"safetyRatings":[{"x":1}]}],"usageMetadata":{"promptTokenCount":17,"candidatesTokenCount":1}}`,
			ended("STOP"),
			`{"usageMetadata":{"promptTokenCount":15,"toolUsePromptTokenCount":2,"cachedContentTokenCount":5,"candidatesTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":24},"modelVersion":"gemini"}`,
		}, []abi.ModelEvent{text("text-0", "Hel"), text("text-0", "lo"), textEnd("text-0"), usage(abi.Usage{Input: 17, Output: 7, Reasoning: 3, CacheRead: 5}), finish("stop")}},
		{"thoughts, signed and not, and text that is signed", []string{
			parts(`{"text":"I think","thought":true}`), parts(`{"text":" so.","thought":true},{"text":"Yes"}`),
			parts(`{"text":"!","thoughtSignature":"c2ln"}`), parts(`{"thought":true,"text":"More","thoughtSignature":"dHdv"},{"thought":true,"text":"Again"}`),
			parts(`{"text":"","thoughtSignature":"ZW5k"}`), ended("STOP"),
		}, []abi.ModelEvent{reasoning("thought-0", "I think"), reasoning("thought-0", " so."), reasoningEnd("thought-0", ""), text("text-1", "Yes"), text("text-1", "!"), textEnd("text-1"),
			reasoning("thought-2", ""), reasoningEnd("thought-2", `{"signature":"c2ln","text":true}`),
			reasoning("thought-3", "More"), reasoningEnd("thought-3", `{"signature":"dHdv"}`), reasoning("thought-4", "Again"), reasoningEnd("thought-4", ""),
			reasoning("thought-5", ""), reasoningEnd("thought-5", `{"signature":"ZW5k","text":true}`), finish("stop")}},
		{"parallel calls, one of them signed", []string{
			parts(`{"text":"I look."},{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}`),
			parts(`{"functionCall":{"name":"list","id":"fn7"}},{"functionCall":{"name":"list","args":null}}`), ended("STOP"),
		}, []abi.ModelEvent{text("text-0", "I look."), textEnd("text-0"), start("call_R-1_x_1", "read"), argument("call_R-1_x_1", `{"path":"a"}`), end("call_R-1_x_1", `{"signature":"c2ln"}`),
			start("call_R-1_x_2", "list"), end("call_R-1_x_2", `{"id":"fn7"}`), start("call_R-1_x_3", "list"), end("call_R-1_x_3", ""), finish("tool_calls")}},
		{"code that Google ran", []string{
			parts(`{"executableCode":{"language":"PYTHON","code":"1+1"}}`), parts(`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}`),
			parts(`{"executableCode":{"code":"1/0"},"thoughtSignature":"c2ln"},{"codeExecutionResult":{"outcome":"OUTCOME_FAILED"}}`), parts(`{"inlineData":{"mimeType":"image/png","data":"iVBOR"}}`), ended("STOP"),
		}, []abi.ModelEvent{hostedStart("call_R-1_x_1"), argument("call_R-1_x_1", `{"language":"PYTHON","code":"1+1"}`), end("call_R-1_x_1", `{"code":true}`),
			{Type: "tool.result", ID: "call_R-1_x_1", Text: "2", Result: json.RawMessage(`{"outcome":"OUTCOME_OK","output":"2"}`)},
			hostedStart("call_R-1_x_2"), argument("call_R-1_x_2", `{"code":"1/0"}`), end("call_R-1_x_2", `{"signature":"c2ln","code":true}`),
			{Type: "tool.result", ID: "call_R-1_x_2", Text: "the code ended with OUTCOME_FAILED", Result: json.RawMessage(`{"outcome":"OUTCOME_FAILED"}`), Failed: true},
			text("text-0", "[a file of type image/png, which is not kept]"), textEnd("text-0"), finish("stop")}},
		{"L299: cut before the finish reason", []string{parts(`{"text":"x"}`), parts(`{"text":"y"}`)}, []abi.ModelEvent{text("text-0", "x"), text("text-0", "y")}},
		{"the limit of tokens", []string{parts(`{"text":"x"}`), ended("MAX_TOKENS")}, []abi.ModelEvent{text("text-0", "x"), textEnd("text-0"), finish("length")}},
		{"an answer that is filtered", []string{ended("SAFETY")}, []abi.ModelEvent{finish("content_filter")}},
		{"a reason nobody knows", []string{ended("END_OF_TIME"), `{}`, `null`}, []abi.ModelEvent{finish("unknown")}},
		{"a call that cannot be read", []string{parts(`{"text":"x"}`), `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"call(x"}]}`}, []abi.ModelEvent{text("text-0", "x"),
			failed(abi.ProviderError{Classification: "internal", Message: "MALFORMED_FUNCTION_CALL: the model's answer could not be read: call(x", Retryable: true})}},
		{"a history without a signature", []string{ended("MISSING_THOUGHT_SIGNATURE")}, []abi.ModelEvent{
			failed(abi.ProviderError{Classification: "invalid_request", Message: "MISSING_THOUGHT_SIGNATURE: the history lacks a signature"})}},
		{"a prompt that is blocked", []string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","safetyRatings":[]},"usageMetadata":{"promptTokenCount":3}}`}, []abi.ModelEvent{
			usage(abi.Usage{Input: 3}), failed(abi.ProviderError{Classification: "content_policy", Message: "Google blocked the prompt: PROHIBITED_CONTENT"})}},
		{"an error in the stream is the last event", []string{parts(`{"text":"x"}`), `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, parts(`{"text":"y"}`), ended("STOP")}, []abi.ModelEvent{
			text("text-0", "x"), failed(abi.ProviderError{Classification: "overloaded", Message: "503: The model is overloaded.", Retryable: true})}},
	}
}

func hostedStart(id string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.start", ID: id, Name: "code_execution", Hosted: true}
}

func TestEverySplitGivesTheSameEvents(t *testing.T) {
	for _, s := range streams() {
		t.Run(s.name, func(t *testing.T) {
			for cuts := range 1 << len(s.frames) {
				got, err := decodeAll(t, s.frames, cuts)
				if err != nil {
					t.Fatalf("cuts %b: %v", cuts, err)
				}
				if lines(t, got) != lines(t, s.want) {
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

// The protocol tells no calls apart, so their ids are made: others for every answer,
// and the same for the same chunks.
func TestCallsOfOtherAnswersHaveOtherIDs(t *testing.T) {
	const call = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read"}}]}}],"usageMetadata":{"promptTokenCount":%d}%s}`
	seen := map[string]string{}
	for _, more := range []string{`,"responseId":"a"`, `,"responseId":"b"`, ``} {
		for _, tokens := range []int{10, 20} {
			frame := fmt.Sprintf(call, tokens, more)
			first, err := decodeAll(t, []string{frame}, 0)
			again, _ := decodeAll(t, []string{frame}, 1)
			if err != nil || len(first) == 0 || lines(t, first) != lines(t, again) {
				t.Fatalf("%v, %s, %s", err, lines(t, first), lines(t, again))
			}
			if before := seen[first[0].ID]; before != "" && more == "" {
				t.Errorf("%s and %s both have a call %s", frame, before, first[0].ID)
			}
			seen[first[0].ID] = frame
		}
	}
	if len(seen) != 4 || seen["call_a_1"] == "" || seen["call_b_1"] == "" {
		t.Errorf("the ids are %v", seen)
	}
}

func TestMalformedFramesAreNamed(t *testing.T) {
	for frame, names := range map[string]string{ // L301
		`{"candidates":[`:                     `{"candidates":[`,
		`garbage`:                             `garbage`,
		`[]`:                                  `expected an object`,
		`{} {}`:                               `something follows the end`,
		`{"candidates":1}`:                    `expected an array`,
		parts(`{"text":1}`):                   `expected a string`,
		parts(`{"functionCall":{"args":{}}}`): `a function call has no name`,
		parts(`{"codeExecutionResult":{}}`):   `a result of code that was not told`,
		`{"candidates":` + strings.Repeat("x", 300): strings.Repeat("x", 100),
	} {
		for cuts := range 4 {
			_, err := decodeAll(t, []string{parts(`{"text":"x"}`), frame}, cuts)
			var failure *abi.Error
			if !errors.As(err, &failure) || failure.Kind != abi.KindFailed || !strings.Contains(failure.Message, names) {
				t.Errorf("%s: error %v, want one of kind failed with %q", frame, err, names)
			} else if len(failure.Message) > 450 {
				t.Errorf("the message has %d bytes", len(failure.Message))
			}
		}
	}
}

func TestStateStaysSmallAndIsChecked(t *testing.T) {
	frames := []abi.Frame{}
	for range 1000 {
		frames = append(frames, abi.Frame{Data: parts(`{"text":"some more text"}`)})
	}
	decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "gemini", Frames: frames})
	if err != nil || len(decoded.Events) != 1000 || len(decoded.State) > 100 {
		t.Errorf("%d events, state %s, %v", len(decoded.Events), decoded.State, err)
	}
	for _, state := range []string{`7`, `{"parts":"x"}`} {
		_, err = plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "gemini", State: json.RawMessage(state), Frames: []abi.Frame{}})
		if err == nil {
			t.Errorf("the state %s is taken", state)
		}
	}
}

// L304, L305: Google's words for limits, keys and windows.
func TestGooglesErrorsAreClassified(t *testing.T) {
	const quota = `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED"%s}}`
	const message = "the provider answered HTTP 429: 429: You exceeded your current quota."
	for _, c := range []struct {
		status int
		body   string
		want   abi.ProviderError
	}{
		{429, fmt.Sprintf(quota, `,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay": "26.5s"}]`), abi.ProviderError{Classification: "rate_limit", Message: message, Retryable: true, RetryAfterMS: 26500}},
		{429, fmt.Sprintf(quota, `,"details":[{"quotaId":"RequestsPerDayPerProject"},{"retryDelay":"26s"}]`), abi.ProviderError{Classification: "quota", Message: message}},
		{429, fmt.Sprintf(quota, `,"details":[{"retryDelay":"soon"}]`), abi.ProviderError{Classification: "quota", Message: message}},
		{429, fmt.Sprintf(quota, ``), abi.ProviderError{Classification: "quota", Message: message}},
		{400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, abi.ProviderError{Classification: "authentication", Message: "the provider answered HTTP 400: 400: API key not valid."}},
		{400, `{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`, abi.ProviderError{Classification: "context_overflow", Message: "the provider answered HTTP 400: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}},
		{413, `{"error":{"message":"too much"}}`, abi.ProviderError{Classification: "invalid_request", Message: "the provider answered HTTP 413: too much"}},
	} {
		got, err := plinthtest.Call[abi.ProviderError](t, abi.ExportProviderClassify, abi.ProviderClassify{Provider: "gemini", Status: c.status, Body: c.body})
		if err != nil || got != c.want {
			t.Errorf("%d %s:\n got %+v, %v\nwant %+v", c.status, c.body, got, err, c.want)
		}
	}
}
