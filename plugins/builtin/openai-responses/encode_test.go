package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func encodeBody(t *testing.T, request abi.ModelRequest) (json.RawMessage, error) {
	t.Helper()
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "openai-responses", Request: request})
	return encoded.Body, err
}

func encode(t *testing.T, request abi.ModelRequest) (map[string]json.RawMessage, error) {
	t.Helper()
	body, err := encodeBody(t, request)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	return fields, nil
}

func userSays(text string) []abi.Message {
	return []abi.Message{{ID: "msg_1", Role: "user", Parts: []abi.Part{{Type: "text", Text: text}}}}
}

func record(options string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"openai": json.RawMessage(options)}
}

func TestEncodeSendsOnlyWhatIsSet(t *testing.T) {
	body, err := encodeBody(t, abi.ModelRequest{Model: "gpt-5", Messages: userSays("Hi"), ToolChoice: "auto"})
	want := `{"model":"gpt-5","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],"include":["reasoning.encrypted_content"],"store":false,"stream":true}`
	if err != nil || string(body) != want {
		t.Errorf("%v, got %s\nwant %s", err, body, want)
	}
}

// OpenAI refuses requests that ask a model for encrypted reasoning which does not reason.
func TestEncryptedReasoningIsAskedOfModelsThatReason(t *testing.T) {
	const asked = `["reasoning.encrypted_content"]`
	for _, c := range []struct{ model, options, want string }{
		{"gpt-5", `{}`, asked}, {"o3", `{}`, asked}, {"openai/gpt-5-mini", `{}`, asked}, {"my-deployment", `{}`, asked},
		{"gpt-4o", `{}`, ""}, {"openai/gpt-4.1", `{}`, ""}, {"gpt-5-chat-latest", `{}`, ""}, {"gpt-3.5-turbo", `{}`, ""},
		{"gpt-5", `{"store":true}`, ""}, {"gpt-5", `{"include":[]}`, ""}, {"gpt-4o", `{"include":["reasoning.encrypted_content"]}`, asked},
	} {
		fields, err := encode(t, abi.ModelRequest{Model: c.model, Messages: userSays("Hi"), Options: record(c.options)})
		if err != nil || string(fields["include"]) != c.want {
			t.Errorf("%s, %s: include %s, %v; want %q", c.model, c.options, fields["include"], err, c.want)
		}
	}
}

// L298: what marks caches for others changes not a byte; the cache's key is all this
// protocol has.
func TestCacheMarksOfOthersChangeNothing(t *testing.T) {
	request := abi.ModelRequest{Model: "m", Messages: userSays("Hi"), CacheKey: "ses_1"}
	plain, err := encodeBody(t, request)
	if err != nil {
		t.Fatal(err)
	}
	request.Options = map[string]json.RawMessage{"anthropic": json.RawMessage(`{"cache":"auto"}`), "bedrock": json.RawMessage(`{"cache":{"tools":true}}`)}
	marked, err := encodeBody(t, request)
	if err != nil || string(plain) != string(marked) || !strings.Contains(string(plain), `"prompt_cache_key":"ses_1"`) {
		t.Errorf("%v\n%s\n%s", err, plain, marked)
	}
}

// L290: a change of the system context joins what the user said before it, and is a
// message of its own behind anything else.
func TestUpdatesJoinTheUser(t *testing.T) {
	update := abi.Message{ID: "s", Role: "system", Parts: []abi.Part{{Type: "text", Text: "a < b"}}}
	answer := abi.Message{ID: "a", Role: "assistant", Parts: []abi.Part{{Type: "text", Text: "Yes"}}}
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: append(userSays("Hi"), update, answer, update, update)})
	const told = `{"type":"input_text","text":"<system-update>\na &lt; b\n</system-update>"}`
	want := `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"},` + told + `]},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes"}]},{"type":"message","role":"user","content":[` + told + `,` + told + `]}]`
	if err != nil || string(fields["input"]) != want {
		t.Errorf("%v, got %s\nwant %s", err, fields["input"], want)
	}
}

// L310: what a tool failed with is its text, whatever form that has.
func TestErrorsOfToolsAreText(t *testing.T) {
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: []abi.Message{{ID: "r", Role: "tool", Parts: []abi.Part{
		{Type: "tool_result", Call: "c", Error: true, Text: `{"error":{"code":7}}`}}}}})
	want := `[{"type":"function_call_output","call_id":"c","output":"{\"error\":{\"code\":7}}"}]`
	if err != nil || string(fields["input"]) != want {
		t.Errorf("%v, got %s\nwant %s", err, fields["input"], want)
	}
}

func TestEncodeRefusesWhatTheProtocolCannotSay(t *testing.T) {
	message := func(role, kind string) []abi.Message {
		return []abi.Message{{ID: "msg_9", Role: role, Parts: []abi.Part{{Type: kind}}}}
	}
	seed := int64(1)
	for name, c := range map[string]struct {
		request abi.ModelRequest
		says    string
	}{
		"call of a user": {abi.ModelRequest{Messages: message("user", "tool_call")}, "message msg_9: a Responses message of role user can hold text and files"},
		"media":          {abi.ModelRequest{Messages: message("assistant", "media")}, "role assistant can hold text, reasoning and tool calls; this one has a part of type media"},
		"system media":   {abi.ModelRequest{Messages: message("system", "media")}, "role system can hold text; this one has a part of type media"},
		"role":           {abi.ModelRequest{Messages: message("critic", "text")}, `role "critic"`},
		"text of a tool": {abi.ModelRequest{Messages: message("tool", "text")}, "can hold tool_result and files"},
		"seed":           {abi.ModelRequest{Generation: abi.Generation{Seed: &seed}}, "seed or stop, which the Responses protocol does not know"},
		"stop":           {abi.ModelRequest{Generation: abi.Generation{Stop: []string{"x"}}}, "seed or stop"},
		"kinds of media": {abi.ModelRequest{Options: record(`{"media":["video"]}`)}, `options.openai.media has "video" in it; there are image and pdf`},
		"option":         {abi.ModelRequest{Options: record(`{"stor":1}`)}, `unknown field "stor"`},
		"verbosity":      {abi.ModelRequest{Options: record(`{"text_verbosity":"loud"}`)}, `options.openai.text_verbosity is "loud"; it is one of low, medium, high`},
		"tier":           {abi.ModelRequest{Options: record(`{"service_tier":"x"}`)}, "service_tier"},
		"summary":        {abi.ModelRequest{Options: record(`{"reasoning":{"summary":"x"}}`)}, "reasoning.summary"},
		"hosted tools":   {abi.ModelRequest{Options: record(`{"tools":["web_search"]}`)}, "options.openai.tools is a list of objects"},
		"schema":         {abi.ModelRequest{Tools: []abi.ToolDefinition{{Name: "t", Input: []byte(`true`)}}}, "the input schema of tool t"},
		"metadata":       {abi.ModelRequest{Messages: []abi.Message{{Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Metadata: []byte(`[]`)}}}}}, "the metadata of a part"},
	} {
		_, err := encode(t, c.request)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want invalid_input with %q", name, err, c.says)
		}
	}
}
