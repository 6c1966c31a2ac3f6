package docs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// example is one exchange: what goes in, what comes out, and the bytes behind each.
type example struct {
	heading      string
	told         string // what it shows
	call, answer any
	raw          []byte // behind the call's JSON
	answered     []byte // behind the answer's
}

// examples writes the part of the page with one exchange for each export, and one of a
// host operation.
func examples(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	shown := map[string]bool{}
	for _, e := range exchanges() {
		shown[e.heading] = true
		fmt.Fprintf(&b, "### Example: %s\n\n%s\n\n", e.heading, e.told)
		writeMessage(t, &b, "In", e.call, e.raw)
		writeMessage(t, &b, "Out", e.answer, e.answered)
	}
	for name := range exchanged() {
		if !shown[name] {
			t.Errorf("there is no example of %s", name)
		}
	}
	return b.String()
}

// writeMessage writes a message: its JSON for reading, and all of its bytes.
func writeMessage(t *testing.T, b *strings.Builder, side string, value any, raw []byte) {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(reflect.TypeOf(value))
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(again.Interface()); err != nil || !reflect.DeepEqual(again.Elem().Interface(), value) {
		t.Errorf("%s is read as %+v, %v", body, again.Elem(), err)
	}
	message := abi.EncodeMessage(body, raw)
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "%s, %d bytes: 4 of length, %d of JSON, %d behind it.\n\n```json\n%s\n```\n\n```text\n%s```\n\n",
		side, len(message), len(body), len(raw), indented.String(), hex.Dump(message))
}

func ask[T any](deadline int64, body T) abi.Call[T] {
	return abi.Call[T]{DeadlineMS: deadline, Meta: abi.Meta{Plugin: "acme/weather", Revision: "rev_1"}, Body: body}
}

func ok[T any](body T) abi.Answer[T] { return abi.Answer[T]{OK: &body} }

func exchanges() []example {
	session := abi.Session{ID: "ses_1", Agent: "build"}
	location := abi.Location{Directory: "/home/ada/notes", Root: "/home/ada/notes", Platform: "linux", UTCOffset: 60}
	picture := []byte("\x89PNG\r\n")
	text := []byte("one two\n")
	most := int64(200)
	return []example{
		{heading: abi.ExportInit, told: "The settings that the operator gave, before any other call.",
			call:   abi.Call[abi.Init]{Meta: abi.Meta{Plugin: "acme/weather"}, Body: abi.Init{Config: json.RawMessage(`{"unit":"C"}`), Operations: []string{"http.fetch", "log"}}},
			answer: ok(abi.None{})},
		{heading: abi.ExportTool, told: "A tool that answers a text and a picture, whose bytes stand behind the JSON.",
			call: ask(10_000, abi.ToolExecute{Tool: "weather", Input: json.RawMessage(`{"place":"Oslo"}`),
				Call: abi.ToolCall{ID: "call_1", Message: "msg_1"}, Session: session, Location: location}),
			answer: ok(abi.ToolOutput{Content: []abi.Content{{Type: "text", Text: "-3 °C in Oslo"},
				{Type: "file", Mime: "image/png", Name: "oslo.png", Data: &abi.Bytes{Length: len(picture)}}}, Title: "Oslo"}),
			answered: picture},
		{heading: abi.ExportTool + " that fails", told: "A failure is an answer too.",
			call:   ask(10_000, abi.ToolExecute{Tool: "weather", Input: json.RawMessage(`{"place":"Osl"}`), Session: session, Location: location}),
			answer: abi.Answer[abi.ToolOutput]{Error: &abi.Error{Kind: abi.KindNotFound, Message: "no place is called Osl"}}},
		{heading: abi.ExportContext, told: "A value that changed since it was admitted.",
			call: ask(250, abi.ContextObserve{Session: session, Location: location, NowMS: 1_763_769_600_000,
				Previous: map[string]json.RawMessage{"acme/weather": json.RawMessage(`{"c":-3}`)}}),
			answer: ok(abi.ContextObserved{Sources: []abi.SourceState{{Key: "acme/weather", State: abi.SourceValue, Value: json.RawMessage(`{"c":-4}`),
				Baseline: "It is -4 °C.", Update: "It is -4 °C now.", Removed: "The weather is not known any more."}}})},
		{heading: abi.ExportProviderEncode, told: "A neutral request becomes the request of the provider's protocol. The host makes it and puts the secret in.",
			call: ask(2_000, abi.ProviderEncode{Provider: "weather-ai", Request: abi.ModelRequest{Purpose: "turn", Model: "small",
				System:     []abi.TextPart{{ID: "baseline", Text: "Be brief."}},
				Messages:   []abi.Message{{ID: "msg_1", Role: abi.RoleUser, Parts: []abi.Part{{ID: "msg_1/0", Type: abi.PartText, Text: "Hi"}}}},
				Generation: abi.Generation{MaxTokens: &most}}}),
			answer: ok(abi.ProviderEncoded{Method: "POST", Path: "v1/chat", Headers: map[string]string{"content-type": "application/json"},
				Body: json.RawMessage(`{"model":"small","say":["Be brief.","Hi"],"most":200,"stream":true}`)})},
		{heading: abi.ExportProviderDecode, told: "Two lines of the answer, and the state for the next call of this stream.",
			call: ask(40, abi.ProviderDecode{Provider: "weather-ai", State: json.RawMessage(`{"open":true}`),
				Frames: []abi.Frame{{Data: `{"text":"lo"}`}, {Data: `{"done":true,"in":9,"out":2}`}}}),
			answer: ok(abi.ProviderDecoded{State: json.RawMessage(`{"open":false}`), Events: []abi.ModelEvent{
				{Type: abi.EventTextDelta, ID: "0", Text: "lo"}, {Type: abi.EventUsage, Usage: &abi.Usage{Input: 9, Output: 2}},
				{Type: abi.EventFinish, Reason: "stop"}}})},
		{heading: abi.ExportProviderClassify, told: "An answer whose status is not 2xx.",
			call:   ask(2_000, abi.ProviderClassify{Provider: "weather-ai", Status: 429, Headers: map[string]string{"retry-after": "2"}, Body: `{"error":"slow down"}`}),
			answer: ok(abi.ProviderError{Classification: abi.ClassRateLimit, Message: "slow down", Retryable: true, RetryAfterMS: 2_000})},
		{heading: abi.ExportTransform, told: "One part more in the system text.",
			call: ask(50, abi.TransformApply{Transform: "weather-rules", Purpose: "turn", Agent: "build",
				System: []abi.TextPart{{ID: "baseline", Text: "Be brief."}}}),
			answer: ok(abi.TransformEdits{Edits: []abi.Edit{{Part: "system", Op: abi.EditAppend, ID: "weather", Value: json.RawMessage(`"Say temperatures in °C."`)}}})},
		{heading: "the operation " + abi.OpFSRead, told: "A request of the guest through `host_call`: no call around it, and the file's bytes behind the answer.",
			call: abi.FSRead{Path: abi.Path{Path: "todo.txt"}},
			answer: ok(abi.FSReadOK{Info: abi.FileInfo{Path: "todo.txt", Name: "todo.txt", Kind: abi.FileRegular, Size: int64(len(text)), ModifiedMS: 1_763_769_600_000},
				Data: abi.Bytes{Length: len(text)}, EOF: true}),
			answered: text},
	}
}
