package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// claude asks the committed core/anthropic, and a server that answers with a stream.
func claude(t *testing.T, request session.ModelRequest, stream string) (body map[string]json.RawMessage, events []string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != "a-key" || r.Header.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	defer server.Close()
	client := signing(t, egress.Options{BaseURL: server.URL}, abi.ManifestAuth{Kind: "header", Name: "x-api-key"}, "a-key")
	plugin := loadBuiltin(t, "core/anthropic", abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	events, err = streamed(t, NewProvider(plugin, "anthropic", egress.FramingSSE, client, nil), request)
	return body, events, err
}

// signing opens a connection with a secret.
func signing(t *testing.T, options egress.Options, auth abi.ManifestAuth, key string) *egress.Client {
	t.Helper()
	var err error
	if options.Auth, err = AuthOf(auth); err != nil {
		t.Fatal(err)
	}
	options.Secret = func(context.Context) (secret.Value, error) { return secret.NewValue(key), nil }
	client, err := egress.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// converse asks the committed core/bedrock for a model whose id is an ARN; the frames are
// pairs of an event and its payload.
func converse(t *testing.T, frames ...string) (events []string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := "/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Aprofile%2Fm/converse-stream"; r.URL.EscapedPath() != want {
			t.Errorf("%s, want %s", r.URL.EscapedPath(), want)
		}
		if signed := r.Header.Get("Authorization"); !strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(signed, "/eu-central-1/bedrock/aws4_request") {
			t.Error(signed)
		}
		for i := 0; i < len(frames); i += 2 {
			_, _ = w.Write(awsMessage(frames[i], frames[i+1]))
		}
	}))
	defer server.Close()
	client := signing(t, egress.Options{BaseURL: server.URL, Region: "eu-central-1"}, abi.ManifestAuth{Kind: "sigv4", Name: "bedrock"}, "AKIDEXAMPLE:a-secret-access-key")
	plugin := loadBuiltin(t, "core/bedrock", abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	request := question()
	request.Model.Model = "arn:aws:bedrock:eu:1:profile/m"
	return streamed(t, NewProvider(plugin, "bedrock", egress.FramingEventStream, client, nil), request)
}

const messageStopped = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// told is a history of texts, "role: text", with calls and results of a tool "f".
func told(lines ...string) (history []session.ModelMessage) {
	for _, line := range lines {
		role, text, _ := strings.Cut(line, ": ")
		part := session.ModelPart{ID: "p", Type: session.PartText, Text: text}
		switch role {
		case "call":
			role, part = "assistant", session.ModelPart{ID: "p", Type: session.PartToolCall, Call: text, Name: "f"}
		case "tool":
			part = session.ModelPart{ID: "p", Type: session.PartToolResult, Call: text, Name: "f", Text: "r"}
		}
		history = append(history, session.ModelMessage{ID: "m", Role: session.Role(role), Parts: []session.ModelPart{part}})
	}
	return history
}

// TestCasesOfMarkedProtocols has the cases of the two protocols with cache marks; those
// that many protocols share stand with their codecs' own tests.
func TestCasesOfMarkedProtocols(t *testing.T) {
	sessiontest.Cases(t, "L", []sessiontest.Case{
		{Number: 292, Text: "An update of the system context for Claude Opus 4.8, behind the user and before the assistant or the end, is a message of the role system; " +
			"where the user goes on it is marked up in the user's message; between a call and its result the request is refused.",
			Ours: "Between a call and its result it is told behind the results, marked up; it is refused only where the results never come.",
			Run: func(t *testing.T) {
				for _, c := range []struct {
					model   string
					history []session.ModelMessage
					roles   string
				}{
					{"claude-opus-4-8", told("user: a", "system: s"), "user system"},
					{"claude-opus-4-8", told("user: a", "system: s", "assistant: b", "user: c"), "user system assistant user"},
					{"claude-opus-4-8", told("user: a", "system: s", "user: b"), "user"},
					{"claude-opus-4-7", told("user: a", "system: s"), "user"},
					{"claude-opus-4-8", told("user: a", "call: c", "system: s", "tool: c", "assistant: b", "user: d"), "user assistant user assistant user"},
				} {
					request := question()
					request.Model.Model, request.Messages = c.model, c.history
					body, _, err := claude(t, request, messageStopped)
					var messages []struct{ Role string }
					if err := json.Unmarshal(body["messages"], &messages); err != nil {
						t.Fatal(err)
					}
					var roles []string
					for _, message := range messages {
						roles = append(roles, message.Role)
					}
					if got := strings.Join(roles, " "); got != c.roles || err != nil {
						t.Errorf("%s: %s, %v, want %s", c.model, got, err, c.roles)
					}
				}
				request := question()
				request.Messages = told("user: a", "call: c", "system: s", "assistant: b")
				_, _, err := claude(t, request, messageStopped)
				if failed, ok := errors.AsType[*session.ProviderError](err); !ok || !strings.Contains(failed.Message, `behind the tool call "c"`) {
					t.Errorf("%v", err)
				}
			}},
		{Number: 296, Text: "Where no tool may be called, a request of Anthropic's protocol has neither tools nor a choice.", Run: func(t *testing.T) {
			request := question()
			request.ToolChoice, request.Tools = "none", []session.ToolDefinition{{Name: "f", Input: json.RawMessage(`{"type":"object"}`)}}
			body, _, err := claude(t, request, messageStopped)
			if _, tools := body["tools"]; tools || body["tool_choice"] != nil || err != nil {
				t.Errorf("%s, %v", body, err)
			}
		}},
		{Number: 302, Text: "Anthropic's usage of 10 tokens of input, 5 read from the cache, 2 written to it, and 7 of output is an input of 17 and an output of 7.",
			Ours: "A total is not kept; it is the sum of the two.",
			Run: func(t *testing.T) {
				_, events, err := claude(t, question(), `data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`+"\n\n"+messageStopped)
				if diff := cmp.Diff([]string{"usage {Input:17 Output:7 Reasoning:0 CacheRead:5 CacheWrite:2}", "finish stop"}, events); diff != "" || err != nil {
					t.Errorf("%v %s", err, diff)
				}
			}},
		{Number: 311, Text: "Bedrock's end and its usage, in any order, are one finish with the usage; throttling in the stream is an error that may be tried again.", Run: func(t *testing.T) {
			stop := []string{"messageStop", `{"stopReason":"end_turn"}`}
			usage := []string{"metadata", `{"usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5}}`}
			want := []string{`text.delta text-0 "Hi"`, "text.end text-0", "usage {Input:3 Output:2 Reasoning:0 CacheRead:0 CacheWrite:0}", "finish stop"}
			for _, ends := range [][2][]string{{stop, usage}, {usage, stop}} {
				events, err := converse(t, append(append([]string{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Hi"}}`, "contentBlockStop", `{"contentBlockIndex":0}`}, ends[0]...), ends[1]...)...)
				if diff := cmp.Diff(want, events); diff != "" || err != nil {
					t.Errorf("%v %s", err, diff)
				}
			}
			_, err := converse(t, "throttlingException", `{"message":"Too many tokens, please wait before trying again."}`)
			if failed, ok := errors.AsType[*session.ProviderError](err); !ok || failed.Class != session.ProviderRateLimit || !failed.Retryable {
				t.Errorf("%#v", err)
			}
		}},
	})
}
