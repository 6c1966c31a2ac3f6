package wire

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		status    int
		body      string
		class     string
		retryable bool
	}{
		{401, `{"error":{"message":"bad key"}}`, abi.ClassAuthentication, false},
		{403, ``, abi.ClassAuthentication, false},
		{429, `slow down`, abi.ClassRateLimit, true},
		{429, `You exceeded your current quota`, abi.ClassQuota, false},
		{400, `This model's maximum context length is 8,192 tokens`, abi.ClassContextOverflow, false},
		{400, `unknown parameter`, abi.ClassInvalidRequest, false},
		{400, `rate limit: prompt is too long`, abi.ClassInvalidRequest, false},
		{400, ``, abi.ClassContextOverflow, false},
		{413, ``, abi.ClassContextOverflow, false},
		{413, `too big`, abi.ClassInvalidRequest, false},
		{404, ``, abi.ClassInvalidRequest, false},
		{409, `conflict`, abi.ClassInvalidRequest, false},
		{422, `input token count 9 exceeds the maximum`, abi.ClassContextOverflow, false},
		{400, `flagged by content_policy`, abi.ClassContentPolicy, false},
		{500, `content filter? content_filter`, abi.ClassContentPolicy, false},
		{500, ``, abi.ClassInternal, true},
		{502, ``, abi.ClassInternal, true},
		{503, ``, abi.ClassOverloaded, true},
		{529, ``, abi.ClassOverloaded, true},
		{302, ``, abi.ClassUnknown, false},
	} {
		got := Classify(abi.ProviderClassify{Status: c.status, Body: c.body})
		if got.Classification != c.class || got.Retryable != c.retryable {
			t.Errorf("%d %q: %s, retryable %v; want %s, %v", c.status, c.body, got.Classification, got.Retryable, c.class, c.retryable)
		}
	}
}

func TestOverflowTexts(t *testing.T) {
	for _, text := range []string{
		"prompt is too long: 210000 tokens > 200000", "maximum prompt length is 131072", "please reduce the length of the messages",
		"exceeds the limit of 128000", "context length is only 4096 tokens", "input length 5 exceeds the context length", "too large for model with 8192 maximum context length",
		"prompt has 9000 tokens, but the configured context size is 8192", "exceeds the model's maximum context length (8192)", "this exceeds maximum context length of 4,096",
	} {
		if !mentionsOverflow(text) {
			t.Errorf("%q is not told as an overflow", text)
		}
	}
	for _, text := range []string{
		"", "maximum context length is unknown tokens", "exceeds the limit of your plan", "context length exceeds input length",
		"too many requests: too many tokens", "throttling error: too many tokens", "prompt has tokens, but the configured context size is 8192",
	} {
		if mentionsOverflow(text) {
			t.Errorf("%q is told as an overflow", text)
		}
	}
}

func TestMessagesSayWhatTheProviderSaid(t *testing.T) {
	for body, want := range map[string]string{
		``: "the provider answered HTTP 400",
		`{"error":{"message":"No such model","code":"model_not_found"}}`: "the provider answered HTTP 400: model_not_found: No such model",
		`{"error":{}}`:           `the provider answered HTTP 400: {"error":{}}`,
		` plain `:                "the provider answered HTTP 400: plain",
		`{"error":`:              `the provider answered HTTP 400: {"error":`,
		strings.Repeat("x", 501): "the provider answered HTTP 400",
		`{"error":{"message":"` + strings.Repeat("é", 300) + `"}}`: "the provider answered HTTP 400: " + strings.Repeat("é", 250) + "…",
	} {
		if got := Classify(abi.ProviderClassify{Status: 400, Body: body}).Message; got != want {
			t.Errorf("%s:\n got %q\nwant %q", body, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		headers map[string]string
		want    int64
	}{
		{nil, 0},
		{map[string]string{"Retry-After": "1.5"}, 1500},
		{map[string]string{"retry-after": "3", "retry-after-ms": "250"}, 250},
		{map[string]string{"retry-after": "-3"}, 0},
		{map[string]string{"retry-after": "1e12"}, 0},
		{map[string]string{"retry-after": "soon"}, 0},
		{map[string]string{"retry-after": "Sat, 21 Nov 2026 10:00:20 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 20_000},
		{map[string]string{"retry-after": "Sat, 21 Nov 2026 10:00:20 GMT"}, 0},
	} {
		if got := retryAfter(c.headers); got != c.want {
			t.Errorf("%v: %d, want %d", c.headers, got, c.want)
		}
	}
}
