package bridge

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/session"
)

// connect opens a connection to a server that answers by the handler.
func connect(t *testing.T, handler http.HandlerFunc) *egress.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, server.URL+"/v1")
}

func open(t *testing.T, base string) *egress.Client {
	t.Helper()
	client, err := egress.New(egress.Options{BaseURL: base})
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

// streamed consumes a whole stream; it must be over after its terminal event.
func streamed(t *testing.T, provider *Provider, request session.ModelRequest) (events []string, failed error) {
	t.Helper()
	for event, err := range provider.Stream(t.Context(), request) {
		if failed != nil {
			t.Errorf("%v after the error %v", event, failed)
		}
		if failed = err; err == nil {
			events = append(events, eventText(event))
		}
	}
	return events, failed
}

func question() session.ModelRequest {
	return session.ModelRequest{
		Purpose: session.PurposeTurn, Model: session.ModelRef{Provider: "local", Model: "m1"}, ToolChoice: "auto", CacheKey: "ses_1",
		System:   []session.TextPart{{ID: "s", Text: "Be kind."}},
		Messages: []session.ModelMessage{{ID: "m", Role: session.RoleUser, Parts: []session.ModelPart{{ID: "p", Type: session.PartText, Text: "Hello?"}}}},
		Headers:  map[string]string{"X-Team": "blue"},
	}
}

// A whole turn through the committed core/openai and a real connection.
func TestAnAnswerFromAServer(t *testing.T) {
	var got *http.Request
	var body []byte
	text := transcript(t, "openai", "text")
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	})
	events, err := streamed(t, NewProvider(openai(t), "openai", "sse", client, nil), question())
	if diff := cmp.Diff(recorded(t, "openai", "text").events, events); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got.Method != "POST" || got.URL.Path != "/v1/chat/completions" || got.Header.Get("X-Team") != "blue" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
	var sent struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &sent); err != nil || sent.Model != "m1" || !sent.Stream || len(sent.Messages) != 2 ||
		sent.Messages[0].Content != "Be kind." || sent.Messages[1].Content != "Hello?" {
		t.Errorf("%s, %v", body, err)
	}
}

// All that a request has to say reaches the server, and what the operator set wins over
// what the codec has of its own. That no tool may be called leaves the tools in it.
func TestAllOfARequestReachesTheServer(t *testing.T) {
	var header http.Header
	var body map[string]json.RawMessage
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
	})
	request := question()
	request.ToolChoice = "none"
	request.Tools = []session.ToolDefinition{{Name: "look", Description: "Looks.", Input: json.RawMessage(`{"type":"object"}`)}}
	request.Generation = session.Generation{MaxTokens: new(int64(7)), Temperature: new(0.5), TopP: new(0.9), Seed: new(int64(-3)), Stop: []string{"end"}}
	request.Options = map[string]json.RawMessage{"openai": json.RawMessage(`{"store":false,"reasoning_effort":"low"}`)}
	request.Headers = map[string]string{"X-Team": "blue", "ACCEPT": "text/event-stream;q=1"}
	if _, err := streamed(t, NewProvider(openai(t), "openai", "sse", client, nil), request); err == nil || header == nil {
		t.Fatalf("%v, headers %v", err, header)
	}
	want := map[string]string{
		"tool_choice": `"none"`, "tools": `[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}]`,
		"max_tokens": `7`, "temperature": `0.5`, "top_p": `0.9`, "seed": `-3`, "stop": `["end"]`, "store": `false`, "reasoning_effort": `"low"`,
	}
	got := map[string]string{}
	for name := range want {
		got[name] = string(body[name])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, value := range map[string]string{"X-Team": "blue", "Accept": "text/event-stream;q=1", "Content-Type": "application/json"} {
		if diff := cmp.Diff([]string{value}, header.Values(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// awsMessage is a message of an AWS event stream with one header.
func awsMessage(event, payload string) []byte {
	header := append([]byte("\x0b:event-type\x07\x00"), byte(len(event)))
	header = append(header, event...)
	all := binary.BigEndian.AppendUint32(nil, uint32(16+len(header)+len(payload)))
	all = binary.BigEndian.AppendUint32(all, uint32(len(header)))
	all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
	all = append(append(all, header...), payload...)
	return binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
}

// The same turn with its frames in an AWS event stream, behind a signature.
func TestAnAnswerInAnEventStream(t *testing.T) {
	var got *http.Request
	var body []byte
	for frame, err := range egress.Frames(t.Context(), io.NopCloser(strings.NewReader(transcript(t, "openai", "text"))), "sse") {
		if err != nil {
			t.Fatal(err)
		}
		body = append(body, awsMessage("chunk", frame.Data)...)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = w.Write(body)
	}))
	defer server.Close()
	auth, err := AuthOf(abi.ManifestAuth{Kind: "sigv4", Name: "bedrock"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := egress.New(egress.Options{BaseURL: server.URL + "/v1", Auth: auth, Region: "eu-central-1",
		Secret: func(context.Context) (secret.Value, error) {
			return secret.NewValue("AKIDEXAMPLE:a-secret-access-key"), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	events, err := streamed(t, NewProvider(openai(t), "openai", "aws-eventstream", client, nil), question())
	if diff := cmp.Diff(recorded(t, "openai", "text").events, events); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if signed := got.Header.Get("Authorization"); !strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(signed, "/eu-central-1/bedrock/aws4_request") {
		t.Error(signed)
	}
}

func TestErrorResponsesAreClassified(t *testing.T) {
	tests := []struct {
		status  int
		headers map[string]string
		body    string
		want    session.ProviderError
	}{
		{401, nil, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`, session.ProviderError{Class: session.ProviderAuthentication}},
		{429, map[string]string{"Retry-After": "2"}, `{"error":{"message":"slow down","type":"requests"}}`,
			session.ProviderError{Class: session.ProviderRateLimit, Retryable: true, RetryAfter: 2 * time.Second}},
		{503, nil, "no JSON \xff", session.ProviderError{Class: session.ProviderOverloaded, Retryable: true}},
		{400, nil, strings.Repeat("x", 3*maxErrorBody), session.ProviderError{Class: session.ProviderInvalidRequest}},
		{302, map[string]string{"Location": "https://elsewhere.example/"}, "", session.ProviderError{Class: session.ProviderUnknown}},
	}
	plugin := openai(t)
	for _, test := range tests {
		client := connect(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range test.headers {
				w.Header().Set(name, value)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		events, err := streamed(t, NewProvider(plugin, "openai", "sse", client, nil), question())
		failed, _ := errors.AsType[*session.ProviderError](err)
		test.want.Status = test.status
		if events != nil || failed == nil {
			t.Errorf("%d: %v, %v", test.status, events, err)
		} else if diff := cmp.Diff(test.want, *failed, cmpopts.IgnoreFields(session.ProviderError{}, "Message")); diff != "" || failed.Message == "" {
			t.Errorf("%d: %q %s", test.status, failed.Message, diff)
		}
	}
}

// codec is a guest whose encode answers a request, and whose other entries break.
func codec(t *testing.T, encode string) *Plugin {
	t.Helper()
	guest := bridgetest.New().Answers(abi.ExportProviderEncode, encode).Traps(abi.ExportProviderDecode).Traps(abi.ExportProviderClassify)
	plugin, _ := loadGuest(t, guest, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	return plugin
}

func TestStreamsThatFailEndWithTheReason(t *testing.T) {
	const fine = `{"ok":{"method":"POST","path":"chat"}}`
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "data: x\n\n")
		}
	}
	tests := []struct {
		name, encode, framing string
		handler               http.HandlerFunc // nil: nobody listens
		class, says           string
		retryable             bool
	}{
		{"nobody listens", fine, "sse", nil, session.ProviderTransport, "127.0.0.1:1", true},
		{"encode refuses", `{"error":{"kind":"invalid_input","message":"no images, please"}}`, "sse", status(200), session.ProviderProtocol, "The provider's plugin cannot handle this: no images, please", false},
		{"encode answers nonsense", `{"ok":[]}`, "sse", status(200), session.ProviderProtocol, "The provider's plugin broke: plugin acme/test: the answer of plinth_provider_encode cannot be read", false},
		{"encode leaves the base URL", `{"ok":{"method":"POST","path":"../../admin"}}`, "sse", status(200), session.ProviderInvalidRequest, "", false},
		{"encode sets a header of the connection", `{"ok":{"method":"POST","path":"chat","headers":{"Host":"evil.example"}}}`, "sse", status(200), session.ProviderInvalidRequest, "Host", false},
		{"encode takes another method", `{"ok":{"method":"CONNECT","path":"chat"}}`, "sse", status(200), session.ProviderInvalidRequest, "CONNECT", false},
		{"decode breaks", fine, "sse", status(200), session.ProviderProtocol, "trap in plinth_provider_decode", false},
		{"classify breaks", fine, "sse", status(500), session.ProviderProtocol, "trap in plinth_provider_classify", false},
		{"an unknown framing", fine, "xml", status(200), session.ProviderInvalidRequest, `there is no framing "xml"`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var client *egress.Client
			if test.handler == nil {
				client = open(t, "http://127.0.0.1:1/v1")
			} else {
				client = connect(t, test.handler)
			}
			events, err := streamed(t, NewProvider(codec(t, test.encode), "codec", test.framing, client, nil), question())
			failed, _ := errors.AsType[*session.ProviderError](err)
			if events != nil || failed == nil || failed.Class != test.class || failed.Retryable != test.retryable || !strings.Contains(failed.Message, test.says) {
				t.Errorf("%v, %#v", events, err)
			}
		})
	}
}

// What goes wrong on the network is sorted by what a retry would help.
func TestNetworkErrors(t *testing.T) {
	for _, test := range []struct {
		err       egress.Error
		class     string
		retryable bool
	}{
		{egress.Error{Kind: egress.KindRefused}, session.ProviderTransport, true},
		{egress.Error{Kind: egress.KindDNS}, session.ProviderTransport, true},
		{egress.Error{Kind: egress.KindTimeoutIdle}, session.ProviderTransport, true},
		{egress.Error{Kind: egress.KindProxy}, session.ProviderTransport, true},
		{egress.Error{Kind: egress.KindTLS}, session.ProviderTransport, false},
		{egress.Error{Kind: egress.KindPolicy}, session.ProviderInvalidRequest, false},
		{egress.Error{Kind: egress.KindLimit, Limit: "request_body"}, session.ProviderInvalidRequest, false},
		{egress.Error{Kind: egress.KindLimit, Limit: egress.LimitRequests, RetryAfter: time.Second}, session.ProviderRateLimit, true},
		{egress.Error{Kind: egress.KindLimit, Limit: egress.LimitConnections}, session.ProviderRateLimit, true},
		{egress.Error{Kind: egress.KindTooLarge, Limit: "response_body"}, session.ProviderProtocol, false},
		{egress.Error{Kind: egress.KindSecret}, session.ProviderAuthentication, false},
	} {
		test.err.Text = "it says"
		want := &session.ProviderError{Class: test.class, Message: "it says", Retryable: test.retryable, RetryAfter: test.err.RetryAfter}
		if diff := cmp.Diff(error(want), providerError(fmt.Errorf("call: %w", &test.err))); diff != "" {
			t.Errorf("%s %s: %s", test.err.Kind, test.err.Limit, diff)
		}
	}
}

// Leaving the loop ends the request: the server sees its client go.
func TestLeavingEndsTheRequest(t *testing.T) {
	gone := make(chan struct{})
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for event, err := range NewProvider(openai(t), "openai", "sse", client, nil).Stream(t.Context(), question()) {
		if err != nil || event.Text != "a" {
			t.Errorf("%v, %v", event, err)
		}
		break
	}
	<-gone
}

func TestCancellingEndsTheStream(t *testing.T) {
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for _, err := range NewProvider(openai(t), "openai", "sse", client, nil).Stream(ctx, question()) {
		cancel(session.ErrInterrupted)
		last = err
	}
	if !errors.Is(last, session.ErrInterrupted) {
		t.Errorf("%v", last)
	}
}

func TestAuthOfAManifest(t *testing.T) {
	tests := []struct {
		auth abi.ManifestAuth
		want egress.Auth
		says string
	}{
		{abi.ManifestAuth{}, egress.Auth{}, ""},
		{abi.ManifestAuth{Kind: "header", Name: "Authorization", Value: "Bearer {secret}"}, egress.Auth{Kind: "header", Name: "Authorization", Value: "Bearer {secret}"}, ""},
		{abi.ManifestAuth{Kind: "query", Name: "key"}, egress.Auth{Kind: "query", Name: "key"}, ""},
		{abi.ManifestAuth{Kind: "sigv4", Name: "bedrock"}, egress.Auth{Kind: "sigv4", Name: "bedrock"}, ""},
		{abi.ManifestAuth{Kind: "oauth2"}, egress.Auth{Kind: "oauth2"}, ""},
		{abi.ManifestAuth{Kind: "basic"}, egress.Auth{}, `there is no auth kind "basic"; use header, query, sigv4 or oauth2`},
		{abi.ManifestAuth{Kind: "sigv4"}, egress.Auth{}, "auth kind sigv4 needs a name, that of the AWS service, like bedrock"},
		{abi.ManifestAuth{Kind: "header", Name: "Host"}, egress.Auth{}, `the header "Host" is the host's to set`},
		{abi.ManifestAuth{Kind: "header"}, egress.Auth{}, "auth kind header needs a name, that of the header the secret goes into"},
		{abi.ManifestAuth{Kind: "query", Name: "key", Value: "secret"}, egress.Auth{}, "the value of auth must have {secret} in it, where the secret goes"},
	}
	for _, test := range tests {
		got, err := AuthOf(test.auth)
		if got != test.want || test.says == "" && err != nil || test.says != "" && (err == nil || err.Error() != test.says) {
			t.Errorf("%+v: %+v, %v", test.auth, got, err)
		}
	}
}
