package abi

import (
	"encoding/json"
	"reflect"
	"testing"
)

// The forms on the wire of what hosted tools added: a part or an event that is not of
// one is written as it was before there were any.
func TestHostedTools(t *testing.T) {
	for want, value := range map[string]any{
		`{"type":"tool_call","call":"c","name":"look","input":{}}`: &Part{Type: PartToolCall, Call: "c", Name: "look", Input: json.RawMessage(`{}`)},
		`{"type":"tool_call","call":"h","name":"search","input":{},"metadata":1,"hosted":true}`: &Part{
			Type: PartToolCall, Call: "h", Name: "search", Input: json.RawMessage(`{}`), Metadata: json.RawMessage(`1`), Hosted: true},
		`{"type":"tool_result","text":"2 hits","call":"h","name":"search","metadata":2,"hosted":true,"result":[]}`: &Part{
			Type: PartToolResult, Call: "h", Name: "search", Text: "2 hits", Metadata: json.RawMessage(`2`), Hosted: true, Result: json.RawMessage(`[]`)},
		`{"type":"tool.start","id":"c","name":"look"}`:                 &ModelEvent{Type: EventToolStart, ID: "c", Name: "look"},
		`{"type":"tool.start","id":"h","name":"search","hosted":true}`: &ModelEvent{Type: EventToolStart, ID: "h", Name: "search", Hosted: true},
		`{"type":"tool.result","id":"h","text":"2 hits","metadata":2,"result":[]}`: &ModelEvent{
			Type: EventToolResult, ID: "h", Text: "2 hits", Metadata: json.RawMessage(`2`), Result: json.RawMessage(`[]`)},
		`{"type":"tool.result","id":"h","text":"too many","failed":true}`: &ModelEvent{Type: EventToolResult, ID: "h", Text: "too many", Failed: true},
	} {
		encoded, err := json.Marshal(value)
		if err != nil || string(encoded) != want {
			t.Errorf("got %s, %v\nwant %s", encoded, err, want)
		}
		decoded := reflect.New(reflect.TypeOf(value).Elem()).Interface()
		if err := json.Unmarshal([]byte(want), decoded); err != nil || !reflect.DeepEqual(decoded, value) {
			t.Errorf("%s is read as %+v, %v", want, decoded, err)
		}
	}
}
