package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// decodeAll gives the frames to the plugin in calls that end behind the frames of the
// bits set in cuts, and the end of the stream in the last.
func decodeAll(t *testing.T, frames []string, cuts int) ([]abi.ModelEvent, error) {
	t.Helper()
	var events []abi.ModelEvent
	call := abi.ProviderDecode{Provider: "ollama", Frames: []abi.Frame{}}
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

// said is a line that says this of the message.
func said(members string) string {
	return `{"created_at":"2026-11-22T09:30:00.5Z","message":{"role":"assistant",` + members + `},"done":false}`
}

const (
	lastLine = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}`
	cutLine  = `{"message":{"role":"assistant","content":"x"},"done":true,"done_reason":"length","eval_count":3}`
)

func TestAnswers(t *testing.T) {
	usage := abi.ModelEvent{Type: abi.EventUsage, Usage: &abi.Usage{Input: 7, Output: 3}}
	finish := func(reason string) abi.ModelEvent { return abi.ModelEvent{Type: abi.EventFinish, Reason: reason} }
	text := func(s string) abi.ModelEvent { return abi.ModelEvent{Type: abi.EventTextDelta, ID: textID, Text: s} }
	const first, second = "call_20261122T0930005Z_1", "call_20261122T0930005Z_2"
	for name, test := range map[string]struct {
		frames []string
		want   []abi.ModelEvent
	}{
		"text": {[]string{said(`"content":"a"`), "", said(`"content":"b"`), lastLine}, []abi.ModelEvent{text("a"), text("b"), usage, finish("stop")}},
		"thinking": {[]string{said(`"content":"","thinking":"hm"`), said(`"content":"b"`), lastLine},
			[]abi.ModelEvent{{Type: abi.EventReasoningDelta, ID: reasoningID, Text: "hm"}, text("b"), usage, finish("stop")}},
		"calls": {[]string{said(`"tool_calls":[{"function":{"name":"a","arguments":{"x":1}}}]`), said(`"tool_calls":[{"function":{"name":"b"}}]`), lastLine},
			[]abi.ModelEvent{{Type: abi.EventToolStart, ID: first, Name: "a"}, {Type: abi.EventToolDelta, ID: first, Text: `{"x":1}`}, {Type: abi.EventToolEnd, ID: first},
				{Type: abi.EventToolStart, ID: second, Name: "b"}, {Type: abi.EventToolEnd, ID: second}, usage, finish("tool_calls")}},
		"too long": {[]string{cutLine}, []abi.ModelEvent{text("x"), {Type: abi.EventUsage, Usage: &abi.Usage{Output: 3}}, finish("length")}},
		"cut off":  {[]string{said(`"content":"a"`)}, []abi.ModelEvent{text("a")}},
		"an error": {[]string{said(`"content":"a"`), `{"error":"an error was encountered while running the model"}`, lastLine},
			[]abi.ModelEvent{text("a"), {Type: abi.EventError, Error: &abi.ProviderError{Classification: abi.ClassUnknown, Message: "an error was encountered while running the model"}}}},
		"behind the end": {[]string{lastLine, said(`"content":"a"`)}, []abi.ModelEvent{usage, finish("stop")}},
	} {
		for cuts := range 1 << len(test.frames) {
			got, err := decodeAll(t, test.frames, cuts)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s, cut %b: %v\ngot  %+v\nwant %+v", name, cuts, err, got, test.want)
			}
		}
	}
}

func TestLinesThatAreNone(t *testing.T) {
	for _, data := range []string{"<html>", `{"message":`, `{"message":{"tool_calls":[{"function":{"arguments":{}}}]}}`, `[]`} {
		if _, err := decodeAll(t, []string{data}, 0); err == nil || !strings.Contains(err.Error(), "line of an answer") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// body encodes a request and answers the body.
func body(t *testing.T, request abi.ModelRequest) (map[string]any, error) {
	t.Helper()
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "ollama", Request: request})
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(encoded.Body, &body); err != nil {
		t.Fatalf("%v: %s", err, encoded.Body)
	}
	return body, nil
}

func TestToolsAreLeftOutWhereNoneIsToBeCalled(t *testing.T) {
	request := abi.ModelRequest{Model: "m", Tools: []abi.ToolDefinition{{Name: "a", Input: json.RawMessage(`{}`)}}}
	for choice, want := range map[string]bool{"": true, "auto": true, "required": true, "none": false} {
		request.ToolChoice = choice
		got, err := body(t, request)
		if _, has := got["tools"]; err != nil || has != want {
			t.Errorf("%q: %v, %v", choice, got, err)
		}
	}
}

func TestControls(t *testing.T) {
	if got, err := body(t, abi.ModelRequest{Model: "m"}); err != nil || got["options"] != nil || got["think"] != nil || got["stream"] != true {
		t.Errorf("%v, %v", got, err)
	}
	tokens, warm := int64(9), 0.5
	got, err := body(t, abi.ModelRequest{Model: "m", Generation: abi.Generation{MaxTokens: &tokens, Temperature: &warm, Stop: []string{"END"}},
		Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"think":false,"keep_alive":-1,"num_ctx":8192}`)}})
	want := map[string]any{"num_ctx": 8192.0, "num_predict": 9.0, "temperature": 0.5, "stop": []any{"END"}}
	if err != nil || got["think"] != false || got["keep_alive"] != -1.0 || !reflect.DeepEqual(got["options"], want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	for want, request := range map[string]abi.ModelRequest{
		`unknown field "thinking"; it may hold think, keep_alive, num_ctx and media`: {Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"thinking":true}`)}},
		`options.ollama.think is "much"`:                                             {Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"think":"much"}`)}},
		`options.ollama.keep_alive is true`:                                          {Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"keep_alive":true}`)}},
		`options.ollama.num_ctx is 0`:                                                {Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"num_ctx":0}`)}},
		`options.ollama.media is ["pdf"]`:                                            {Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"media":["pdf"]}`)}},
		`message m1 has the role "critic"`:                                           {Messages: []abi.Message{{ID: "m1", Role: "critic"}}},
		`the input schema of tool a: `:                                               {Tools: []abi.ToolDefinition{{Name: "a", Input: json.RawMessage(`3`)}}},
	} {
		if _, err := body(t, request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A model that reads text only is told of a file in words, and gets no bytes.
func TestImagesThatTheModelCannotSee(t *testing.T) {
	got, err := body(t, abi.ModelRequest{Model: "m", Options: map[string]json.RawMessage{"ollama": json.RawMessage(`{"media":[]}`)},
		Messages: []abi.Message{{Role: abi.RoleUser, Parts: []abi.Part{{Type: abi.PartText, Text: "Look"}, {Type: abi.PartMedia, Name: "a.png", Mime: "image/png", Blob: "00"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	message := got["messages"].([]any)[0].(map[string]any)
	if message["images"] != nil || !strings.Contains(message["content"].(string), "a.png") || !strings.Contains(message["content"].(string), "cannot look at") {
		t.Errorf("%v", message)
	}
}
