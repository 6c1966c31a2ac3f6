package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

// shown is a user's message and a tool's result with a file each.
func shown(mime string) []abi.Message {
	digest := strings.Repeat("ab", 32)
	return []abi.Message{
		{ID: "msg_1", Role: "user", Parts: []abi.Part{{Type: "text", Text: "See"}, {Type: "media", Mime: mime, Name: "u", Blob: digest}}},
		{ID: "msg_2", Role: "assistant", Parts: []abi.Part{{Type: "tool_call", Call: "c", Name: "read"}}},
		{ID: "msg_3", Role: "tool", Parts: []abi.Part{{Type: "tool_result", Call: "c", Text: "It is r."}, {Type: "media", Call: "c", Mime: mime, Name: "r", Blob: digest}}},
		{ID: "msg_4", Role: "system", Parts: []abi.Part{{Type: "text", Text: "later"}}},
	}
}

func messagesOf(t *testing.T, mime, options string) string {
	t.Helper()
	fields, err := encode(t, abi.ModelRequest{Model: "m", Messages: shown(mime), Options: map[string]json.RawMessage{"openai": json.RawMessage(options)}})
	if err != nil {
		t.Fatal(err)
	}
	return string(fields["messages"])
}

// A result's file follows in a message of the user; an update joins that one.
func TestFilesAreNamedForTheHost(t *testing.T) {
	const assistant = `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","content":"It is r.","tool_call_id":"c"},`
	url := func(mime string) string {
		return `{"$blob":"` + strings.Repeat("ab", 32) + `","as":"data_url","mime":"` + mime + `"}`
	}
	image := func(mime string) string { return `{"type":"image_url","image_url":{"url":` + url(mime) + `}}` }
	file := func(name string) string {
		return `{"type":"file","file":{"filename":"` + name + `","file_data":` + url("application/pdf") + `}}`
	}
	const update = `{"type":"text","text":"<system-update>\nlater\n</system-update>"}`
	const updateAlone = `{"role":"user","content":"<system-update>\nlater\n</system-update>"}`
	blind := func(mime string) string {
		return `[{"role":"user","content":[{"type":"text","text":"See"},{"type":"text","text":"The file u (` + mime + `), which this model cannot look at"}]},` + assistant + updateAlone + `]`
	}
	seen := func(mime, user, result string) string {
		return `[{"role":"user","content":[{"type":"text","text":"See"},` + user + `]},` + assistant +
			`{"role":"user","content":[{"type":"text","text":"The file r (` + mime + `), from the tool call c"},` + result + `,` + update + `]}]`
	}
	for _, c := range []struct{ mime, options, want string }{
		{"image/webp", `{}`, seen("image/webp", image("image/webp"), image("image/webp"))},
		{"image/png", `{"media":["image"]}`, seen("image/png", image("image/png"), image("image/png"))},
		{"application/pdf", `{}`, seen("application/pdf", file("u"), file("r"))},
		{"image/png", `{"media":[]}`, blind("image/png")},
		{"application/pdf", `{"media":["image"]}`, blind("application/pdf")},
		{"image/tiff", `{}`, blind("image/tiff")},
	} {
		if got := messagesOf(t, c.mime, c.options); got != c.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", c.mime, c.options, got, c.want)
		}
	}
}
