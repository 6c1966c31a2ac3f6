package bridge

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// ask has a guest ask for an operation from a tool and answers the host's answer,
// what was logged and what was shown.
func ask(t *testing.T, operation, request string) (answer string, log, shown []string) {
	t.Helper()
	guest := bridgetest.NewAsking().Asks(abi.ExportTool, operation, request, `{"ok":{"structured":`, `}}`)
	host := &toolHost{shown: func(text string) { shown = append(shown, text) }}
	output, log, err := probe(t, guest, session.ToolCall{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	return string(output.Structured), log, shown
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestLogAndProgress(t *testing.T) {
	const done = `{"ok":{}}`
	long := strings.Repeat("ä", maxLine)
	cut := strings.Repeat("ä", maxLine/2)
	tests := []struct {
		operation, request, answer string
		log, shown                 []string
	}{
		{"log", `{"level":"warn","message":"careful"}`, done, []string{"warn: careful"}, nil},
		{"log", `{"level":"debug","message":"a\nb\tc\u001b[2Jd\u0000\u0085"}`, done, []string{"debug: a b c[2Jd"}, nil},
		{"log", `{"level":"info","message":` + quoted(t, long) + `}`, done, []string{"info: " + cut}, nil},
		{"log", `{"level":"loud","message":"x"}`, `{"error":{"kind":"invalid_input","message":"level is \"loud\"; it must be debug, info, warn or error"}}`, nil, nil},
		{"log", `{"level":"info","text":"x"}`, `{"error":{"kind":"invalid_input","message":"the request cannot be read: json: unknown field \"text\""}}`, nil, nil},
		{"progress", `{"text":"half\nway"}`, done, nil, []string{"half way"}},
		{"progress", `{"text":7}`, `{"error":{"kind":"invalid_input","message":"the request cannot be read: json: cannot unmarshal number into Go struct field Progress.text of type string"}}`, nil, nil},
	}
	for _, test := range tests {
		answer, log, shown := ask(t, test.operation, test.request)
		if answer != test.answer {
			t.Errorf("%s %.60s: answer %s", test.operation, test.request, answer)
		}
		if diff := cmp.Diff(test.log, log); diff != "" {
			t.Errorf("%s %.60s: log %s", test.operation, test.request, diff)
		}
		if diff := cmp.Diff(test.shown, shown); diff != "" {
			t.Errorf("%s %.60s: shown %s", test.operation, test.request, diff)
		}
	}
}

func TestOfferedIsServed(t *testing.T) {
	for _, operation := range Offered() {
		if answer, _, _ := ask(t, operation, `{}`); strings.Contains(answer, "this host has no operation") {
			t.Errorf("%s: %s", operation, answer)
		}
	}
}

// What the engine itself refuses is worded like any other answer.
func TestRefusalsOfTheEngine(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{wasm.ErrUnavailable, `{"error":{"kind":"unavailable","message":"host operations are not offered here"}}`},
		{&wasm.LimitError{What: "operations in one call", Got: 6, Limit: 5, Knob: "Operations"},
			`{"error":{"kind":"limit","message":"operations in one call: 6, the limit is 5 (Operations); raise operations of [limits] in its manifest"}}`},
	}
	for _, test := range tests {
		body, raw, err := abi.DecodeMessage(Refuse(test.err))
		if err != nil || string(body) != test.want || len(raw) != 0 {
			t.Errorf("%s %q %v", body, raw, err)
		}
	}
}

func TestStartIsJudged(t *testing.T) {
	tests := []struct{ answer, want string }{
		{`{"ok":{}}`, ""},
		{`{"ok":{"later":1}}`, ""},
		{`{"error":{"kind":"invalid_input","message":"rules[0] is empty"}}`, "invalid_input: rules[0] is empty"},
		{`{}`, "it has neither ok nor error"},
		{`fine`, "invalid character 'i' in literal false (expecting 'a')"},
	}
	for _, test := range tests {
		guest := bridgetest.New().Answers(abi.ExportInit, test.answer).Traps(abi.ExportTool)
		engine, err := wasm.New(wasm.Options{Contract: Contract(), Refuse: Refuse})
		if err != nil {
			t.Fatal(err)
		}
		init, err := Init("acme/test", json.RawMessage(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.Load(t.Context(), wasm.Spec{Name: "acme/test", Wasm: guest.Bytes(), Entries: []string{abi.ExportTool}, Init: init, CheckInit: CheckInit})
		var refusal *wasm.AdmissionError
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.answer, err)
		case test.want != "" && (!errors.As(err, &refusal) || !strings.HasSuffix(err.Error(), test.want)):
			t.Errorf("%s: %v", test.answer, err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}
