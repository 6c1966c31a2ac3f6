package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/offline"
	"github.com/plinthhost/plinth/session"
)

// said is what came of a request.
type said struct {
	Text   string
	Tool   string
	Input  string
	Finish session.FinishReason
}

func user(text string) session.ModelMessage {
	return session.ModelMessage{ID: "m-" + text, Role: session.RoleUser, Parts: []session.ModelPart{{Type: session.PartText, Text: text}}}
}

func result(name, text string, failed bool) session.ModelMessage {
	return session.ModelMessage{ID: "r", Role: session.RoleTool, Parts: []session.ModelPart{
		{Type: session.PartToolResult, Call: "c", Name: name, Text: text, Error: failed}}}
}

func request(messages ...session.ModelMessage) session.ModelRequest {
	return session.ModelRequest{
		Purpose: session.PurposeTurn, Session: "s", Model: session.ModelRef{Provider: offline.Name, Model: offline.Model},
		Messages: messages, Tools: []session.ToolDefinition{{Name: "read"}, {Name: "weather"}}, ToolChoice: "auto",
	}
}

// run streams a request and checks the grammar of its events.
func run(t *testing.T, r session.ModelRequest) said {
	t.Helper()
	var got said
	var last session.ModelEventType
	calls := map[string]bool{}
	for event, err := range (offline.Provider{}).Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if last == session.EventFinish {
			t.Errorf("%s after the finish", event.Type)
		}
		last = event.Type
		switch event.Type {
		case session.EventTextDelta:
			got.Text += event.Text
		case session.EventToolStart:
			got.Tool, calls[event.ID] = event.Name, true
		case session.EventToolDelta, session.EventToolEnd:
			if !calls[event.ID] {
				t.Errorf("%s of a call that did not start", event.Type)
			}
			got.Input += event.Text
		case session.EventFinish:
			got.Finish = event.Reason
		}
	}
	if last != session.EventFinish {
		t.Errorf("the stream ends with %q", last)
	}
	return got
}

func TestRules(t *testing.T) {
	tests := map[string]struct {
		messages []session.ModelMessage
		want     said
	}{
		"repeat":       {[]session.ModelMessage{user("repeat hello  there\nworld")}, said{Text: "hello  there\nworld", Finish: "stop"}},
		"count":        {[]session.ModelMessage{user("Count 5")}, said{Text: "1 2 3 4 5", Finish: "stop"}},
		"count badly":  {[]session.ModelMessage{user("count everything")}, said{Text: "I can count to a number from 1 to 10000, like: count 10", Finish: "stop"}},
		"count beyond": {[]session.ModelMessage{user("count 10001")}, said{Text: "I can count to a number from 1 to 10000, like: count 10", Finish: "stop"}},
		"read":         {[]session.ModelMessage{user("read docs/a.md")}, said{Tool: "read", Input: `{"path":"docs/a.md"}`, Finish: "tool_calls"}},
		"sentence": {[]session.ModelMessage{user("Read go.mod and say which module this is.")},
			said{Tool: "read", Input: `{"path":"go.mod"}`, Finish: "tool_calls"}},
		"end of sentence": {[]session.ModelMessage{user("please read the file README.md.")}, said{Tool: "read", Input: `{"path":"README.md"}`, Finish: "tool_calls"}},
		"quoted":          {[]session.ModelMessage{user("read \"my file.txt\" now")}, said{Tool: "read", Input: `{"path":"my file.txt"}`, Finish: "tool_calls"}},
		"module": {[]session.ModelMessage{user("Read go.mod and say which module this is."), result("read", "// comment\nmodule example.com/x\n\ngo 1.26\n", false)},
			said{Text: "This is the module example.com/x.", Finish: "stop"}},
		"numbered": {[]session.ModelMessage{user("read go.mod"), result("read", "1: module x\n2: go 1.26", false)}, said{Text: "This is the module x.", Finish: "stop"}},
		"other file": {[]session.ModelMessage{user("read a"), result("read", "one\ntwo\nthree\nfour\n", false)},
			said{Text: "I read 4 lines. It begins:\none\ntwo\nthree", Finish: "stop"}},
		"one line":   {[]session.ModelMessage{user("read a"), result("read", "one", false)}, said{Text: "I read 1 line. It begins:\none", Finish: "stop"}},
		"empty file": {[]session.ModelMessage{user("read a"), result("read", "", false)}, said{Text: "The file is empty.", Finish: "stop"}},
		"failed": {[]session.ModelMessage{user("read a"), result("read", "\"a\": no such file", true)},
			said{Text: "The tool read failed: \"a\": no such file", Finish: "stop"}},
		"call":       {[]session.ModelMessage{user(`call weather {"place": "Oslo"}`)}, said{Tool: "weather", Input: `{"place": "Oslo"}`, Finish: "tool_calls"}},
		"call bare":  {[]session.ModelMessage{user("call weather")}, said{Tool: "weather", Input: "{}", Finish: "tool_calls"}},
		"call wrong": {[]session.ModelMessage{user("call weather {oops}")}, said{Text: "The input of the call is not valid JSON: {oops}", Finish: "stop"}},
		"call odd":   {[]session.ModelMessage{user("call me maybe")}, said{Text: `A call is written like this: call read {"path": "go.mod"}`, Finish: "stop"}},
		"no tool":    {[]session.ModelMessage{user("call missing {}")}, said{Text: `I would call the tool "missing", but this session has none of that name.`, Finish: "stop"}},
		"other tool": {[]session.ModelMessage{user("call weather"), result("weather", "sunny", false)}, said{Text: "The tool weather answered: sunny", Finish: "stop"}},
		"old result": {[]session.ModelMessage{user("read a"), result("read", "module old", false), user("repeat new")}, said{Text: "new", Finish: "stop"}},
		"last of several": {[]session.ModelMessage{user("read a"), result("read", "module first", false), result("read", "module second", false)},
			said{Text: "This is the module second.", Finish: "stop"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, run(t, request(test.messages...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, text := range []string{"", "hello", "readable?", "What is a repeat?", "read", "repeat  "} {
		got := run(t, request(user(text)))
		if !strings.Contains(got.Text, "no language model") || got.Finish != session.FinishStop {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := run(t, request()); !strings.Contains(got.Text, "no language model") {
		t.Errorf("no messages: %+v", got)
	}
}

func TestToolsOff(t *testing.T) {
	r := request(user("read a"))
	r.ToolChoice = "none"
	if got := run(t, r); got.Tool != "" || !strings.Contains(got.Text, "tools are off") {
		t.Errorf("%+v", got)
	}
}

func TestOtherPurposes(t *testing.T) {
	r := request(user("read "+strings.Repeat("é", 60)+"\nmore"), result("read", "x", false))
	r.Purpose = "title"
	if got := run(t, r).Text; got != "read "+strings.Repeat("é", 44)+"…" {
		t.Errorf("title %q", got)
	}
	r.Messages = nil
	if got := run(t, r).Text; got != "New session" {
		t.Errorf("title %q", got)
	}
	for said, want := range map[string]string{
		"count 3": "Offline summary. The history begins: count 3",
		"Condense.\n[User]: read a\n\n[Assistant]: I did\n\n[User, stays]: count " + strings.Repeat("3", 300): "Offline summary of 2 requests. The last one was: count " +
			strings.Repeat("3", 194),
	} {
		r = request(user(said))
		r.Purpose = "compaction"
		if got := run(t, r).Text; got != want {
			t.Errorf("summary %q", got)
		}
	}
}

func TestStreaming(t *testing.T) {
	var types []string
	var usage session.Usage
	r := request(user("repeat one two three"))
	for event, err := range (offline.Provider{}).Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, string(event.Type)+" "+event.Text)
		if event.Type == session.EventUsage {
			usage = event.Usage
		}
	}
	want := []string{"text.delta one ", "text.delta two ", "text.delta three", "text.end ", "usage ", "finish "}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(session.Usage{Input: 5, Output: 4}, usage); diff != "" {
		t.Error(diff)
	}
}

func TestCallIDs(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range []session.ModelRequest{
		request(user("read a")),
		request(user("read a"), result("read", "x", false), user("read a")),
		request(user("read b")),
	} {
		for event := range (offline.Provider{}).Stream(t.Context(), r) {
			if event.Type == session.EventToolStart {
				ids[event.ID] = true
			}
			if event.Type == session.EventToolDelta && !json.Valid([]byte(event.Text)) {
				t.Errorf("input %s", event.Text)
			}
		}
	}
	if len(ids) != 3 {
		t.Errorf("ids %v", ids)
	}
}

func TestStopping(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reason := errors.New("interrupted")
	var got error
	seen := 0
	for _, err := range (offline.Provider{}).Stream(ctx, request(user("count 100"))) {
		if got = err; err == nil {
			seen++
		}
		if seen == 2 {
			cancel(reason)
		}
	}
	if !errors.Is(got, reason) || seen != 2 {
		t.Errorf("%d events, then %v", seen, got)
	}
	for range (offline.Provider{}).Stream(t.Context(), request(user("call weather"))) {
		break // leaving early is no panic
	}
}

func TestUnknownModel(t *testing.T) {
	r := request(user("count 1"))
	r.Model.Model = "gpt"
	for _, err := range (offline.Provider{}).Stream(t.Context(), r) {
		var e *session.ProviderError
		if !errors.As(err, &e) || e.Class != session.ProviderInvalidRequest {
			t.Errorf("%v", err)
		}
	}
}
