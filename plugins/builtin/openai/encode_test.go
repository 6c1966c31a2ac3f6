package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func encode(t *testing.T, request abi.ModelRequest) (map[string]json.RawMessage, error) {
	t.Helper()
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "openai", Request: request})
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded.Body, &fields); err != nil {
		t.Fatal(err)
	}
	return fields, nil
}

func userSays(text string) []abi.Message {
	return []abi.Message{{ID: "msg_1", Role: "user", Parts: []abi.Part{{Type: "text", Text: text}}}}
}

func TestEncodeSendsOnlyWhatIsSet(t *testing.T) {
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: userSays("Hi"), ToolChoice: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[{"role":"user","content":"Hi"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Without tools there is nothing to choose; with them the choice of none keeps them.
func TestEncodeKeepsTheToolsThatMayNotBeCalled(t *testing.T) {
	request := abi.ModelRequest{Model: "m", Messages: userSays("Hi"), Tools: []abi.ToolDefinition{{Name: "look", Description: "Looks.", Input: json.RawMessage(`{"type":"object"}`)}}}
	var tools []string
	for _, choice := range []string{"auto", "none"} {
		request.ToolChoice = choice
		fields, err := encode(t, request)
		if err != nil || string(fields["tool_choice"]) != `"`+choice+`"` {
			t.Errorf("%s, %v", fields["tool_choice"], err)
		}
		tools = append(tools, string(fields["tools"]))
	}
	if tools[0] == "" || tools[0] != tools[1] {
		t.Errorf("the tools are %s, and %s when none may be called", tools[0], tools[1])
	}
}

// What a provider's own tools did is retold at its place: the protocol has no words
// for it, and a history that another codec made must not fail.
func TestEncodeRetellsHostedTools(t *testing.T) {
	hosted := func(kind, text, result string, failed bool) abi.Part {
		return abi.Part{Type: kind, Call: "h", Name: "web_search", Hosted: true, Text: text, Result: json.RawMessage(result), Error: failed, Metadata: json.RawMessage(`{"secret":1}`)}
	}
	called := hosted(abi.PartToolCall, "", "", false)
	called.Input = json.RawMessage(`{"q":"go"}`)
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: []abi.Message{{ID: "m", Role: abi.RoleAssistant, Parts: []abi.Part{
		{Type: abi.PartText, Text: "I look."}, called, hosted(abi.PartToolResult, "Go 1.26 is out", `[{"encrypted":"x"}]`, false),
		{Type: abi.PartText, Text: "And more."}, hosted(abi.PartToolCall, "", "", false), hosted(abi.PartToolResult, "too many", "", true),
		hosted(abi.PartToolResult, "", `{"n":1}`, false), hosted(abi.PartToolResult, "", "", false), {Type: abi.PartToolCall, Call: "c", Name: "look"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(strings.Join([]string{
		`I look.`, `[web_search, a tool of the provider, was called with {"q":"go"}]`, `[web_search answered: Go 1.26 is out]`,
		`And more.`, `[web_search, a tool of the provider, was called with {}]`, `[web_search failed: too many]`,
		`[web_search answered: {"n":1}]`, `[web_search answered nothing]`}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"assistant","content":` + string(text) + `,"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}]`
	if got := string(fields["messages"]); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestEncodeChoosesTheFieldOfTheLimit(t *testing.T) {
	limit := int64(100)
	request := abi.ModelRequest{Model: "m", Messages: userSays("Hi"), Generation: abi.Generation{MaxTokens: &limit}}
	for field, options := range map[string]string{
		"max_tokens":            `{}`,
		"max_completion_tokens": `{"max_tokens_field":"max_completion_tokens"}`,
	} {
		request.Options = map[string]json.RawMessage{"openai": json.RawMessage(options)}
		fields, err := encode(t, request)
		if err != nil || string(fields[field]) != "100" {
			t.Errorf("%s: %s, %v", field, fields[field], err)
		}
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
		"call of a user": {abi.ModelRequest{Messages: message("user", "tool_call")}, "message msg_9: a Chat Completions message of role user can hold text and files"},
		"media":          {abi.ModelRequest{Messages: message("assistant", "media")}, "role assistant can hold text, reasoning and tool calls; this one has a part of type media"},
		"system media":   {abi.ModelRequest{Messages: message("system", "media")}, "role system can hold text; this one has a part of type media"},
		"role":           {abi.ModelRequest{Messages: message("critic", "text")}, `role "critic"`},
		"result":         {abi.ModelRequest{Messages: message("assistant", "tool_result")}, "tool_result"},
		"text of a tool": {abi.ModelRequest{Messages: message("tool", "text")}, "can hold tool_result and files"},
		"kinds of media": {abi.ModelRequest{Options: map[string]json.RawMessage{"openai": []byte(`{"media":["video"]}`)}}, `media has "video" in it; there are image and pdf`},
		"option":         {abi.ModelRequest{Options: map[string]json.RawMessage{"openai": []byte(`{"stor":1}`)}}, `unknown field "stor"`},
		"field":          {abi.ModelRequest{Options: map[string]json.RawMessage{"openai": []byte(`{"max_tokens_field":"n"}`)}}, "max_tokens_field"},
		"effort":         {abi.ModelRequest{Options: map[string]json.RawMessage{"openai": []byte(`{"reasoning_effort":"max"}`)}}, `use "high"`},
		"schema":         {abi.ModelRequest{Tools: []abi.ToolDefinition{{Name: "t", Input: []byte(`true`)}}}, "the input schema of tool t"},
	} {
		_, err := encode(t, c.request)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want invalid_input with %q", name, err, c.says)
		}
	}
}
