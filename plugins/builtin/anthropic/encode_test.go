package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func encode(t *testing.T, request abi.ModelRequest) (map[string]json.RawMessage, error) {
	t.Helper()
	encoded, err := plinthtest.Call[abi.ProviderEncoded](t, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "anthropic", Request: request})
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded.Body, &fields); err != nil {
		t.Fatal(err)
	}
	return fields, nil
}

func says(id, role, text string) abi.Message {
	return abi.Message{ID: id, Role: role, Parts: []abi.Part{{Type: abi.PartText, Text: text}}}
}

func record(text string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"anthropic": json.RawMessage(text)}
}

func request(text string) abi.ModelRequest {
	r := abi.ModelRequest{Model: "m", Messages: []abi.Message{says("msg_1", "user", "Hi")}}
	if text != "" {
		r.Options = record(text)
	}
	return r
}

// check compares some fields of a body; "" is a field that must not be there.
func check(t *testing.T, name string, request abi.ModelRequest, want map[string]string) {
	t.Helper()
	fields, err := encode(t, request)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for field, value := range want {
		if got := string(fields[field]); got != value {
			t.Errorf("%s: %s is\n     %s\nwant %s", name, field, got, value)
		}
	}
}

func TestEncodeSendsOnlyWhatIsSet(t *testing.T) {
	fields, err := encode(t, request(""))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}],"model":"m","stream":true}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// L 296: where no tool may be called none is told of, and there is nothing to choose.
func TestL296NoToolsWhereNoneMayBeCalled(t *testing.T) {
	r := request(`{"tools":[{"type":"web_search_20250305","name":"web_search"}]}`)
	r.Tools = []abi.ToolDefinition{{Name: "look", Input: json.RawMessage(`{"type":"object"}`)}}
	const tools = `[{"name":"look","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search"}]`
	for choice, want := range map[string][2]string{
		"none": {}, "": {tools, `{"type":"auto"}`}, "auto": {tools, `{"type":"auto"}`}, "required": {tools, `{"type":"any"}`},
	} {
		r.ToolChoice = choice
		check(t, choice, r, map[string]string{"tools": want[0], "tool_choice": want[1]})
	}
}

// L 292: a system message is native for the models that know it, at legal places, and
// wrapped elsewhere.
func TestL292SystemMessages(t *testing.T) {
	const native = `[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":[{"type":"text","text":"a<b"}]}]`
	const wrapped = `[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"<system-update>\na&lt;b\n</system-update>","cache_control":{"type":"ephemeral"}}]}]`
	for _, c := range []struct{ model, record, want string }{
		{"claude-opus-4-8", "", native}, {"claude-opus-4-8-20260401", "", native}, {"claude-opus-4-8-fast", "", wrapped}, {"claude-opus-4-7", "", wrapped},
		{"claude-opus-4-8", `{"native_system":[]}`, wrapped}, {"m", `{"native_system":["x","m"]}`, native},
	} {
		r := request(c.record)
		r.Model = c.model
		r.Messages = append(r.Messages, says("msg_2", "system", "a<b"))
		check(t, c.model+c.record, r, map[string]string{"messages": c.want})
	}
}

// L 310: a failure is told as one, with its text as it is.
func TestL310ResultsThatAreErrors(t *testing.T) {
	r := request("")
	r.Messages = []abi.Message{
		{Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "c", Name: "f"}, {Type: "tool_call", Call: "d", Name: "f", Input: json.RawMessage(`"{broken"`)}}},
		{Role: "tool", Parts: []abi.Part{{Type: "tool_result", Call: "c", Text: `{"error":"no"}`, Error: true}, {Type: "tool_result", Call: "d"}}},
	}
	check(t, "an error", r, map[string]string{"messages": `[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"tool_use","id":"d","name":"f","input":{"value":"{broken"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"{\"error\":\"no\"}","is_error":true},{"type":"tool_result","tool_use_id":"d","cache_control":{"type":"ephemeral"}}]}]`})
}

func TestTheLimitOfAnAnswer(t *testing.T) {
	limit := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		asked  *int64
		record string
		want   string
	}{
		{nil, `{}`, "8192"}, {limit(7), `{"max_tokens":9}`, "7"}, {nil, `{"max_tokens":9}`, "9"},
		{nil, `{"thinking":{"type":"enabled","budget_tokens":1024}}`, "9216"}, {limit(1025), `{"thinking":{"type":"enabled","budget_tokens":1024}}`, "1025"},
		{nil, `{"thinking":{"type":"adaptive","display":"summarized"}}`, "8192"},
	} {
		r := request(c.record)
		r.Generation.MaxTokens = c.asked
		check(t, c.record, r, map[string]string{"max_tokens": c.want})
	}
}

func TestCachePolicies(t *testing.T) {
	r := request("")
	r.System = []abi.TextPart{{Text: "a"}, {Text: "b"}}
	r.Tools = []abi.ToolDefinition{{Name: "x"}, {Name: "y"}}
	for _, c := range []struct {
		record, purpose string
		marks           int
		ttl             int
	}{
		{``, "turn", 3, 0}, {`"auto"`, "turn", 3, 0}, {`"none"`, "turn", 0, 0}, {``, "title", 0, 0}, {``, "compaction", 0, 0},
		{`{"tools":true}`, "title", 1, 0}, {`{"tools":true,"system":true,"messages":{"tail":4},"ttl_seconds":3600}`, "turn", 3, 3},
	} {
		r.Purpose, r.Options = c.purpose, map[string]json.RawMessage{"cache": json.RawMessage(c.record)}
		encoded, err := codec{}.Encode(r)
		if err != nil || bytes.Count(encoded.Body, []byte(`"cache_control":{"type":"ephemeral"`)) != c.marks || bytes.Count(encoded.Body, []byte(`"ttl":"1h"`)) != c.ttl {
			t.Errorf("%s of a %s: %s, %v", c.record, c.purpose, encoded.Body, err)
		}
	}
}

func TestMedia(t *testing.T) {
	file := func(mime string) abi.Part { return abi.Part{Type: "media", Mime: mime, Name: "u", Blob: "ab"} }
	for _, c := range []struct{ mime, record, want string }{
		{"image/webp", `{}`, `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":{"$blob":"ab","as":"base64"}}}`},
		{"application/pdf", `{"media":["pdf"]}`, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":{"$blob":"ab","as":"base64"}},"title":"u"}`},
		{"image/png", `{"media":["pdf"]}`, `{"type":"text","text":"The file u (image/png), which this model cannot look at"}`},
		{"image/tiff", `{}`, `{"type":"text","text":"The file u (image/tiff), which this model cannot look at"}`},
	} {
		r := request(c.record)
		r.Messages[0].Parts = append(r.Messages[0].Parts, file(c.mime))
		check(t, c.mime, r, map[string]string{"messages": `[{"role":"user","content":[{"type":"text","text":"Hi"},` + strings.TrimSuffix(c.want, "}") + `,"cache_control":{"type":"ephemeral"}}]}]`})
	}
}

func TestEncodeRefusesWhatTheProtocolCannotSay(t *testing.T) {
	message := func(role, kind string) abi.ModelRequest {
		return abi.ModelRequest{Messages: []abi.Message{{ID: "msg_9", Role: role, Parts: []abi.Part{{Type: kind}}}}}
	}
	small := int64(1024)
	budget := request(`{"thinking":{"type":"enabled","budget_tokens":1024}}`)
	budget.Generation.MaxTokens = &small
	choice := request("")
	choice.ToolChoice = "some"
	cache := request("")
	cache.Options = map[string]json.RawMessage{"cache": json.RawMessage(`1`)}
	for says, request := range map[string]abi.ModelRequest{
		"message msg_9: a Messages message of role user can hold text and files": message("user", "tool_call"),
		"options.cache is 1": cache,
		`the tool choice is "some"; it is auto, none or required`:                                                                 choice,
		"budget_tokens is 1024, and the whole answer may have 1024 tokens; make max_tokens larger":                                budget,
		`unknown field "think"; it may hold thinking, effort`:                                                                     request(`{"think":1}`),
		`thinking.type is "on"; it is enabled, disabled or adaptive`:                                                              request(`{"thinking":{"type":"on"}}`),
		`thinking.budget_tokens is 1023; enabled thinking needs at least 1024`:                                                    request(`{"thinking":{"type":"enabled","budget_tokens":1023}}`),
		`thinking.budget_tokens is for enabled thinking`:                                                                          request(`{"thinking":{"type":"adaptive","budget_tokens":2000}}`),
		`thinking.display is "full"`:                                                                                              request(`{"thinking":{"type":"adaptive","display":"full"}}`),
		`max_tokens is 0; it is at least 1`:                                                                                       request(`{"max_tokens":0}`),
		`options.anthropic.betas has "a b" in it`:                                                                                 request(`{"betas":["a b"]}`),
		`options.anthropic.tools: each is an object with a type and a name`:                                                       request(`{"tools":[{"type":"x"}]}`),
		`options.anthropic.media has "video" in it; there are image and pdf`:                                                      request(`{"media":["video"]}`),
		`the input schema of tool t`:                                                                                              {Tools: []abi.ToolDefinition{{Name: "t", Input: []byte(`true`)}}},
		"message msg_2 changes the system context behind the tool call \"c\" of message msg_1, which has no result; tell the res": {Messages: []abi.Message{{ID: "msg_1", Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "c"}}}, says2()}}, // L 292
	} {
		_, err := encode(t, request)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want invalid_input with %q", err, says)
		}
	}
}

func says2() abi.Message { return says("msg_2", "system", "new") }

// Whatever a history holds, the turns alternate, results stand first and answer the calls
// before them, and no text is blank.
func FuzzHistoriesKeepTheProtocolsRules(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		fields, err := encode(t, randomRequest(rand.New(rand.NewPCG(seed, 5))))
		if err != nil {
			if !strings.Contains(err.Error(), "which has no result") {
				t.Fatal(err)
			}
			return
		}
		var turns []struct {
			Role    string
			Content []struct{ Type, Text string }
		}
		if err := json.Unmarshal(fields["messages"], &turns); err != nil {
			t.Fatal(err)
		}
		before := ""
		for _, turn := range turns {
			if turn.Role == before || turn.Role == "system" && before != "user" || len(turn.Content) == 0 {
				t.Errorf("%s behind %q in %s", turn.Role, before, fields["messages"])
			}
			before = turn.Role
			results := true
			for _, block := range turn.Content {
				if block.Type == "tool_result" && !results || block.Type == "text" && strings.TrimSpace(block.Text) == "" {
					t.Errorf("%+v in %s", block, fields["messages"])
				}
				results = block.Type == "tool_result"
			}
		}
	})
}

func randomRequest(r *rand.Rand) abi.ModelRequest {
	pieces := []string{"", "word ", "\"\\\n\x00<&>", "é😀\u2028", "\xff"}
	text := func() string { return pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))] }
	request := abi.ModelRequest{Model: "claude-opus-4-8", Options: record(`{}`)}
	calls := 0
	for range r.IntN(8) {
		calls++
		call := fmt.Sprintf("call|%d", calls)
		parts := map[string][]abi.Part{
			abi.RoleUser:      {{Type: abi.PartText, Text: text()}, {Type: abi.PartMedia, Mime: "image/png", Blob: text(), Name: text()}},
			abi.RoleAssistant: {{Type: abi.PartText, Text: text()}, {Type: abi.PartReasoning, Text: text()}, {Type: abi.PartToolCall, Call: call, Name: text(), Input: json.RawMessage(`"<"`)}},
			abi.RoleSystem:    {{Type: abi.PartText, Text: text()}},
		}
		role := []string{abi.RoleUser, abi.RoleAssistant, abi.RoleSystem}[r.IntN(3)]
		message := abi.Message{Role: role, Parts: parts[role][:r.IntN(len(parts[role])+1)]}
		request.Messages = append(request.Messages, message)
		if role == abi.RoleAssistant && len(message.Parts) == 3 {
			for range r.IntN(2) {
				request.Messages = append(request.Messages, says("", "system", text()))
			}
			if r.IntN(8) > 0 {
				request.Messages = append(request.Messages, abi.Message{Role: abi.RoleTool, Parts: []abi.Part{{Type: abi.PartToolResult, Call: call, Text: text()}, {Type: abi.PartMedia, Mime: "image/gif", Call: call}}})
			}
		}
	}
	return request
}
