package bridge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
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
	"github.com/plinthhost/plinth/store"
)

// codecOf is the committed codec of a protocol, by the provider id of its manifest.
func codecOf(t *testing.T, id string, client *egress.Client, blobs store.Blobs) *Provider {
	t.Helper()
	plugin := loadBuiltin(t, "core/"+id, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	return NewProvider(plugin, id, egress.FramingSSE, client, blobs)
}

// pixels is what every file of a request has.
const pixels = "the bytes of a picture"

// encodedField is what a codec makes of a request: the field of its body.
func encodedField(t *testing.T, id, field string, change func(*session.ModelRequest)) string {
	t.Helper()
	blobs := &heldBlobs{}
	digests, _ := blobs.with(t, pixels)
	var body map[string]json.RawMessage
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
	})
	request := question()
	request.System = nil
	change(&request)
	for _, message := range request.Messages {
		for i := range message.Parts {
			if message.Parts[i].Type == session.PartMedia {
				message.Parts[i].Blob = digests[0]
			}
		}
	}
	if _, err := streamed(t, codecOf(t, id, client, blobs), request); err == nil || body == nil {
		t.Fatalf("%v, body %s", err, body)
	}
	return string(body[field])
}

// eventsFrom is what a codec makes of a streamed answer.
func eventsFrom(t *testing.T, id string, frames ...string) ([]string, error) {
	t.Helper()
	client := connect(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range frames {
			_, _ = io.WriteString(w, frame+"\n\n")
		}
	})
	return streamed(t, codecOf(t, id, client, nil), question())
}

// failureOf is what a codec makes of an answer that is not 2xx.
func failureOf(t *testing.T, id string, status int, header http.Header, body string) *session.ProviderError {
	t.Helper()
	client := connect(t, func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	_, err := streamed(t, codecOf(t, id, client, nil), question())
	var failure *session.ProviderError
	if !errors.As(err, &failure) {
		t.Fatalf("%s, %d: %v", id, status, err)
	}
	return failure
}

func say(role session.Role, text string) session.ModelMessage {
	return session.ModelMessage{ID: string(role), Role: role, Parts: []session.ModelPart{{Type: session.PartText, Text: text}}}
}

// ends are what a whole answer of each protocol ends with.
var ends = map[string]string{
	"openai": `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "gemini": `data: {"candidates":[{"finishReason":"STOP"}]}`,
	"openai-responses": `data: {"type":"response.completed","response":{"status":"completed"}}`,
}

// The numbered cases of the protocols, with the committed codecs over a real connection.
func TestProviderCases(t *testing.T) {
	sessiontest.Cases(t, "L", []sessiontest.Case{
		{Number: 290, Text: "A change of the system context behind \"Hi\" is sent to protocols without a place for it in that very message of the user, wrapped and escaped.", Run: changesJoinTheUser},
		{Number: 293, Text: "Parallel results with pictures are sent in Chat Completions as the messages of the tools first, then one message of the user with all pictures.", Run: picturesFollowTheResults},
		{Number: 295, Text: "A search that Responses ran itself is a hosted call with its result; nothing of it is run here.", Run: hostedSearch},
		{Number: 298, Text: "Marks for caches of other protocols leave the request to OpenAI and Gemini as it is.", Run: marksOfOthers},
		{Number: 299, Text: "Arguments in several chunks are one call once the finish reason came; without it there is neither a call nor a finish.",
			Ours: "The answer that was cut is a retryable failure (incomplete), not an end.", Run: argumentsInPieces},
		{Number: 301, Text: "[DONE], empty data and comments say nothing; an event that is no JSON is a protocol failure.", Run: noiseAndGarbage},
		{Number: 304, Text: "429 with words of a quota is not tried again; 429 and every 5xx are, after the wait that the server asks for; 400, 401 and 404 are not.",
			Ours: "The number of attempts and the longest wait are configured (runner.retry_attempts, runner.retry_max_wait_ms).", Run: whatIsTriedAgain},
		{Number: 305, Text: "400 with words of the window is context_overflow; 413 with a body that says nothing of it is invalid_request.", Run: overflowByWords},
		{Number: 307, Text: "What a failure says never has the provider's key, also where the answer repeats it; a long body is not told.", Run: keysAreNotTold},
		{Number: 310, Text: "What a tool failed with, an object too, is told as its JSON text in every protocol.", Run: failuresAreText},
	})
}

func changesJoinTheUser(t *testing.T) {
	const wrapped = `<system-update>\na \u0026lt; b\n</system-update>`
	for id, want := range map[string]string{
		"openai":           `[{"role":"user","content":"Hi\n@"}]`,
		"openai-responses": `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"},{"type":"input_text","text":"@"}]}]`,
		"gemini":           `[{"role":"user","parts":[{"text":"Hi"},{"text":"@"}]}]`,
	} {
		field := map[string]string{"openai": "messages", "openai-responses": "input", "gemini": "contents"}[id]
		got := encodedField(t, id, field, func(r *session.ModelRequest) {
			r.Messages = []session.ModelMessage{say(session.RoleUser, "Hi"), say(session.RoleSystem, "a < b")}
		})
		want = strings.ReplaceAll(want, "@", strings.ReplaceAll(wrapped, `\u0026`, "&"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

func picturesFollowTheResults(t *testing.T) {
	var roles []string
	var shown int
	raw := encodedField(t, "openai", "messages", func(r *session.ModelRequest) {
		call := func(id string) session.ModelPart {
			return session.ModelPart{Type: session.PartToolCall, Call: id, Name: "read", Input: json.RawMessage("{}")}
		}
		result := func(id string) session.ModelPart {
			return session.ModelPart{Type: session.PartToolResult, Call: id, Name: "read", Text: "seen " + id}
		}
		picture := func(id string) session.ModelPart {
			return session.ModelPart{Type: session.PartMedia, Call: id, Mime: "image/png", Name: id + ".png"}
		}
		r.Messages = []session.ModelMessage{say(session.RoleUser, "Hi"), {Role: session.RoleAssistant, Parts: []session.ModelPart{call("a"), call("b")}},
			{Role: session.RoleTool, Parts: []session.ModelPart{result("a"), picture("a"), result("b"), picture("b")}}}
	})
	var messages []struct {
		Role    string
		Content json.RawMessage
	}
	if err := json.Unmarshal([]byte(raw), &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		roles = append(roles, m.Role)
		shown += strings.Count(string(m.Content), "data:image/png;base64,"+base64.StdEncoding.EncodeToString([]byte(pixels)))
	}
	if diff := cmp.Diff([]string{"user", "assistant", "tool", "tool", "user"}, roles); diff != "" || shown != 2 {
		t.Errorf("%d pictures %s", shown, diff)
	}
}

func hostedSearch(t *testing.T) {
	const item = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"go"}}`
	events, err := eventsFrom(t, "openai-responses", `data: {"type":"response.output_item.done","output_index":0,"item":`+item+`}`, ends["openai-responses"])
	want := []string{`tool.start ws_1 web_search hosted`, `tool.delta ws_1 "{\"type\":\"search\",\"query\":\"go\"}"`, `tool.end ws_1 ~{"item":"ws_1"}`, `tool.result ws_1 =` + item, `finish stop`}
	if diff := cmp.Diff(want, events); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func marksOfOthers(t *testing.T) {
	for id, field := range map[string]string{"openai": "messages", "openai-responses": "input", "gemini": "contents"} {
		plain := encodedField(t, id, field, func(*session.ModelRequest) {})
		marked := encodedField(t, id, field, func(r *session.ModelRequest) {
			r.Options = map[string]json.RawMessage{"anthropic": json.RawMessage(`{"cache":{"system":true}}`), "bedrock": json.RawMessage(`{"cache":{"system":true}}`)}
		})
		if plain == "" || plain != marked {
			t.Errorf("%s: %s and %s", id, plain, marked)
		}
	}
}

func argumentsInPieces(t *testing.T) {
	pieces := []string{`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}]}}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}`}
	events, err := eventsFrom(t, "openai", append(pieces, ends["openai"])...)
	want := []string{`tool.start a read`, `tool.delta a "{\"p\""`, `tool.delta a ":1}"`, `tool.end a`, `finish tool_calls`}
	if diff := cmp.Diff(want, events); diff != "" || err != nil {
		t.Error(err, diff)
	}
	events, err = eventsFrom(t, "openai", pieces...)
	var failure *session.ProviderError
	if diff := cmp.Diff(want[:3], events); diff != "" || !errors.As(err, &failure) || failure.Class != session.ProviderIncomplete || !failure.Retryable {
		t.Error(err, diff)
	}
}

func noiseAndGarbage(t *testing.T) {
	for id, end := range ends {
		events, err := eventsFrom(t, id, ": a comment", "data:", "data: ", "event: x", end, "data: [DONE]")
		if diff := cmp.Diff([]string{"finish stop"}, events); diff != "" || err != nil {
			t.Errorf("%s: %v %s", id, err, diff)
		}
		_, err = eventsFrom(t, id, `data: {"choices":[`, end)
		var failure *session.ProviderError
		if !errors.As(err, &failure) || failure.Class != session.ProviderProtocol || failure.Retryable {
			t.Errorf("%s: garbage is %v", id, err)
		}
	}
}

func whatIsTriedAgain(t *testing.T) {
	const quota = `{"error":{"message":"You exceeded your current quota"}}`
	for id := range ends {
		for _, c := range []struct {
			status int
			body   string
			class  string
			again  bool
		}{
			{429, quota, "quota", false}, {429, `{}`, "rate_limit", true}, {500, `{}`, "internal", true}, {503, `{}`, "overloaded", true}, {529, `{}`, "overloaded", true},
			{400, `{}`, "invalid_request", false}, {401, `{}`, "authentication", false}, {404, `{}`, "invalid_request", false},
		} {
			got := failureOf(t, id, c.status, http.Header{"Retry-After": {"7"}}, c.body)
			if string(got.Class) != c.class || got.Retryable != c.again || got.RetryAfter.Seconds() != 7 {
				t.Errorf("%s, %d %s: %+v", id, c.status, c.body, got)
			}
		}
	}
}

func overflowByWords(t *testing.T) {
	for id := range ends {
		if got := failureOf(t, id, 400, nil, `{"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)"}}`); got.Class != session.ProviderContextOverflow {
			t.Errorf("%s: %+v", id, got)
		}
		if got := failureOf(t, id, 413, nil, `{"error":{"message":"no"}}`); got.Class != session.ProviderInvalidRequest {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func failuresAreText(t *testing.T) {
	for id, field := range map[string]string{"openai": "messages", "openai-responses": "input", "gemini": "contents"} {
		got := encodedField(t, id, field, func(r *session.ModelRequest) {
			r.Messages = append(r.Messages, session.ModelMessage{Role: session.RoleAssistant, Parts: []session.ModelPart{{Type: session.PartToolCall, Call: "c", Name: "read"}}},
				session.ModelMessage{Role: session.RoleTool, Parts: []session.ModelPart{{Type: session.PartToolResult, Call: "c", Name: "read", Error: true, Text: `{"error":{"code":7}}`}}})
		})
		if !strings.Contains(got, `"{\"error\":{\"code\":7}}"`) {
			t.Errorf("%s: %s", id, got)
		}
	}
}

func keysAreNotTold(t *testing.T) {
	const key = "sk-0123456789abcdef"
	for id := range ends {
		for _, more := range []string{"", strings.Repeat("x", 20_000)} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"wrong: `+r.Header.Get("Authorization")+more+`"}}`)
			}))
			defer server.Close()
			client, err := egress.New(egress.Options{BaseURL: server.URL, Auth: egress.Auth{Kind: "header", Name: "Authorization", Value: "Bearer {secret}"},
				Secret: func(context.Context) (secret.Value, error) { return secret.NewValue(key), nil }, Scrubber: &secret.Scrubber{}})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, err = streamed(t, codecOf(t, id, client, nil), question())
			if err == nil || strings.Contains(err.Error(), key) || len(err.Error()) > 700 || more == "" && !strings.Contains(err.Error(), "wrong: ") {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}
