package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
	call := abi.ProviderDecode{Provider: "openai-responses", Frames: []abi.Frame{}}
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

func hostedStart(id, name string) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.start", ID: id, Name: name, Hosted: true}
}

// result is what came of the hosted call; its item comes back as it is, unless it is empty.
func result(id, text, item string, failed bool) abi.ModelEvent {
	return abi.ModelEvent{Type: "tool.result", ID: id, Text: text, Result: json.RawMessage(item), Failed: failed}
}

func outputItem(phase string, index int, members string) string {
	return fmt.Sprintf(`{"type":"response.output_item.%s","output_index":%d,"item":{%s}}`, phase, index, members)
}

// piece is a delta of an item.
func piece(kind, id string, index int, members string) string {
	return fmt.Sprintf(`{"type":"response.%s.delta","item_id":"%s","output_index":%d,%s}`, kind, id, index, members)
}

const completed = `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":17}}}`

var used = usage(abi.Usage{Input: 10, Output: 7, Reasoning: 3, CacheRead: 4})

func finish(reason string) abi.ModelEvent { return abi.ModelEvent{Type: "finish", Reason: reason} }

func usage(u abi.Usage) abi.ModelEvent { return abi.ModelEvent{Type: "usage", Usage: &u} }

func failed(e abi.ProviderError) abi.ModelEvent { return abi.ModelEvent{Type: "error", Error: &e} }

type recorded struct {
	name   string
	frames []string
	want   []abi.ModelEvent
}

func streams() []recorded {
	search := `"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"go"}`
	code := `"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"1+1","outputs":[{"type":"logs","logs":"2"}]`
	files := `"type":"file_search_call","id":"fs_1","status":"completed","queries":["go"],"results":[{"filename":"a.md","text":"found","score":0.5},{"filename":"b.md"}]`
	mcp := `"type":"mcp_call","id":"mcp_1","name":"ask","arguments":"{}","error":{"code":1,"message":"away"},"output":null`
	return []recorded{
		{"text, events nobody knows, and white space", []string{
			`{"type":"response.created","response":{"id":"resp_1","status":"in_progress","usage":null,"error":null,"incomplete_details":null}}`, ` `,
			outputItem("added", 0, `"type":"message","id":"msg_1","status":"in_progress","content":[],"role":"assistant"`),
			piece("output_text", "msg_1", 0, `"content_index":0,"delta":"Hel","obfuscation":"x"`),
			`{"type":"response.something.new","delta":{"a":1},"item_id":"msg_1"}`,
			piece("output_text", "msg_1", 0, `"content_index":0,"delta":"lo"`),
			outputItem("done", 0, `"type":"message","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"Hello"}]`), completed, `[DONE]`,
		}, []abi.ModelEvent{text("msg_1", "Hel"), text("msg_1", "lo"), textEnd("msg_1"), used, finish("stop")}},
		{"L302: the counts are inclusive", []string{completed}, []abi.ModelEvent{used, finish("stop")}},
		{"a summary of two parts, whose last has the encrypted content", []string{
			outputItem("added", 0, `"type":"reasoning","id":"rs_1","summary":[]`),
			piece("reasoning_summary_text", "rs_1", 0, `"summary_index":0,"delta":"Look "`),
			piece("reasoning_summary_text", "rs_1", 0, `"summary_index":0,"delta":"first."`),
			`{"type":"response.reasoning_summary_part.done","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Look first."}}`,
			piece("reasoning_summary_text", "rs_1", 0, `"summary_index":1,"delta":"Then act."`),
			outputItem("done", 0, `"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Look first."},{"type":"summary_text","text":"Then act."}],"encrypted_content":"gAAA"`),
			completed,
		}, []abi.ModelEvent{reasoning("rs_1:0", "Look "), reasoning("rs_1:0", "first."), reasoningEnd("rs_1:0", `{"item":"rs_1"}`),
			reasoning("rs_1:1", "Then act."), reasoningEnd("rs_1:1", `{"item":"rs_1","encrypted_content":"gAAA"}`), used, finish("stop")}},
		{"reasoning that may not be read", []string{
			outputItem("added", 0, `"type":"reasoning","id":"rs_1","summary":[]`),
			outputItem("done", 0, `"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"`), completed,
		}, []abi.ModelEvent{reasoning("rs_1:0", ""), reasoningEnd("rs_1:0", `{"item":"rs_1","encrypted_content":"gAAA"}`), used, finish("stop")}},
		{"reasoning in clear", []string{
			piece("reasoning_text", "rs_1", 0, `"content_index":0,"delta":"Hm."`),
			outputItem("done", 0, `"type":"reasoning","id":"rs_1","summary":[]`), completed,
		}, []abi.ModelEvent{reasoning("rs_1:text", "Hm."), reasoningEnd("rs_1:text", `{"item":"rs_1"}`), used, finish("stop")}},
		{"two calls, their arguments in pieces that mix", []string{
			outputItem("added", 0, `"type":"function_call","id":"fc_1","call_id":"a","name":"read","arguments":"","status":"in_progress"`),
			piece("function_call_arguments", "fc_1", 0, `"delta":"{\"path\":"`),
			outputItem("added", 1, `"type":"function_call","id":"fc_2","call_id":"b","name":"list","arguments":""`),
			piece("function_call_arguments", "fc_2", 1, `"delta":"{}"`), piece("function_call_arguments", "fc_1", 0, `"delta":"1}"`),
			`{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":"{\"path\":1}"}`,
			outputItem("done", 0, `"type":"function_call","id":"fc_1","call_id":"a","name":"read","arguments":"{\"path\":1}","status":"completed"`),
			outputItem("done", 1, `"type":"function_call","id":"fc_2","call_id":"b","name":"list","arguments":"{}"`), completed,
		}, []abi.ModelEvent{start("a", "read"), argument("a", `{"path":`), start("b", "list"), argument("b", "{}"), argument("a", "1}"),
			end("a", `{"item":"fc_1"}`), end("b", `{"item":"fc_2"}`), used, finish("tool_calls")}},
		{"every event has another id; what was not streamed comes with the end", []string{
			outputItem("added", 0, `"type":"message","id":"x1"`), piece("output_text", "x2", 0, `"delta":"Hi"`), outputItem("done", 0, `"type":"message","id":"x3","content":[{"text":"Hi"}]`),
			outputItem("added", 1, `"type":"function_call","id":"y1","call_id":"a","name":"read"`), piece("function_call_arguments", "y2", 1, `"delta":"{\"a"`),
			outputItem("done", 1, `"type":"function_call","id":"y3","call_id":"a","name":"read","arguments":"{\"a\":1}"`),
			outputItem("done", 2, `"type":"function_call","id":"","call_id":"b","name":"list","arguments":"{}"`),
			outputItem("done", 3, `"type":"message","id":"m","content":[{"type":"output_text","text":"Do"},{"type":"refusal","refusal":"ne"}]`), completed,
		}, []abi.ModelEvent{text("x1", "Hi"), textEnd("x1"), start("a", "read"), argument("a", `{"a`), argument("a", `":1}`), end("a", `{"item":"y3"}`),
			start("b", "list"), argument("b", "{}"), end("b", ""), text("m", "Done"), textEnd("m"), used, finish("tool_calls")}},
		{"events without places, a refusal", []string{
			`{"type":"response.refusal.delta","item_id":"m","delta":"no"}`, `{"type":"response.refusal.delta","item_id":"m","delta":"!"}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","id":"f","call_id":"a","name":"read"}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{}"}`,
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`,
		}, []abi.ModelEvent{text("m", "no"), text("m", "!"), start("a", "read"), argument("a", "{}"), finish("content_filter")}},
		{"L295: hosted tools are calls with their results", []string{
			outputItem("added", 0, `"type":"web_search_call","id":"ws_1","status":"in_progress"`),
			`{"type":"response.web_search_call.searching","item_id":"ws_1","output_index":0}`,
			outputItem("done", 0, search), outputItem("done", 1, code), outputItem("done", 2, files), outputItem("done", 3, mcp),
			outputItem("done", 4, `"type":"image_generation_call","id":"ig_1","status":"completed","result":"iVBOR","revised_prompt":"a cat"`),
			outputItem("done", 5, `"type":"web_search_call","id":"ws_2","status":"failed"`), completed,
		}, []abi.ModelEvent{
			hostedStart("ws_1", "web_search"), argument("ws_1", `{"type":"search","query":"go"}`), end("ws_1", `{"item":"ws_1"}`), result("ws_1", "", "{"+search+"}", false),
			hostedStart("ci_1", "code_interpreter"), argument("ci_1", `{"code":"1+1"}`), end("ci_1", `{"item":"ci_1"}`), result("ci_1", "2", "{"+code+"}", false),
			hostedStart("fs_1", "file_search"), argument("fs_1", `{"queries":["go"]}`), end("fs_1", `{"item":"fs_1"}`), result("fs_1", "a.md: found\nb.md", "{"+files+"}", false),
			hostedStart("mcp_1", "ask"), argument("mcp_1", `{}`), end("mcp_1", `{"item":"mcp_1"}`), result("mcp_1", "1: away", "{"+mcp+"}", true),
			hostedStart("ig_1", "image_generation"), end("ig_1", `{"item":"ig_1"}`), result("ig_1", "an image was made: a cat", "", false),
			hostedStart("ws_2", "web_search"), end("ws_2", `{"item":"ws_2"}`), result("ws_2", "the provider's tool failed", `{"type":"web_search_call","id":"ws_2","status":"failed"}`, true),
			used, finish("stop")}},
		{"cut before the last event", []string{
			piece("output_text", "m", 0, `"delta":"x"`), outputItem("added", 1, `"type":"function_call","id":"f","call_id":"c","name":"read"`), `[DONE]`,
		}, []abi.ModelEvent{text("m", "x"), start("c", "read")}},
		{"the limit of tokens", []string{
			piece("output_text", "m", 0, `"delta":"x"`), `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2}}}`,
		}, []abi.ModelEvent{text("m", "x"), usage(abi.Usage{Input: 1, Output: 2}), finish("length")}},
		{"incomplete for a reason nobody knows", []string{`{"type":"response.incomplete","response":{"status":"incomplete"}}`}, []abi.ModelEvent{finish("unknown")}},
		{"a failure is the last event", []string{
			piece("output_text", "m", 0, `"delta":"x"`),
			`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"The server had an error"},"usage":{"input_tokens":9,"output_tokens":0}}}`,
			piece("output_text", "m", 0, `"delta":"y"`), completed,
		}, []abi.ModelEvent{text("m", "x"), usage(abi.Usage{Input: 9}), failed(abi.ProviderError{Classification: "internal", Message: "server_error: The server had an error", Retryable: true})}},
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

func TestMalformedFramesAreNamed(t *testing.T) {
	call := outputItem("added", 0, `"type":"function_call","id":"f","call_id":"c","name":"read"`)
	for frame, names := range map[string]string{ // L301
		`{"type":`: `{"type":`,
		`garbage`:  `garbage`,
		`[]`:       `expected an object`,
		`{} {}`:    `something follows the end`,
		`{"type":"response.output_item.done","item":{"type":1}}`:                                              `expected a string`,
		`{"type":"response.output_item.done"}`:                                                                `it has no item`,
		outputItem("added", 1, `"type":"function_call","id":"g","call_id":"","name":"read"`):                  `the function call g has no call_id or no name`,
		piece("function_call_arguments", "nobody", 7, `"delta":"{}"`):                                         `"nobody", which is no call`,
		outputItem("done", 0, `"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"[]"`): `the arguments of the call c are not those that were streamed`,
		`{"type":"x","delta":` + strings.Repeat("y", 300):                                                     strings.Repeat("y", 100),
	} {
		for cuts := range 8 {
			_, err := decodeAll(t, []string{call, piece("function_call_arguments", "f", 0, `"delta":"{}"`), frame}, cuts)
			var failure *abi.Error
			if !errors.As(err, &failure) || failure.Kind != abi.KindFailed || !strings.Contains(failure.Message, names) {
				t.Errorf("%s: error %v, want one of kind failed with %q", frame, err, names)
			} else if len(failure.Message) > 450 {
				t.Errorf("the message has %d bytes", len(failure.Message))
			}
		}
	}
}

func TestErrorsInAStreamAreClassified(t *testing.T) {
	for frame, want := range map[string]abi.ProviderError{
		`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window","param":null}`:               {Classification: "context_overflow", Message: "context_length_exceeded: Your input exceeds the context window"},
		`{"type":"error","code":"rate_limit_exceeded","message":"Rate limit reached"}`:                                                   {Classification: "rate_limit", Message: "rate_limit_exceeded: Rate limit reached", Retryable: true},
		`{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}`: {Classification: "quota", Message: "insufficient_quota: You exceeded your current quota"},
		`{"type":"response.failed","response":{"error":null}}`:                                                                           {Classification: "unknown", Message: "the provider sent an error without a text"},
		`{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"later"}}}`:                              {Classification: "overloaded", Message: "server_is_overloaded: later", Retryable: true},
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
		frames = append(frames, abi.Frame{Data: piece("output_text", "m", 0, `"delta":"some more text"`)})
	}
	decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "openai-responses", Frames: frames})
	if err != nil || len(decoded.Events) != 1000 || len(decoded.State) > 100 {
		t.Errorf("%d events, state %s, %v", len(decoded.Events), decoded.State, err)
	}
	for _, state := range []string{`7`, `{"open":["x"]}`} {
		_, err = plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "openai-responses", State: json.RawMessage(state), Frames: []abi.Frame{}})
		if err == nil {
			t.Errorf("the state %s is taken", state)
		}
	}
}
