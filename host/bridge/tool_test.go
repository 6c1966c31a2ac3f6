package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
)

func TestAToolSeesItsCall(t *testing.T) {
	guest := bridgetest.New().Reflects(abi.ExportTool, `{"ok":{"structured":`, `}}`)
	output, _, err := probe(t, guest, session.ToolCall{
		ID: "call-1", Message: "msg_1", Session: "ses_1", Agent: "build", Input: json.RawMessage(`{"a": 1.50}`), Timeout: 1500 * time.Millisecond,
		Location: session.Location{Directory: "/home/ann/p", Root: "/home/ann", Git: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"deadline_ms":1500,"meta":{"plugin":"acme/test","revision":"r1"},"body":{"tool":"probe","input":{"a":1.50},` +
		`"call":{"id":"call-1","message":"msg_1"},"session":{"id":"ses_1","agent":"build"},` +
		`"location":{"directory":"/home/ann/p","root":"/home/ann","git":true,"platform":"` + platform + `","utc_offset":60}}}`
	if diff := cmp.Diff(want, string(output.Structured)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAToolAnswers(t *testing.T) {
	guest := bridgetest.New().Answers(abi.ExportTool,
		`{"ok":{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"structured":{"n":1},"title":"T","metadata":[1],"later":true}}`)
	output, log, err := probe(t, guest, session.ToolCall{})
	want := session.ToolOutput{
		Content:    []session.ToolContent{{Type: "text", Text: "one"}, {Type: "text", Text: "two"}},
		Structured: json.RawMessage(`{"n":1}`), Title: "T", Metadata: json.RawMessage(`[1]`),
	}
	if diff := cmp.Diff(want, output); diff != "" || err != nil || log != nil {
		t.Errorf("%v, %v, %s", err, log, diff)
	}
}

// What is no answer is the plugin's fault: the model learns that, the operator why.
func TestAnswersThatCannotBeRead(t *testing.T) {
	framed := func(length uint32, rest string) []byte {
		return append([]byte{byte(length), byte(length >> 8), byte(length >> 16), byte(length >> 24)}, rest...)
	}
	tests := []struct {
		name   string
		answer []byte
		log    string // its end
	}{
		{"nothing", nil, "malformed message: 0 bytes, the length alone has 4"},
		{"half a length", []byte{2, 0}, "malformed message: 2 bytes, the length alone has 4"},
		{"a length beyond the end", framed(9, `{"ok":{}}`)[:12], "malformed message: the length says 9 bytes of JSON, 8 are there"},
		{"a length of 4 GiB", framed(0xffffffff, `{"ok":{}}`), "malformed message: the length says 4294967295 bytes of JSON, 9 are there"},
		{"a length that cuts the JSON", framed(8, `{"ok":{}}`), "unexpected end of JSON input"},
		{"not JSON", bridgetest.Message("ok"), "invalid character 'o' looking for beginning of value"},
		{"no JSON at all", bridgetest.Message(""), "unexpected end of JSON input"},
		{"JSON of another shape", bridgetest.Message(`[1]`), "json: cannot unmarshal array into Go value"},
		{"content of another shape", bridgetest.Message(`{"ok":{"content":"text"}}`), "json: cannot unmarshal string into Go struct field"},
		{"neither", bridgetest.Message(`{"result":1}`), "it has neither ok nor error"},
		{"null", bridgetest.Message(`{"ok":null}`), "it has neither ok nor error"},
		{"both", bridgetest.Message(`{"ok":{},"error":{"kind":"failed","message":"x"}}`), "it has both ok and error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, log, err := probe(t, bridgetest.New().AnswersBytes(abi.ExportTool, test.answer), session.ToolCall{})
			wantTold(t, err, abi.KindFailed, "The tool probe broke and gave no answer (failed); the host's log has the reason")
			const begin = "error: tool probe: plugin acme/test: the answer of plinth_tool_execute cannot be read: "
			if len(log) != 1 || !strings.HasPrefix(log[0], begin) || !strings.Contains(log[0], test.log) {
				t.Errorf("log %q, want %q", log, begin+test.log)
			}
		})
	}
}

func TestContentThatIsNotPassedOn(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"another type", `{"type":"video"}`, `The tool probe gave an answer that cannot be read: content 1: the type is "video"; it must be text or file`},
		{"a file without a type", `{"type":"file","data":{"$bytes":[0,3]}}`, `The tool probe gave an answer that cannot be read: content 1: mime is ""; it must be like image/png`},
		{"a file without content", `{"type":"file","mime":"image/png"}`, `The tool probe gave an answer that cannot be read: content 1: a file has either data or a blob`},
		{"a blob of its own choice", `{"type":"file","mime":"image/png","blob":{"$blob":"00"}}`, `The tool probe gave an answer that cannot be read: content 1: the blob "00" was not given in this call`},
		{"bytes beyond the message", `{"type":"file","mime":"image/png","data":{"$bytes":[1,3]}}`,
			"The tool probe gave an answer that cannot be read: content 1: malformed message: $bytes [1, 3] lies outside of 3 raw bytes"},
		{"bytes that begin before it", `{"type":"file","mime":"image/png","data":{"$bytes":[-1,1]}}`,
			"The tool probe gave an answer that cannot be read: content 1: malformed message: $bytes [-1, 1] lies outside of 3 raw bytes"},
		{"a length that overflows", `{"type":"file","mime":"image/png","data":{"$bytes":[1,9223372036854775807]}}`,
			"The tool probe gave an answer that cannot be read: content 1: malformed message: $bytes [1, 9223372036854775807] lies outside of 3 raw bytes"},
		// L 308, of a tool's attachment
		{"a text that says it is an image", `{"type":"file","mime":"image/png","data":{"$bytes":[0,3]}}`,
			"The tool probe gave an answer that cannot be read: content 1: mime says image/png, but the bytes are text/plain; say what the file is"},
		{"a text that says it is a document", `{"type":"file","mime":"application/pdf","data":{"$bytes":[0,3]}}`,
			"The tool probe gave an answer that cannot be read: content 1: mime says application/pdf, but the bytes are text/plain; say what the file is"},
		{"a file of no bytes that says it is an image", `{"type":"file","mime":"image/webp","data":{"$bytes":[0,0]}}`,
			"The tool probe gave an answer that cannot be read: content 1: mime says image/webp, but the bytes are text/plain; say what the file is"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer := abi.EncodeMessage([]byte(`{"ok":{"content":[{"type":"text","text":"x"},`+test.content+`]}}`), []byte("png"))
			_, _, err := probe(t, bridgetest.New().AnswersBytes(abi.ExportTool, answer), session.ToolCall{})
			wantTold(t, err, abi.KindFailed, test.want)
		})
	}
}

func TestAnswersAreMadeUTF8(t *testing.T) {
	output, _, err := probe(t, bridgetest.New().Answers(abi.ExportTool, "{\"ok\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}],\"structured\":\"\xc3(\"}}"), session.ToolCall{})
	if err != nil || output.Content[0].Text != "a\uFFFDb" || string(output.Structured) != "\"\uFFFD(\"" {
		t.Errorf("%+v, %v", output, err)
	}
}

func TestErrorsOfAToolKeepTheirKind(t *testing.T) {
	kinds := []abi.Kind{abi.KindInvalidInput, abi.KindNotFound, abi.KindDenied, abi.KindUnavailable, abi.KindConflict,
		abi.KindLimit, abi.KindCancelled, abi.KindTimeout, abi.KindFailed}
	for _, kind := range kinds {
		_, log, err := probe(t, bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"`+string(kind)+`","message":"Say so."}}`), session.ToolCall{})
		wantTold(t, err, kind, "Say so.")
		if log != nil {
			t.Errorf("%s is logged: %q", kind, log)
		}
	}
	_, _, err := probe(t, bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"teapot","message":"Short."}}`), session.ToolCall{})
	wantTold(t, err, abi.KindFailed, "Short.")
}

func TestAToolThatBreaks(t *testing.T) {
	t.Run("trap", func(t *testing.T) {
		_, log, err := probe(t, bridgetest.New().Traps(abi.ExportTool), session.ToolCall{})
		wantTold(t, err, abi.KindFailed, "The tool probe broke and gave no answer (failed); the host's log has the reason")
		if len(log) != 1 || !strings.Contains(log[0], "trap in plinth_tool_execute: ") {
			t.Errorf("log %q", log)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		_, log, err := probe(t, bridgetest.New().Loops(abi.ExportTool), session.ToolCall{Timeout: 20 * time.Millisecond})
		wantTold(t, err, abi.KindTimeout, "The tool probe did not answer within 20ms")
		if len(log) != 1 || !strings.HasSuffix(log[0], "deadline passed; let it end sooner, or raise timeout_ms of its [[tool]]") {
			t.Errorf("log %q", log)
		}
	})
	t.Run("cancelled", func(t *testing.T) { // the guest is told, and may say what it did
		guest := bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpProgress, `{"text":"now"}`, `{"ok":{"structured":`, `}}`)
		plugin, _ := loadGuest(t, guest, abi.ExportTool)
		ctx, cancel := context.WithCancelCause(t.Context())
		output, err := newTool(t, plugin, session.ToolDefinition{}, nil).Execute(ctx, session.ToolCall{Input: []byte("{}"),
			Host: &toolHost{shown: func(string) { cancel(session.ErrInterrupted) }}})
		if err != nil || !strings.Contains(string(output.Structured), `"kind":"cancelled"`) {
			t.Errorf("%s, %v", output.Structured, err)
		}
		_, err = newTool(t, plugin, session.ToolDefinition{}, nil).Execute(ctx, session.ToolCall{Input: []byte("{}"), Host: &toolHost{}})
		var fault *CallError
		if !errors.As(err, &fault) || fault.Kind != abi.KindCancelled || !errors.Is(err, session.ErrInterrupted) {
			t.Errorf("called after the cancel: %v", err)
		}
	})
}

func TestWhatAToolPrintsIsLogged(t *testing.T) {
	guest := bridgetest.NewPrinting().Prints(abi.ExportTool, "first\nsec\x1b[31mond\n", `{"ok":{}}`)
	_, log, err := probe(t, guest, session.ToolCall{})
	if diff := cmp.Diff([]string{"info: first", "info: sec\uFFFD[31mond"}, log); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}

// The kernel holds input and output to the schemas, for every tool: the bridge passes
// both on as they are.
func TestTheBridgeLeavesTheSchemasToTheKernel(t *testing.T) {
	guest := bridgetest.New().Reflects(abi.ExportTool, `{"ok":{"structured":`, `}}`)
	plugin, _ := loadGuest(t, guest, abi.ExportTool)
	never := []byte(`{"not":{}}`)
	output, err := execute(t, newTool(t, plugin, session.ToolDefinition{Input: never, Output: never}, nil), session.ToolCall{Input: []byte(`{"depth":2}`)})
	if err != nil || !strings.Contains(string(output.Structured), `"input":{"depth":2}`) {
		t.Errorf("%s, %v", output.Structured, err)
	}
}

func TestAToolNeedsValidSchemas(t *testing.T) {
	plugin, _ := loadGuest(t, bridgetest.New().Traps(abi.ExportTool), abi.ExportTool)
	tests := []struct{ input, output, want string }{
		{`{"type":"strin"}`, ``, "tool probe: the schema of its input: /type: "},
		{anything, `{"$ref":"other.json"}`, "tool probe: the schema of its output: it refers to plinth:///other.json; put what it needs under $defs"},
	}
	for _, test := range tests {
		definition := session.ToolDefinition{Name: "probe", Input: []byte(test.input)}
		if test.output != "" {
			definition.Output = []byte(test.output)
		}
		if _, err := NewTool(plugin, definition, &Reach{}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
