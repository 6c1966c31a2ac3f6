package wires_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/tests/wires"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spoken is what a test says in a protocol: a request of one turn, one with a call, its
// result and an image behind it, and requests that the real server refuses.
type spoken struct {
	protocol wires.Protocol
	path     string
	header   [2]string
	first    string
	second   string // %s is the signature
	refused  []string
	call     string // the id that the call has on this wire
}

func protocols() []spoken {
	openAI := `{"model":"m","stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"hello"}`
	messages := `{"model":"m","stream":true,"max_tokens":9,"system":[{"type":"text","text":"s"}],"tools":[{"name":"read"}],"messages":[{"role":"user","content":"hello"}`
	input := `{"model":"m","stream":true,"tools":[{"type":"function","name":"read"}],"input":[{"role":"system","content":"s"},{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}`
	contents := `{"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"read"}]}],"contents":[{"role":"user","parts":[{"text":"hello"}]}`
	converse := `{"system":[{"text":"s"}],"toolConfig":{"tools":[{"toolSpec":{"name":"read","inputSchema":{"json":{}}}}]},"messages":[{"role":"user","content":[{"text":"hello"}]}`
	return []spoken{
		{wires.Chat(), "/chat/completions", [2]string{"Authorization", "Bearer key"}, openAI + `],"tools":[{"function":{"name":"read"}}]}`,
			openAI + `,{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_0_0","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0_0","content":"shown"},` +
				`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}],"tools":[{"function":{"name":"read"}}]}`,
			[]string{openAI + `,{"role":"tool","tool_call_id":"x","content":""}]}`, openAI + `,{"role":"critic"}]}`, `{}`}, "call_0_0"},
		{wires.Responses(), "/responses", [2]string{"Authorization", "Bearer key"}, input + `]}`,
			input + `,{"type":"reasoning","id":"rs_0","encrypted_content":"%s"},{"role":"assistant","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"call_0_0","name":"read","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":"call_0_0","output":[{"type":"input_text","text":"shown"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]}`,
			[]string{input + `,{"type":"reasoning","id":"rs_0"}]}`, input + `,{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}]}`, input + `,{"type":"item_reference"}]}`}, "call_0_0"},
		{wires.Anthropic(), "/v1/messages", [2]string{"X-Api-Key", "key"}, messages + `]}`,
			messages + `,{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"%s"},{"type":"text","text":"I look."},{"type":"tool_use","id":"call_0_0","name":"read","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0_0","content":[{"type":"text","text":"shown"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}]}`,
			[]string{messages + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}]}`, messages + `,{"role":"user","content":[{"type":"text","text":""}]}]}`, strings.Replace(messages, `"max_tokens":9,`, "", 1) + `]}`}, "call_0_0"},
		{wires.Gemini(), "/models/m:streamGenerateContent?alt=sse", [2]string{"X-Goog-Api-Key", "key"}, contents + `]}`,
			contents + `,{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"name":"read","args":{}},"thoughtSignature":"%s"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"shown"}}},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`,
			[]string{contents + `,{"role":"model","parts":[]}]}`, contents + `,{"role":"system","parts":[{"text":"x"}]}]}`, contents + `,{"role":"user","parts":[{}]}]}`}, "read"},
		{wires.Bedrock(), "/model/m/converse-stream", [2]string{"Authorization", "AWS4-HMAC-SHA256 Credential=key/20260101/x"}, converse + `]}`,
			converse + `,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"%s"}}},{"text":"I look."},{"toolUse":{"toolUseId":"call_0_0","name":"read","input":{}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"call_0_0","content":[{"text":"shown"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}},{"cachePoint":{}}]}]}`,
			[]string{converse + `,{"role":"user","content":[{"text":"again"}]}]}`, converse + `,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"x"}}}]}]}`, `{"messages":[]}`}, "call_0_0"},
	}
}

func start(t *testing.T, protocol wires.Protocol, script wires.Script, options wires.Options) *wires.Server {
	t.Helper()
	server, err := wires.Start(protocol, script, options)
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

// post answers the status, the headers and the body, with the error of reading it.
func (s spoken) post(t *testing.T, server *wires.Server, path, body string) (int, http.Header, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(s.header[0], s.header[1])
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(text), err
}

// frames cuts a body as the host does.
func (s spoken) frames(t *testing.T, body string) ([]egress.Frame, error) {
	t.Helper()
	framing := egress.FramingSSE
	if s.protocol.Name == "bedrock" {
		framing = egress.FramingEventStream
	}
	reader, err := egress.NewFrameReader(io.NopCloser(strings.NewReader(body)), framing)
	if err != nil {
		return nil, err
	}
	var all []egress.Frame
	for {
		frames, err := reader.Next(t.Context())
		all = append(all, frames...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// Every server reads its protocol into the same request, tells the same turn, and
// wants its signature back.
func TestEveryWireSaysTheSame(t *testing.T) {
	script := wires.Turns(wires.Turn{Reasoning: "Let me think.", Text: "I look.", Calls: []wires.Call{{Name: "read", Arguments: `{"path":"a rather long path"}`}},
		Usage: wires.Usage{Input: 10, Output: 5}}, wires.Turn{Text: "Done."})
	for _, s := range protocols() {
		t.Run(s.protocol.Name, func(t *testing.T) {
			server := start(t, s.protocol, script, wires.Options{Key: "key", Signed: true})
			status, _, body, err := s.post(t, server, s.path, s.first)
			frames, broken := s.frames(t, body)
			if status != 200 || err != nil || broken != nil || len(frames) < 5 {
				t.Fatalf("%d, %v, %v, %d frames: %s", status, err, broken, len(frames), body)
			}
			for _, piece := range []string{"Let me t", "hink.", "I look.", "read", "a rathe"} {
				if !strings.Contains(body, piece) && !(s.protocol.Name == "gemini" && piece == "a rathe") {
					t.Errorf("%q is not in %s", piece, body)
				}
			}
			const sign = "c2lnbmVk0"
			if strings.Contains(body, sign) != s.protocol.Signs {
				t.Errorf("signed: %v, %s", !s.protocol.Signs, body)
			}
			if s.protocol.Signs {
				if status, _, text, _ := s.post(t, server, s.path, fmt.Sprintf(s.second, "forged")); status != 400 || !strings.Contains(text, "signatures") {
					t.Errorf("a forged signature: %d %s", status, text)
				}
				s.second = fmt.Sprintf(s.second, sign)
			}
			if status, _, body, err = s.post(t, server, s.path, s.second); status != 200 || err != nil || !strings.Contains(body, "Done.") {
				t.Fatalf("%d, %v: %s", status, err, body)
			}
			requests := server.Requests()
			if len(requests) != 2 || requests[0].System != "s" || requests[0].Model != "m" || requests[0].Last().Text != "hello" || requests[1].Turn != 1 {
				t.Fatalf("%+v", requests)
			}
			got := requests[1]
			want := []wires.Message{{Role: "user", Text: "hello"}, {Role: "assistant", Text: "I look.", Calls: []wires.Call{{ID: s.call, Name: "read", Arguments: "{}"}}},
				{Role: "user", Results: []wires.Result{{Call: s.call, Text: "shown"}}, Images: []wires.Image{{Mime: "image/png", Data: "AAAA"}}}}
			if diff := cmp.Diff(want, got.Messages); diff != "" {
				t.Error(diff)
			}
			if len(got.Tools) != 1 || got.Tools[0] != "read" || len(got.Images()) != 1 {
				t.Errorf("tools %v, images %v", got.Tools, got.Images())
			}
		})
	}
}

func TestEveryWireRefusesWhatItsServerRefuses(t *testing.T) {
	for _, s := range protocols() {
		t.Run(s.protocol.Name, func(t *testing.T) {
			server := start(t, s.protocol, wires.Turns(wires.Turn{Text: "x"}), wires.Options{Key: "key"})
			for _, body := range append(s.refused, "garbage") {
				if status, _, text, _ := s.post(t, server, s.path, body); status != 400 {
					t.Errorf("%s: %d %s", body, status, text)
				}
			}
			if status, _, _, _ := s.post(t, server, "/elsewhere", s.first); status != 404 {
				t.Errorf("another path: %d", status)
			}
			other := s
			other.header[1] = "wrong"
			if status, _, _, _ := other.post(t, server, s.path, s.first); status != 401 {
				t.Errorf("a wrong key: %d", status)
			}
			if n := len(server.Requests()); n != 0 {
				t.Errorf("%d requests were taken", n)
			}
		})
	}
}

func TestEveryWireGoesWrongAsAsked(t *testing.T) {
	statuses := map[wires.Kind]int{wires.Overflow: 400, wires.RateLimit: 429, wires.Quota: 429, wires.Key: 401, wires.Unavailable: 503, wires.TooLarge: 413}
	for _, s := range protocols() {
		t.Run(s.protocol.Name, func(t *testing.T) {
			var turn wires.Turn
			server := start(t, s.protocol, func(wires.Request) wires.Turn { return turn }, wires.Options{})
			for kind, want := range statuses {
				turn.Fault = wires.Fault{Kind: kind, RetryAfter: 7}
				status, header, text, _ := s.post(t, server, s.path, s.first)
				if status != want || (header.Get("Retry-After") == "7") != (kind == wires.RateLimit) || strings.Contains(text, "key key is") != (kind == wires.Key) {
					t.Errorf("%s: %d %v %s", kind, status, header, text)
				}
			}
			turn = wires.Turn{Text: "some words that take frames", Fault: wires.Fault{Cut: 3}}
			if _, _, body, err := s.post(t, server, s.path, s.first); err == nil || body == "" {
				t.Errorf("cut: %v, %q", err, body)
			}
			turn.Fault = wires.Fault{Garbage: 3}
			_, _, body, err := s.post(t, server, s.path, s.first)
			frames, broken := s.frames(t, body)
			if err != nil || len(frames) < 2 || broken != nil || s.protocol.Name != "bedrock" && !strings.Contains(body, "\n\n") {
				t.Errorf("garbage: %v, %v: %s", err, broken, body)
			}
		})
	}
}
