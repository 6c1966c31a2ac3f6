package bridge

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
)

func apply(t *testing.T, guest *bridgetest.Guest, spec session.TransformSpec, input session.TransformInput) ([]session.Edit, error) {
	t.Helper()
	plugin, _ := loadGuest(t, guest, abi.ExportTransform)
	transform := NewTransform(plugin, spec)
	if diff := cmp.Diff(spec, transform.Spec()); diff != "" {
		t.Error(diff)
	}
	return transform.Apply(t.Context(), input)
}

// A guest sees the parts that are there, in the words of abi/v1.
func TestATransformSeesItsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temperature := 0.5
		whole := session.TransformInput{
			Purpose: "turn", Agent: "plan", System: []session.TextPart{{ID: "s", Text: "S"}},
			Messages: []session.ModelMessage{{ID: "m", Role: session.RoleAssistant, Parts: []session.ModelPart{
				{ID: "p", Type: session.PartToolCall, Call: "c", Name: "read", Input: json.RawMessage(`{"path":"a"}`), Metadata: json.RawMessage(`{"sig":1}`)},
				{ID: "q", Type: session.PartToolResult, Call: "c", Text: "T", Error: true, Mime: "image/png", Blob: "ab"}}}},
			Tools:      []session.ToolDefinition{{Name: "read", Description: "D", Input: json.RawMessage(`{}`)}},
			Generation: session.Generation{Temperature: &temperature, Stop: []string{"."}},
			Options:    map[string]json.RawMessage{"o": json.RawMessage("1")}, Headers: map[string]string{"X-H": "h"},
		}
		tests := []struct {
			name  string
			reads []session.RequestPart
			input session.TransformInput
			want  string
		}{
			{"all", []session.RequestPart{session.RequestGeneration}, whole, `{"transform":"t","purpose":"turn","agent":"plan","system":[{"id":"s","text":"S"}],` +
				`"messages":[{"id":"m","role":"assistant","parts":[{"id":"p","type":"tool_call","call":"c","name":"read","input":{"path":"a"},"metadata":{"sig":1}},` +
				`{"id":"q","type":"tool_result","text":"T","call":"c","error":true,"mime":"image/png","blob":"ab"}]}],` +
				`"tools":[{"name":"read","description":"D","input":{}}],"generation":{"temperature":0.5,"stop":["."]},"options":{"o":1},"headers":{"X-H":"h"}}`},
			{"nothing", nil, session.TransformInput{Purpose: "turn"}, `{"transform":"t","purpose":"turn"}`},
		}
		for _, test := range tests {
			guest := bridgetest.New().Reflects(abi.ExportTransform, `{"ok":{"edits":[{"part":"options","op":"set","id":"seen","value":`, `}]}}`)
			edits, err := apply(t, guest, session.TransformSpec{Name: "t", Reads: test.reads}, test.input)
			want := `{"deadline_ms":50,"meta":{"plugin":"acme/test","revision":"r1"},"body":` + test.want + `}`
			if err != nil || len(edits) != 1 {
				t.Fatalf("%s: %v, %v", test.name, edits, err)
			}
			if diff := cmp.Diff(want, string(edits[0].Value)); diff != "" {
				t.Errorf("%s: %s", test.name, diff)
			}
		}
	})
}

func TestEditsArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := bridgetest.New().Answers(abi.ExportTransform, `{"ok":{"edits":[
			{"part":"system","op":"append","id":"a","value":"text"},{"part":"tools","op":"drop","id":"read"}]}}`)
		edits, err := apply(t, guest, session.TransformSpec{Name: "t"}, session.TransformInput{})
		want := []session.Edit{
			{Part: session.RequestSystem, Op: session.EditAppend, ID: "a", Value: json.RawMessage(`"text"`)},
			{Part: session.RequestTools, Op: session.EditDrop, ID: "read"},
		}
		if diff := cmp.Diff(want, edits); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}

func TestATransformThatFails(t *testing.T) {
	tests := []struct {
		name  string
		guest *bridgetest.Guest
		kind  abi.Kind
		want  string
	}{
		{"trap", bridgetest.New().Traps(abi.ExportTransform), abi.KindFailed, "trap in plinth_transform_apply"},
		{"timeout", bridgetest.New().Loops(abi.ExportTransform), abi.KindTimeout, "deadline passed"},
		{"no answer", bridgetest.New().Answers(abi.ExportTransform, `{"ok":{"edits":{}}}`), abi.KindFailed, "the answer of plinth_transform_apply cannot be read"},
	}
	for _, test := range tests {
		_, err := apply(t, test.guest, session.TransformSpec{Name: "t"}, session.TransformInput{})
		var fault *CallError
		if !errors.As(err, &fault) || fault.Kind != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A transform has the time that its manifest says.
func TestATransformMaySayItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := bridgetest.New().Reflects(abi.ExportTransform, `{"ok":{"edits":[{"part":"options","op":"set","id":"seen","value":`, `}]}}`)
		edits, err := apply(t, guest, session.TransformSpec{Name: "t", Timeout: 700 * time.Millisecond}, session.TransformInput{})
		if err != nil || !strings.HasPrefix(string(edits[0].Value), `{"deadline_ms":700,`) {
			t.Errorf("%v, %v", edits, err)
		}
	})
}

// Admission refuses the imports; an engine that let them through offers nothing.
func TestATransformHasNoOperations(t *testing.T) {
	guest := bridgetest.NewAsking().Asks(abi.ExportTransform, "fs.read", `{"path":"a"}`, `{"ok":{"edits":[{"part":"options","op":"set","id":"x","value":`, `}]}}`)
	edits, err := apply(t, guest, session.TransformSpec{Name: "t"}, session.TransformInput{})
	if err != nil || string(edits[0].Value) != `{"error":{"kind":"unavailable","message":"host operations are not offered here"}}` {
		t.Errorf("%v, %v", edits, err)
	}
}
