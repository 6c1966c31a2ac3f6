package chat_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/tests/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script chat.Script, options chat.Options) *chat.Server {
	t.Helper()
	server, err := chat.Start(script, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := errors.Join(server.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return server
}

func post(t *testing.T, server *chat.Server, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer key")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

const hello = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s"},{"role":"user","content":"hello"}],"tools":[{"type":"function","function":{"name":"read"}}]}`

// answer is a stream put together again.
type answer struct {
	Reasoning, Text, Arguments, CallID, CallName, Finish string
	Deltas                                               int // of the text
	Prompt, Completion                                   int64
	Done                                                 bool
}

type chunk struct {
	Choices []struct {
		Delta struct {
			Content          string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	}
}

// collect reads a stream; its error is the connection's or the JSON's.
func collect(body io.Reader) (answer, error) {
	var a answer
	scanner := bufio.NewScanner(body)
	for scanner.Scan() {
		data, ok := strings.CutPrefix(scanner.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			a.Done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return a, err
		}
		a.Prompt, a.Completion = a.Prompt+c.Usage.Prompt, a.Completion+c.Usage.Completion
		for _, choice := range c.Choices {
			a.Reasoning += choice.Delta.ReasoningContent
			a.Text += choice.Delta.Content
			if choice.Delta.Content != "" {
				a.Deltas++
			}
			a.Finish += choice.FinishReason
			for _, call := range choice.Delta.ToolCalls {
				a.CallID += call.ID
				a.CallName += call.Function.Name
				a.Arguments += call.Function.Arguments
			}
		}
	}
	return a, scanner.Err()
}

func TestStream(t *testing.T) {
	text := strings.Repeat("grüße ", 40)
	arguments := `{"path":"a rather long path/to/a/file.txt"}`
	server := start(t, chat.Turns(
		chat.Turn{Reasoning: "let me see", Text: text, Usage: &chat.Usage{Prompt: 7, Completion: 9}},
		chat.Turn{Calls: []chat.ToolCall{{ID: "c1", Name: "read", Arguments: arguments}}, Usage: &chat.Usage{Prompt: 1}},
	), chat.Options{Key: "key"})

	got, err := collect(post(t, server, hello).Body)
	if err != nil {
		t.Fatal(err)
	}
	want := answer{Reasoning: "let me see", Text: text, Finish: "stop", Deltas: 50, Prompt: 7, Completion: 9, Done: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	second := strings.Replace(hello, `"content":"hello"}`, `"content":"hello"},{"role":"assistant","content":"x"},{"role":"user","content":[{"type":"text","text":"more"}]}`, 1)
	got, err = collect(post(t, server, second).Body)
	if err != nil {
		t.Fatal(err)
	}
	want = answer{Arguments: arguments, CallID: "c1", CallName: "read", Finish: "tool_calls", Prompt: 1, Done: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	requests := server.Requests()
	if len(requests) != 2 || requests[0].Turn != 0 || requests[1].Turn != 1 || requests[1].LastUser() != "more" ||
		requests[0].Model != "m" || requests[0].Tools[0] != "read" || !bytes.Equal(requests[0].Body, []byte(hello)) {
		t.Errorf("%+v", requests)
	}
	if requests[0].Received.IsZero() || requests[0].Took <= 0 {
		t.Errorf("received %v, took %v", requests[0].Received, requests[0].Took)
	}

	third := strings.ReplaceAll(second, `{"role":"system","content":"s"}`, `{"role":"assistant","content":"y"}`)
	if response := post(t, server, third); response.StatusCode != http.StatusInternalServerError {
		t.Errorf("a turn too many: %s", response.Status)
	}
}

func TestDeltas(t *testing.T) {
	for deltas, want := range map[int]int{0: 3, 1: 1, 2: 2, 100: 3} {
		server := start(t, func(chat.Request) chat.Turn { return chat.Turn{Text: "abc", Deltas: deltas} }, chat.Options{})
		got, err := collect(post(t, server, hello).Body)
		if got.Deltas != want || got.Text != "abc" || err != nil {
			t.Errorf("%d: %+v, %v", deltas, got, err)
		}
	}
}

func TestWhole(t *testing.T) {
	server := start(t, chat.Say("hi"), chat.Options{})
	body, err := io.ReadAll(post(t, server, `{"model":"m","messages":[{"role":"user","content":"hello"}]}`).Body)
	if err != nil || !strings.Contains(string(body), `"content":"hi"`) || !strings.Contains(string(body), `"finish_reason":"stop"`) {
		t.Errorf("%s, %v", body, err)
	}
	got, err := collect(post(t, server, strings.Replace(hello, `"include_usage":true`, `"include_usage":false`, 1)).Body)
	if err != nil || got.Prompt != 0 {
		t.Errorf("usage that nobody asked for: %+v, %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	text := chat.Repeated("word", 100)
	run := func(fault chat.Fault) (answer, *http.Response, error) {
		server := start(t, func(chat.Request) chat.Turn { return chat.Turn{Text: text, Fault: fault} }, chat.Options{})
		response := post(t, server, hello)
		got, err := collect(response.Body)
		return got, response, err
	}
	if _, response, _ := run(chat.Fault{Status: 429, Headers: http.Header{"Retry-After": {"3"}}}); response.StatusCode != 429 || response.Header.Get("Retry-After") != "3" {
		t.Errorf("status: %v", response)
	}
	if got, _, err := run(chat.Fault{Cut: true, CutAfter: 4}); err == nil || got.Deltas != 3 || got.Done {
		t.Errorf("cut: %+v, %v", got, err)
	}
	if got, _, err := run(chat.Fault{Garbage: "{oops", GarbageAfter: 2}); err == nil || got.Deltas != 1 {
		t.Errorf("garbage: %+v, %v", got, err)
	}
	if got, _, err := run(chat.Fault{NoDone: true}); err != nil || got.Done || got.Finish != "stop" {
		t.Errorf("no [DONE]: %+v, %v", got, err)
	}
	if got, _, err := run(chat.Fault{NoFinish: true}); err != nil || got.Done || got.Finish != "" || got.Text != text {
		t.Errorf("no finish: %+v, %v", got, err)
	}
}

func TestGate(t *testing.T) {
	gate := make(chan struct{})
	server := start(t, func(chat.Request) chat.Turn { return chat.Turn{Text: "ab", Deltas: 2, Gate: gate} }, chat.Options{})
	reader := bufio.NewReader(post(t, server, hello).Body)
	for _, want := range []string{`"role":"assistant"`, `"content":"a"`, `"content":"b"`} {
		gate <- struct{}{}
		line, err := reader.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if took := server.Requests()[0].Took; took != 0 {
		t.Errorf("took %v while under way", took)
	}
	// Closing ends the handler that still waits at the gate.
}

func TestDelay(t *testing.T) {
	const delay = 5 * time.Millisecond
	server := start(t, func(chat.Request) chat.Turn { return chat.Turn{Text: "ab", Deltas: 2, Delay: delay} }, chat.Options{})
	if _, err := collect(post(t, server, hello).Body); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil { // the handler is through
		t.Fatal(err)
	}
	if took := server.Requests()[0].Took; took < 4*delay {
		t.Errorf("four pieces took %v", took)
	}
}

func TestRefusals(t *testing.T) {
	server := start(t, chat.Say("never"), chat.Options{})
	for body, want := range map[string]string{
		`{`:             "not a request",
		`{"model":"m"}`: "required",
		`{"model":"m","messages":[{"role":"pope","content":"x"}]}`:                                                                        "unknown role",
		`{"model":"m","messages":[{"role":"user","content":7}]}`:                                                                          "content must be",
		`{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":"x"}]}`:                                                     "answers no call",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]}`:                                          "function with a name",
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{}}]}]}`:                                         "id and name",
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}]},{"role":"user","content":"x"}]}`: "have no result",
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}]}]}`:                               "have no result",
	} {
		response := post(t, server, body)
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %s %v, want %q", body, response.Status, text, err, want)
		}
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d refused requests are recorded", n)
	}
	locked := start(t, chat.Say("never"), chat.Options{Key: "other"})
	if response := post(t, locked, hello); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("wrong key: %s", response.Status)
	}
	response, err := http.Get(server.URL + "/nothing")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("wrong route: %s", response.Status)
	}
	if _, err := chat.Start(chat.Say(""), chat.Options{Address: "nowhere"}); err == nil {
		t.Error("a bad address passed")
	}
}

func TestPartsOfARequest(t *testing.T) {
	system, user, tool := `{"role":"system","content":"Be kind to everybody who asks."}`, `{"role":"user","content":"Hi"}`,
		`{"type":"function","function":{"name":"read","description":"Reads a file, whole or by pages.","parameters":{}}}`
	body := `{"model":"m","messages":[` + system + "," + user + `],"tools":[` + tool + `]}`
	got, err := chat.Request{Body: []byte(body)}.Parts()
	want := []chat.Part{{"tool read", len(tool)}, {"system", len(system)}, {"rest", len(body) - len(tool) - len(system) - len(user)}, {"user 1", len(user)}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := (chat.Request{Body: []byte(`[]`)}).Parts(); err == nil {
		t.Error("what is no request is measured")
	}
}
