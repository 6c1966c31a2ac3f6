package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
)

const provider = "conformance"

// request uses every field of a model request.
func request(model, text string) abi.ModelRequest {
	return abi.ModelRequest{
		Purpose: "turn", Model: model, System: []abi.TextPart{{ID: "s1", Text: "Be brief."}},
		Messages: []abi.Message{
			{ID: "m1", Role: abi.RoleUser, Parts: []abi.Part{{ID: "p1", Type: abi.PartText, Text: text}, {Type: abi.PartMedia, Mime: "image/png", Blob: "ab12"}}},
			{ID: "m2", Role: abi.RoleAssistant, Parts: []abi.Part{
				{Type: abi.PartReasoning, Text: "hm", Metadata: []byte(`{"signature":"x=="}`)},
				{Type: abi.PartToolCall, Call: "c1", Name: "look", Input: []byte(`{"n":12345678901234567890,"e":1e400}`)},
				{Type: abi.PartToolCall, Call: "h1", Name: "search", Input: []byte(`{}`), Hosted: true, Metadata: []byte(`{"item":1}`)},
				{Type: abi.PartToolResult, Call: "h1", Name: "search", Text: "2 hits", Hosted: true, Result: []byte(`[{"\u0024blob":"ab12"}]`), Metadata: []byte(`{"item":2}`)},
			}},
			{ID: "m3", Role: abi.RoleTool, Parts: []abi.Part{{Type: abi.PartToolResult, Call: "c1", Text: "gone", Error: true}}},
		},
		Tools:      []abi.ToolDefinition{{Name: "look", Description: "Looks.", Input: []byte(`{"type":"object"}`)}},
		ToolChoice: "auto",
		Generation: abi.Generation{MaxTokens: new(int64(1 << 53)), Temperature: new(0.7), TopP: new(1e-9), Seed: new(int64(-1)), Stop: []string{"\n"}},
		Options:    map[string]json.RawMessage{"deep": []byte(`{"a":[null,true]}`)},
		CacheKey:   "ses_1",
	}
}

func TestEncode(t *testing.T) {
	texts := []string{"", "hello", "ünï 🙂 \u2028 \x00 \"\\", strings.Repeat("words ", 20_000)}
	each(t, func(t *testing.T, g guest) {
		p := codecOf(t, g)
		for _, text := range texts {
			asked := request("gpt-ü", text)
			encoded, raw, told := ask[abi.ProviderEncoded](t, p, abi.ExportProviderEncode, abi.ProviderEncode{Provider: provider, Request: asked})
			if told != nil || len(raw) > 0 {
				t.Fatalf("%v, %d bytes", told, len(raw))
			}
			want, err := json.Marshal(asked)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, "body", encoded.Body, want)
			encoded.Body = nil
			if diff := cmp.Diff(abi.ProviderEncoded{Method: "POST", Path: "/v1/gpt-ü", Query: map[string]string{"purpose": "turn"},
				Headers: map[string]string{"content-type": "application/json"}}, encoded); diff != "" {
				t.Error(diff)
			}
		}
		_, _, told := ask[abi.ProviderEncoded](t, p, abi.ExportProviderEncode, abi.ProviderEncode{Provider: provider, Request: request("none", "")})
		if told == nil || *told != (abi.Error{Kind: abi.KindInvalidInput, Message: `there is no model "none"`}) {
			t.Errorf("error %v", told)
		}
		_, _, told = ask[abi.ProviderEncoded](t, p, abi.ExportProviderEncode, abi.ProviderEncode{Provider: "other"})
		if told == nil || told.Kind != abi.KindNotFound {
			t.Errorf("error %v", told)
		}
	})
}

// Frames cut anywhere give the same events.
func TestDecode(t *testing.T) {
	frames := []abi.Frame{
		{Event: "text", Data: "Hel"}, {Event: "text", Data: "lo 🙂 \"\\\n\x01"}, {Event: "tool", Data: `{"a":1}`}, {Event: "text", Data: "!"},
		{Event: "hosted", Data: "2 hits 🙂"}, {Event: "refused", Data: "too many"}, {Event: "finish", Data: "stop"},
	}
	want := []abi.ModelEvent{
		{Type: "text.delta", ID: "t", Text: "Hel"}, {Type: "text.delta", ID: "t", Text: "lo 🙂 \"\\\n\x01"},
		{Type: "tool.start", ID: "c", Name: "look"}, {Type: "tool.delta", ID: "c", Text: `{"a":1}`}, {Type: "tool.end", ID: "c"},
		{Type: "text.delta", ID: "t", Text: "!"},
		{Type: "tool.start", ID: "h", Name: "search", Hosted: true}, {Type: "tool.delta", ID: "h", Text: `{"q":1}`},
		{Type: "tool.end", ID: "h", Metadata: []byte(`{"item":"call"}`)},
		{Type: "tool.result", ID: "h", Text: "2 hits 🙂", Result: []byte(`{"hits":[{"url":"x"}]}`), Metadata: []byte(`{"item":"result"}`)},
		{Type: "tool.start", ID: "r", Name: "search", Hosted: true}, {Type: "tool.result", ID: "r", Text: "too many", Failed: true},
		{Type: "finish", Reason: "stop"},
		{Type: "usage", Usage: &abi.Usage{Input: int64(len(frames))}},
	}
	each(t, func(t *testing.T, g guest) {
		p := codecOf(t, g)
		for size := 1; size <= len(frames); size++ {
			var state json.RawMessage
			var events []abi.ModelEvent
			decode := func(batch []abi.Frame, end bool) {
				decoded, _, told := ask[abi.ProviderDecoded](t, p, abi.ExportProviderDecode,
					abi.ProviderDecode{Provider: provider, State: state, Frames: batch, End: end})
				if told != nil {
					t.Fatal(told)
				}
				state = decoded.State
				events = append(events, decoded.Events...)
			}
			for batch := range slices.Chunk(frames, size) {
				decode(batch, false)
			}
			decode([]abi.Frame{}, true)
			sameJSON(t, "state", state, fmt.Appendf(nil, `{"frames":%d}`, len(frames)))
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("%d at a time: %s", size, diff)
			}
		}
		_, _, told := ask[abi.ProviderDecoded](t, p, abi.ExportProviderDecode, abi.ProviderDecode{Provider: provider, Frames: []abi.Frame{{Event: "other"}}})
		if told == nil || *told != (abi.Error{Kind: abi.KindInvalidInput, Message: `unknown event "other"`}) {
			t.Errorf("error %v", told)
		}
	})
}

func TestClassify(t *testing.T) {
	tests := []struct {
		asked abi.ProviderClassify
		want  abi.ProviderError
	}{
		{abi.ProviderClassify{Status: 401, Body: "who are you"}, abi.ProviderError{Classification: abi.ClassAuthentication, Message: "who are you"}},
		{abi.ProviderClassify{Status: 429, Headers: map[string]string{"retry-after": "7"}, Body: ""},
			abi.ProviderError{Classification: abi.ClassRateLimit, Retryable: true, RetryAfterMS: 7000}},
		{abi.ProviderClassify{Status: 429, Headers: map[string]string{"retry-after": "soon"}, Body: "ü"},
			abi.ProviderError{Classification: abi.ClassRateLimit, Message: "ü", Retryable: true}},
		{abi.ProviderClassify{Status: 418, Body: strings.Repeat("x", 16<<10)}, abi.ProviderError{Classification: abi.ClassUnknown, Message: strings.Repeat("x", 16<<10)}},
	}
	each(t, func(t *testing.T, g guest) {
		p := codecOf(t, g)
		for _, test := range tests {
			test.asked.Provider = provider
			got, _, told := ask[abi.ProviderError](t, p, abi.ExportProviderClassify, test.asked)
			if told != nil || got != test.want {
				t.Errorf("status %d: %.100v, %v", test.asked.Status, got, told)
			}
		}
	})
}

func TestTransform(t *testing.T) {
	spec := session.TransformSpec{Name: "edit", Reads: []session.RequestPart{session.RequestGeneration}}
	input := session.TransformInput{
		Purpose: "turn", System: []session.TextPart{{ID: "s1", Text: "Be brief."}},
		Messages: []session.ModelMessage{
			{ID: "m1", Role: "user", Parts: []session.ModelPart{{ID: "p0", Type: "media", Mime: "image/png"}, {ID: "p1", Type: "text", Text: "hello ünï 🙂"}}},
		},
		Tools: []session.ToolDefinition{{Name: "keep", Input: []byte(`{}`)}, {Name: "drop", Input: []byte(`{}`)}},
	}
	want := []string{
		`system append added "The purpose is turn."`, `messages replace p1 "HELLO üNï 🙂"`, `tools drop drop `,
		`generation set temperature 0.5`, `options set conformance {"deep":[1,null]}`, `headers set x-conformance "yes"`,
	}
	each(t, func(t *testing.T, g guest) {
		p := codecOf(t, g)
		transform := bridge.NewTransform(p.Plugin, spec)
		edits, err := transform.Apply(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, edit := range edits {
			got = append(got, fmt.Sprintf("%s %s %s %s", edit.Part, edit.Op, edit.ID, edit.Value))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		edits, err = transform.Apply(t.Context(), session.TransformInput{Purpose: "title"})
		if err != nil || len(edits) != 4 {
			t.Errorf("%d edits of nothing, %v", len(edits), err)
		}
		_, err = transform.Apply(t.Context(), session.TransformInput{Purpose: "fail"})
		if told, ok := err.(*abi.Error); !ok || *told != (abi.Error{Kind: abi.KindConflict, Message: "the purpose cannot be served"}) {
			t.Errorf("it fails with %v", err)
		}
	})
}
