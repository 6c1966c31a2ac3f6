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
	call := abi.ProviderDecode{Provider: "anthropic", Frames: []abi.Frame{}}
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

// Frames of the protocol.

func begin(usage string) string {
	return `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":` + usage + `}}`
}

func opened(index, block string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`
}

func delta(index, members string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":{` + members + `}}`
}

func said(index, text string) string {
	return delta(index, `"type":"text_delta","text":"`+text+`"`)
}

func stopped(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }

func reason(reason, usage string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":` + usage + `}`
}

const over = `{"type":"message_stop"}`

// What they mean.

func text(id, s string) abi.ModelEvent { return abi.ModelEvent{Type: "text.delta", ID: id, Text: s} }

func textEnd(id string) abi.ModelEvent { return abi.ModelEvent{Type: "text.end", ID: id} }

func thought(id, s string) abi.ModelEvent {
	return abi.ModelEvent{Type: "reasoning.delta", ID: id, Text: s}
}

func thoughtEnd(id, metadata string) abi.ModelEvent {
	return abi.ModelEvent{Type: "reasoning.end", ID: id, Metadata: raw(metadata)}
}

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
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
	const search = `[{"type":"web_search_result","url":"https://go.dev","title":"Go","encrypted_content":"xyz","page_age":null}]`
	return []recorded{
		{"text", []string{
			begin(`{"input_tokens":3,"output_tokens":1}`), opened("0", `{"type":"text","text":""}`), `{"type": "ping"}`,
			said("0", "Hel"), "", said("0", "lo"), stopped("0"), reason("end_turn", `{"output_tokens":2}`), over,
		}, []abi.ModelEvent{text("text-0", "Hel"), text("text-0", "lo"), textEnd("text-0"), usage(abi.Usage{Input: 3, Output: 2}), finish("stop")}},
		{"L302: what the cache had and took is part of the input", []string{
			begin(`{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}`), opened("0", `{"type":"text","text":"x"}`),
			stopped("0"), reason("end_turn", `{"output_tokens":7,"input_tokens":null}`), over,
		}, []abi.ModelEvent{text("text-0", "x"), textEnd("text-0"), usage(abi.Usage{Input: 17, Output: 7, CacheRead: 5, CacheWrite: 2}), finish("stop")}},
		{"the end's usage wins", []string{
			begin(`{"input_tokens":1,"output_tokens":1}`), reason("stop_sequence", `{"input_tokens":4,"cache_read_input_tokens":6,"output_tokens":0}`), over,
		}, []abi.ModelEvent{usage(abi.Usage{Input: 10, CacheRead: 6}), finish("stop")}},
		{"parallel calls between text, one without arguments", []string{
			opened("0", `{"type":"text","text":""}`), said("0", "I look."), stopped("0"),
			opened("1", `{"type":"tool_use","id":"toolu_1","name":"read","input":{}}`), delta("1", `"type":"input_json_delta","partial_json":""`),
			delta("1", `"type":"input_json_delta","partial_json":"{\"pa"`), delta("1", `"type":"input_json_delta","partial_json":"th\":1}"`), stopped("1"),
			opened("2", `{"type":"tool_use","id":"toolu_2","name":"list","input":{}}`), stopped("2"), reason("tool_use", `{}`), over,
		}, []abi.ModelEvent{text("text-0", "I look."), textEnd("text-0"), start("toolu_1", "read"), input("toolu_1", `{"pa`), input("toolu_1", `th":1}`), end("toolu_1"),
			start("toolu_2", "list"), end("toolu_2"), finish("tool_calls")}},
		{"a call whose arguments come whole", []string{
			opened("0", `{"type":"tool_use","id":"c","name":"f","input":{"a": 1}}`), stopped("0"), reason("end_turn", `null`),
		}, []abi.ModelEvent{start("c", "f"), input("c", `{"a": 1}`), end("c"), finish("tool_calls")}},
		{"reasoning with its signature in pieces, and hidden", []string{
			opened("0", `{"type":"thinking","thinking":"","signature":""}`), delta("0", `"type":"thinking_delta","thinking":"Let me"`),
			delta("0", `"type":"thinking_delta","thinking":" see"`), delta("0", `"type":"signature_delta","signature":"Eq"`), delta("0", `"type":"signature_delta","signature":"o="`), stopped("0"),
			opened("1", `{"type":"redacted_thinking","data":"Em\/Q="}`), stopped("1"), opened("2", `{"type":"text","text":"Yes"}`), stopped("2"), reason("end_turn", `{}`), over,
		}, []abi.ModelEvent{thought("reasoning-0", ""), thought("reasoning-0", "Let me"), thought("reasoning-0", " see"), thoughtEnd("reasoning-0", `{"signature":"Eqo="}`),
			thought("reasoning-1", ""), thoughtEnd("reasoning-1", `{"redacted":"Em/Q="}`), text("text-2", "Yes"), textEnd("text-2"), finish("stop")}},
		{"reasoning of which nothing is shown, or nothing is signed", []string{
			opened("0", `{"type":"thinking","thinking":"","signature":"Eqo="}`), stopped("0"), opened("1", `{"type":"thinking","thinking":"hm"}`), stopped("1"), reason("end_turn", `{}`), over,
		}, []abi.ModelEvent{thought("reasoning-0", ""), thoughtEnd("reasoning-0", `{"signature":"Eqo="}`), thought("reasoning-1", "hm"), thoughtEnd("reasoning-1", ""), finish("stop")}},
		{"a tool of the provider", []string{
			opened("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), delta("0", `"type":"input_json_delta","partial_json":"{\"query\":\"go\"}"`), stopped("0"),
			opened("1", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":`+search+`}`), stopped("1"),
			opened("2", `{"citations":[],"type":"text","text":""}`), said("2", "It is"), delta("2", `"type":"citations_delta","citation":{"url":"https://go.dev"}`), stopped("2"), reason("end_turn", `{}`), over,
		}, []abi.ModelEvent{{Type: "tool.start", ID: "srvtoolu_1", Name: "web_search", Hosted: true}, input("srvtoolu_1", `{"query":"go"}`), end("srvtoolu_1"),
			{Type: "tool.result", ID: "srvtoolu_1", Text: "Go https://go.dev", Result: raw(search), Metadata: raw(`{"type":"web_search_tool_result"}`)},
			text("text-2", "It is"), textEnd("text-2"), finish("stop")}},
		{"a tool of the provider that fails, a result of an earlier answer, a pause", []string{
			opened("0", `{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_0","content":{"stdout":"1"}}`), stopped("0"),
			opened("1", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), stopped("1"),
			opened("2", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`), stopped("2"), reason("pause_turn", `{}`), over,
		}, []abi.ModelEvent{{Type: "tool.start", ID: "srvtoolu_1", Name: "web_search", Hosted: true}, end("srvtoolu_1"),
			{Type: "tool.result", ID: "srvtoolu_1", Text: "max_uses_exceeded", Failed: true, Metadata: raw(`{"type":"web_search_tool_result"}`),
				Result: raw(`{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}`)}, finish("stop")}},
		{"cut before the stop reason", []string{
			begin(`{"input_tokens":3}`), opened("0", `{"type":"text","text":""}`), said("0", "x"), stopped("0"), opened("1", `{"type":"tool_use","id":"c","name":"f","input":{}}`), delta("1", `"type":"input_json_delta","partial_json":"{"`),
		}, []abi.ModelEvent{text("text-0", "x"), textEnd("text-0"), start("c", "f"), input("c", "{")}},
		{"cut behind the stop reason", []string{said0(), reason("max_tokens", `{"output_tokens":1}`)},
			[]abi.ModelEvent{text("text-0", "x"), usage(abi.Usage{Output: 1}), finish("length")}},
		{"an error is the last event", []string{
			said0(), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, said("0", "y"), reason("end_turn", `{}`), over,
		}, []abi.ModelEvent{text("text-0", "x"), failed(abi.ProviderError{Classification: "overloaded", Message: "overloaded_error: Overloaded", Retryable: true})}},
		{"a refusal", []string{said0(), reason("refusal", `{}`), over}, []abi.ModelEvent{text("text-0", "x"), finish("content_filter")}},
		{"the window is full", []string{said0(), reason("model_context_window_exceeded", `{}`), over}, []abi.ModelEvent{text("text-0", "x"), finish("length")}},
		{"the window was full before", []string{begin(`{"input_tokens":3}`), reason("model_context_window_exceeded", `{}`), over},
			[]abi.ModelEvent{failed(abi.ProviderError{Classification: "context_overflow", Message: "model_context_window_exceeded: the request fills the model's context window"})}},
		{"what nobody knows", []string{
			`{"type":"new_event","index":null,"x":{}}`, opened("0", `{"type":"container_upload","file_id":"f"}`), delta("0", `"type":"new_delta"`), stopped("0"),
			opened("1", `{"type":"text","text":""}`), delta("1", `"type":"new_delta","text":"y"`), stopped("1"), reason("new_reason", `{"new":{}}`), over,
		}, []abi.ModelEvent{finish("unknown")}},
	}
}

// said0 opens a text block with an x.
func said0() string { return opened("0", `{"type":"text","text":"x"}`) }

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
	for frame, names := range map[string]string{
		`{"type":"ping"`:                      `{"type":"ping"`,
		`garbage`:                             `garbage`,
		`[]`:                                  `expected an object`,
		`{}`:                                  `it has no type`,
		`{"type":"ping"} {}`:                  `something follows the end`,
		opened("0", strings.Repeat("x", 300)): strings.Repeat("x", 100),
		said("7", "x"):                        `block 7 goes on and is not open`,
		stopped("7"):                          `block 7 ends and is not open`,
		said0():                               `block 0 is started twice`,
		opened("1", `{"type":"tool_use","id":"","name":"f"}`): `the tool call of block 1 has no id or no name`,
		delta("0", `"type":"text_delta","text":[1]`):          `expected a string`,
	} {
		for cuts := range 4 {
			_, err := decodeAll(t, []string{said0(), frame}, cuts)
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
	for body, want := range map[string]abi.ProviderError{
		`{"type":"overloaded_error","message":"Overloaded"}`:                                              {Classification: "overloaded", Retryable: true},
		`{"type":"rate_limit_error","message":"Slow down"}`:                                               {Classification: "rate_limit", Retryable: true},
		`{"type":"api_error","message":"Something broke"}`:                                                {Classification: "internal", Retryable: true},
		`{"type":"timeout_error","message":"Too slow"}`:                                                   {Classification: "internal", Retryable: true},
		`{"type":"authentication_error","message":"invalid x-api-key"}`:                                   {Classification: "authentication"},
		`{"type":"permission_error","message":"no"}`:                                                      {Classification: "authentication"},
		`{"type":"billing_error","message":"no"}`:                                                         {Classification: "quota"},
		`{"type":"not_found_error","message":"model: m"}`:                                                 {Classification: "invalid_request"},
		`{"type":"invalid_request_error","message":"messages: bad"}`:                                      {Classification: "invalid_request"},
		`{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}`: {Classification: "context_overflow"},
		`null`: {Classification: "unknown"},
	} {
		got, err := decodeAll(t, []string{`{"type":"error","error":` + body + `}`}, 0)
		if err != nil || len(got) != 1 || got[0].Error == nil || got[0].Error.Message == "" {
			t.Errorf("%s: %s, %v", body, lines(t, got), err)
			continue
		}
		want.Message = got[0].Error.Message
		if *got[0].Error != want {
			t.Errorf("%s: %+v", body, *got[0].Error)
		}
	}
}

func TestResponsesAreClassified(t *testing.T) {
	body := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
	}
	for _, c := range []struct {
		status int
		body   string
		want   abi.ProviderError
	}{
		{400, body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), abi.ProviderError{Classification: "context_overflow"}}, // L305
		{400, body("invalid_request_error", "max_tokens: too large"), abi.ProviderError{Classification: "invalid_request"}},
		{400, body("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), abi.ProviderError{Classification: "quota"}},
		{401, body("authentication_error", "invalid x-api-key"), abi.ProviderError{Classification: "authentication"}},
		{402, body("billing_error", "pay"), abi.ProviderError{Classification: "quota"}},
		{403, body("permission_error", "no"), abi.ProviderError{Classification: "authentication"}},
		{404, body("not_found_error", "model: m"), abi.ProviderError{Classification: "invalid_request"}},
		{413, body("request_too_large", "Request exceeds the maximum size"), abi.ProviderError{Classification: "context_overflow"}},
		{413, `<html>too large</html>`, abi.ProviderError{Classification: "invalid_request"}}, // L305
		{429, body("rate_limit_error", "slow down"), abi.ProviderError{Classification: "rate_limit", Retryable: true, RetryAfterMS: 3000}},
		{500, body("api_error", "Internal server error"), abi.ProviderError{Classification: "internal", Retryable: true}},
		{529, body("overloaded_error", "Overloaded"), abi.ProviderError{Classification: "overloaded", Retryable: true}},
	} {
		request := abi.ProviderClassify{Provider: "anthropic", Status: c.status, Body: c.body}
		if c.want.RetryAfterMS > 0 {
			request.Headers = map[string]string{"retry-after": "3"}
		}
		got, err := plinthtest.Call[abi.ProviderError](t, abi.ExportProviderClassify, request)
		c.want.Message = got.Message
		if err != nil || got != c.want || got.Message == "" {
			t.Errorf("%d %s: %+v, %v", c.status, c.body, got, err)
		}
	}
}

func TestStateStaysSmallAndIsChecked(t *testing.T) {
	frames := []abi.Frame{{Data: said0()}}
	for range 1000 {
		frames = append(frames, abi.Frame{Data: said("0", "some more text")})
	}
	decoded, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "anthropic", Frames: frames})
	if want := `{"blocks":[0,"said","",""],"said":true}`; err != nil || len(decoded.Events) != 1001 || string(decoded.State) != want {
		t.Errorf("%d events, state %s, %v", len(decoded.Events), decoded.State, err)
	}
	for _, state := range []string{`7`, `{"blocks":["x"]}`, `{"usage":[""]}`} {
		_, err = plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, abi.ProviderDecode{Provider: "anthropic", State: json.RawMessage(state), Frames: []abi.Frame{}})
		if err == nil {
			t.Errorf("the state %s is taken", state)
		}
	}
}
