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
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "gemini", Request: request})
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
	return map[string]json.RawMessage{"gemini": json.RawMessage(options)}
}

func TestEncodeSendsOnlyWhatIsSet(t *testing.T) {
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "gemini", Request: abi.ModelRequest{Model: "gemini-2.5-pro", Messages: userSays("Hi"), ToolChoice: "auto"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`; string(encoded.Body) != want {
		t.Errorf("got %s\nwant %s", encoded.Body, want)
	}
	if encoded.Path != "/models/gemini-2.5-pro:streamGenerateContent" || encoded.Query["alt"] != "sse" {
		t.Errorf("it goes to %s, %v", encoded.Path, encoded.Query)
	}
}

func TestModelsHavePlaces(t *testing.T) {
	for model, want := range map[string]string{"m": "/models/m", "models/m": "/models/m", "tunedModels/x-1": "/tunedModels/x-1", "": "", "../x": "", "a?b": "", "a b": ""} {
		path, err := modelPath(model)
		if path != want || (err == nil) != (want != "") {
			t.Errorf("%q is at %q, %v; want %q", model, path, err, want)
		}
	}
}

// The newest models refuse a call without a signature. One that another model made has
// none, and says so.
func TestCallsOfOtherModelsAreMarked(t *testing.T) {
	calls := []abi.Message{{ID: "a", Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "1", Name: "f"}, {Type: "tool_call", Call: "2", Name: "f"}}}}
	for model, want := range map[string]string{
		"gemini-3-pro":   `[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"f","args":{}}}]}]`,
		"gemini-2.5-pro": `[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]}]`,
	} {
		fields, err := encode(t, abi.ModelRequest{Model: model, Messages: calls})
		if err != nil || string(fields["contents"]) != want {
			t.Errorf("%s: %v, got %s\nwant %s", model, err, fields["contents"], want)
		}
	}
}

// L298: what marks caches for others changes not a byte.
func TestCacheMarksOfOthersChangeNothing(t *testing.T) {
	request := abi.ModelRequest{Model: "m", Messages: userSays("Hi"), CacheKey: "ses_1"}
	plain, err := encodeBody(t, request)
	if err != nil {
		t.Fatal(err)
	}
	request.Options = map[string]json.RawMessage{"anthropic": json.RawMessage(`{"cache":"auto"}`), "bedrock": json.RawMessage(`{"cache":{"tools":true}}`)}
	marked, err := encodeBody(t, request)
	if err != nil || string(plain) != string(marked) {
		t.Errorf("%v\n%s\n%s", err, plain, marked)
	}
}

// L290: a change of the system context joins what the user said before it, and is a
// message of its own behind anything else.
func TestUpdatesJoinTheUser(t *testing.T) {
	update := abi.Message{ID: "s", Role: "system", Parts: []abi.Part{{Type: "text", Text: "a < b"}}}
	answer := abi.Message{ID: "a", Role: "assistant", Parts: []abi.Part{{Type: "text", Text: "Yes"}}}
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: append(userSays("Hi"), update, answer, update, update)})
	const told = `{"text":"<system-update>\na &lt; b\n</system-update>"}`
	want := `[{"role":"user","parts":[{"text":"Hi"},` + told + `]},{"role":"model","parts":[{"text":"Yes"}]},{"role":"user","parts":[` + told + `,` + told + `]}]`
	if err != nil || string(fields["contents"]) != want {
		t.Errorf("%v, got %s\nwant %s", err, fields["contents"], want)
	}
}

// L310: what a tool failed with is its text, whatever form that has.
func TestErrorsOfToolsAreText(t *testing.T) {
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: []abi.Message{{ID: "r", Role: "tool", Parts: []abi.Part{
		{Type: "tool_result", Call: "c", Error: true, Text: `{"error":{"code":7}}`}}}}})
	want := `[{"role":"user","parts":[{"functionResponse":{"name":"","response":{"error":"{\"error\":{\"code\":7}}"}}}]}]`
	if err != nil || string(fields["contents"]) != want {
		t.Errorf("%v, got %s\nwant %s", err, fields["contents"], want)
	}
}

func TestEncodeRefusesWhatTheProtocolCannotSay(t *testing.T) {
	message := func(role, kind string) []abi.Message {
		return []abi.Message{{ID: "msg_9", Role: role, Parts: []abi.Part{{Type: kind}}}}
	}
	for name, c := range map[string]struct {
		request abi.ModelRequest
		says    string
	}{
		"call of a user": {abi.ModelRequest{Messages: message("user", "tool_call")}, "message msg_9: a Gemini message of role user can hold text and files"},
		"media":          {abi.ModelRequest{Messages: message("assistant", "media")}, "role assistant can hold text, reasoning and tool calls; this one has a part of type media"},
		"system media":   {abi.ModelRequest{Messages: message("system", "media")}, "role system can hold text; this one has a part of type media"},
		"role":           {abi.ModelRequest{Messages: message("critic", "text")}, `role "critic"`},
		"text of a tool": {abi.ModelRequest{Messages: message("tool", "text")}, "can hold tool_result and files"},
		"kinds of media": {abi.ModelRequest{Options: record(`{"media":["gif"]}`)}, `options.gemini.media has "gif" in it; there are image, pdf, audio, video`},
		"thinking":       {abi.ModelRequest{Options: record(`{"thinking_budget":1,"thinking_level":"low"}`)}, "a model knows one of them"},
		"hosted tools":   {abi.ModelRequest{Options: record(`{"tools":["googleSearch"]}`)}, "options.gemini.tools is a list of objects"},
		"settings":       {abi.ModelRequest{Options: record(`{"safety_settings":[1]}`)}, "options.gemini.safety_settings is a list of objects"},
		"model":          {abi.ModelRequest{Model: "a?b"}, `"a?b" has a character that has no place in a path`},
		"option":         {abi.ModelRequest{Options: record(`{"stor":1}`)}, `unknown field "stor"`},
		"schema":         {abi.ModelRequest{Tools: []abi.ToolDefinition{{Name: "t", Input: []byte(`true`)}}}, "the input schema of tool t"},
		"metadata":       {abi.ModelRequest{Messages: []abi.Message{{Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Metadata: []byte(`[]`)}}}}}, "the metadata of a part"},
	} {
		if c.request.Model == "" {
			c.request.Model = "m"
		}
		_, err := encode(t, c.request)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want invalid_input with %q", name, err, c.says)
		}
	}
}
