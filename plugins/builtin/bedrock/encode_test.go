package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// encode answers the body as text, and the path.
func encode(t *testing.T, request abi.ModelRequest) (body, path string, err error) {
	t.Helper()
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "bedrock", Request: request})
	return string(encoded.Body), encoded.Path, err
}

func says(id, role, text string) abi.Message {
	return abi.Message{ID: id, Role: role, Parts: []abi.Part{{Type: abi.PartText, Text: text}}}
}

func request(record string) abi.ModelRequest {
	r := abi.ModelRequest{Model: "m", Messages: []abi.Message{says("msg_1", "user", "Hi")}}
	if record != "" {
		r.Options = map[string]json.RawMessage{"bedrock": json.RawMessage(record)}
	}
	return r
}

const hi = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]`

func TestEncodeSendsOnlyWhatIsSet(t *testing.T) {
	if body, path, err := encode(t, request("")); err != nil || body != hi+"}" || path != "/model/m/converse-stream" {
		t.Errorf("%s, %s, %v", path, body, err)
	}
}

// The id is one step of the path, whatever is in it.
func TestTheModelIsOneStepOfThePath(t *testing.T) {
	for model, want := range map[string]string{
		"amazon.nova-pro-v1:0":           "amazon.nova-pro-v1%3A0",
		"arn:aws:bedrock:eu:1:profile/a": "arn%3Aaws%3Abedrock%3Aeu%3A1%3Aprofile%2Fa",
		"a b/../?c#%é":                   "a%20b%2F..%2F%3Fc%23%25%C3%A9",
	} {
		r := request("")
		r.Model = model
		if _, path, err := encode(t, r); err != nil || path != "/model/"+want+"/converse-stream" {
			t.Errorf("%s: %s, %v", model, path, err)
		}
	}
}

// L 296: where no tool may be called none is told of; what tools did before is then text,
// for without tools the API refuses the blocks of them.
func TestL296NoToolsWhereNoneMayBeCalled(t *testing.T) {
	r := abi.ModelRequest{Model: "m", Tools: []abi.ToolDefinition{{Name: "look", Input: json.RawMessage(`{"type":"object"}`)}}, Messages: []abi.Message{
		{Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "c", Name: "look"}}},
		{Role: "tool", Parts: []abi.Part{{Type: "tool_result", Call: "c", Name: "look", Text: "gone", Error: true}}},
	}}
	const blocks = `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"look","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c","content":[{"text":"gone"}],"status":"error"}}]}],` +
		`"toolConfig":{"tools":[{"toolSpec":{"name":"look","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"`
	for choice, want := range map[string]string{
		"none": `{"messages":[{"role":"assistant","content":[{"text":"[look was called with {}]"}]},{"role":"user","content":[{"text":"[look failed: gone]"}]}]}`,
		"":     blocks + `auto":{}}}}`, "auto": blocks + `auto":{}}}}`, "required": blocks + `any":{}}}}`,
	} {
		r.ToolChoice = choice
		if body, _, err := encode(t, r); err != nil || body != want {
			t.Errorf("%q: %v\n got %s\nwant %s", choice, err, body, want)
		}
	}
}

// Only models that have a cache get marks, unless the operator wants them.
func TestCachePolicies(t *testing.T) {
	for _, c := range []struct {
		model, record, purpose     string
		tools, system, messages, t bool
	}{
		{"anthropic.claude-sonnet-4-5-20250929-v1:0", ``, "turn", true, true, true, false},
		{"us.anthropic.claude-3-7-sonnet-20250219-v1:0", `"auto"`, "turn", true, true, true, false},
		{"anthropic.claude-3-haiku-20240307-v1:0", ``, "turn", false, false, false, false},
		{"eu.amazon.nova-lite-v1:0", ``, "turn", false, true, true, false},
		{"meta.llama3-1-70b-instruct-v1:0", ``, "turn", false, false, false, false},
		{"meta.llama3-1-70b-instruct-v1:0", `{"system":true,"ttl_seconds":3600}`, "turn", false, true, false, true},
		{"anthropic.claude-sonnet-4-5-20250929-v1:0", `"none"`, "turn", false, false, false, false},
		{"anthropic.claude-sonnet-4-5-20250929-v1:0", ``, "title", false, false, false, false},
	} {
		r := request("")
		r.Model, r.Purpose = c.model, c.purpose
		if c.record != "" {
			r.Options = map[string]json.RawMessage{"cache": json.RawMessage(c.record)}
		}
		r.System = []abi.TextPart{{Text: "a"}, {Text: "\n"}}
		r.Tools = []abi.ToolDefinition{{Name: "x", Input: json.RawMessage(`{"type":"object"}`)}}
		mark := func(on bool) string {
			switch {
			case on && c.t:
				return `,{"cachePoint":{"type":"default","ttl":"1h"}}`
			case on:
				return `,{"cachePoint":{"type":"default"}}`
			}
			return ""
		}
		want := `{"messages":[{"role":"user","content":[{"text":"Hi"}` + mark(c.messages) + `]}],"system":[{"text":"a"}` + mark(c.system) +
			`],"toolConfig":{"tools":[{"toolSpec":{"name":"x","inputSchema":{"json":{"type":"object"}}}}` + mark(c.tools) + `],"toolChoice":{"auto":{}}}}`
		if body, _, err := encode(t, r); err != nil || body != want {
			t.Errorf("%s %s: %v\n got %s\nwant %s", c.model, c.record, err, body, want)
		}
	}
}

func TestOptionsArePassedOn(t *testing.T) {
	for record, want := range map[string]string{
		`{}`:          hi + `}`,
		`{"top_k":5}`: hi + `,"additionalModelRequestFields":{"top_k":5}}`,
		`{"top_k":5,"additional_model_request_fields":{"a":{"b":1}}}`:      hi + `,"additionalModelRequestFields":{"a":{"b":1},"top_k":5}}`,
		`{"top_k":5,"additional_model_request_fields":{"top_k":6}}`:        hi + `,"additionalModelRequestFields":{"top_k":6}}`,
		`{"guardrail_config":{"guardrailIdentifier":"g"}}`:                 hi + `,"guardrailConfig":{"guardrailIdentifier":"g"}}`,
		`{"additional_model_request_fields":null,"guardrail_config":null}`: hi + `}`,
	} {
		if body, _, err := encode(t, request(record)); err != nil || body != want {
			t.Errorf("%s: %v\n got %s\nwant %s", record, err, body, want)
		}
	}
}

// L 293, L 310: what results show is in their blocks, and a failure is told as one.
func TestResultsAndFiles(t *testing.T) {
	file := func(call, mime, name string) abi.Part {
		return abi.Part{Type: "media", Call: call, Mime: mime, Name: name, Blob: "ab"}
	}
	r := abi.ModelRequest{Model: "m", Tools: []abi.ToolDefinition{{Name: "f", Input: json.RawMessage(`{"type":"object"}`)}}, Messages: []abi.Message{
		{Role: "user", Parts: []abi.Part{file("", "application/pdf", "a_b.pdf"), file("", "application/pdf", "a-b.pdf"), file("", "image/bmp", "c")}},
		{Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "c", Name: "f"}, {Type: "tool_call", Call: "d", Name: "f"}}},
		{Role: "tool", Parts: []abi.Part{{Type: "tool_result", Call: "c", Text: `{"error":"no"}`, Error: true}, {Type: "tool_result", Call: "d"}, file("d", "image/gif", "e"), file("d", "audio/wav", "g")}},
	}}
	const blob = `"source":{"bytes":{"$blob":"ab","as":"base64"}}}}`
	want := `{"messages":[{"role":"user","content":[{"text":"The documents:"},{"document":{"format":"pdf","name":"Document 1 a b",` + blob + `,{"document":{"format":"pdf","name":"Document 2 a-b",` + blob +
		`,{"text":"The file c (image/bmp), which this model cannot look at"}]},` +
		`{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"f","input":{}}},{"toolUse":{"toolUseId":"d","name":"f","input":{}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"c","content":[{"text":"{\"error\":\"no\"}"}],"status":"error"}},{"toolResult":{"toolUseId":"d","content":[{"image":{"format":"gif",` + blob + `]}}]}],`
	if body, _, err := encode(t, r); err != nil || !strings.HasPrefix(body, want) {
		t.Errorf("%v\n got %s\nwant %s", err, body, want)
	}
	r.Messages = r.Messages[1:]
	r.Messages[1].Parts = r.Messages[1].Parts[:2]
	if body, _, err := encode(t, r); err != nil || !strings.Contains(body, `{"toolUseId":"d","content":[{"text":"(nothing)"}]}`) {
		t.Errorf("an empty result: %s, %v", body, err)
	}
}

func TestEncodeRefusesWhatTheProtocolCannotSay(t *testing.T) {
	choice, cache := request(""), request("")
	choice.ToolChoice = "some"
	cache.Options = map[string]json.RawMessage{"cache": json.RawMessage(`1`)}
	for says, request := range map[string]abi.ModelRequest{
		"message msg_9: a Converse message of role user can hold text and files": {Messages: []abi.Message{{ID: "msg_9", Role: "user", Parts: []abi.Part{{Type: "tool_call"}}}}},
		"options.cache is 1": cache,
		`the tool choice is "some"; it is auto, none or required`:                                         choice,
		`unknown field "thinking"; it may hold top_k, additional_model_request_fields`:                    request(`{"thinking":1}`),
		`options.bedrock.top_k is -1; it is 0 or more`:                                                    request(`{"top_k":-1}`),
		`options.bedrock.additional_model_request_fields is [1]; it is an object`:                         request(`{"additional_model_request_fields":[1]}`),
		`options.bedrock.guardrail_config is "g"; it is an object`:                                        request(`{"guardrail_config":"g"}`),
		`options.bedrock.media has "video" in it; there are image and pdf`:                                request(`{"media":["video"]}`),
		`the input schema of tool t`:                                                                      {Tools: []abi.ToolDefinition{{Name: "t", Input: []byte(`true`)}}},
		"message msg_2 changes the system context behind the tool call \"c\" of message msg_1, which has": {Messages: []abi.Message{{ID: "msg_1", Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "c"}}}, says2()}}, // L 292
	} {
		_, _, err := encode(t, request)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want invalid_input with %q", err, says)
		}
	}
}

func says2() abi.Message { return says("msg_2", "system", "new") }
