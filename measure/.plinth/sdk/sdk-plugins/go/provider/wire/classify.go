package wire

import (
	"strconv"
	"strings"
	"time"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// Classify explains a response whose status is not 2xx by the words of its body and its
// status, as most providers use them.
func Classify(response abi.ProviderClassify) abi.ProviderError {
	out := abi.ProviderError{
		Message:      describe(response),
		RetryAfterMS: retryAfter(response.Headers),
	}
	out.Classification, out.Retryable = classify(response.Status, strings.ToLower(response.Body))
	return out
}

// classify looks at what the body says before the status where servers use one
// status for several things.
func classify(status int, body string) (class string, retryable bool) {
	switch {
	case mentionsContentPolicy(body):
		return abi.ClassContentPolicy, false
	case status == 401, status == 403:
		return abi.ClassAuthentication, false
	case status == 429 && mentionsQuota(body):
		return abi.ClassQuota, false
	case status == 429:
		return abi.ClassRateLimit, true
	case status == 400, status == 404, status == 409, status == 413, status == 422:
		if mentionsOverflow(body) || (status == 400 || status == 413) && strings.TrimSpace(body) == "" {
			return abi.ClassContextOverflow, false
		}
		return abi.ClassInvalidRequest, false
	case status == 503, status == 529:
		return abi.ClassOverloaded, true
	case status >= 500:
		return abi.ClassInternal, true
	}
	return abi.ClassUnknown, false
}

// describe says what the provider said: its error's text, or a body short enough
// to be read.
func describe(response abi.ProviderClassify) string {
	text := "the provider answered HTTP " + strconv.Itoa(response.Status)
	detail := strings.TrimSpace(response.Body)
	if f := bodyFailure(detail); f != nil {
		detail = f.text()
	} else if len(detail) > 500 {
		detail = ""
	}
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// bodyFailure finds the error object of a body, nil when there is none.
func bodyFailure(body string) (f *Failure) {
	if !strings.HasPrefix(body, "{") {
		return nil
	}
	r := jsonscan.NewReader([]byte(body))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		if key == "error" {
			f = ReadFailure(&r)
		} else {
			r.Skip()
		}
	}
	if !r.End() || f == nil || *f == (Failure{}) {
		return nil
	}
	return f
}

// retryAfter is how long the provider asks to wait, in milliseconds, 0 when it does
// not say. A date is measured against the response's own.
func retryAfter(headers map[string]string) int64 {
	if ms, err := strconv.ParseFloat(header(headers, "retry-after-ms"), 64); err == nil && ms > 0 && ms < maxWaitMS {
		return int64(ms)
	}
	value := header(headers, "retry-after")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds > 0 && seconds*1000 < maxWaitMS {
			return int64(seconds * 1000)
		}
		return 0
	}
	then, err := time.Parse(httpTime, value)
	if err != nil {
		return 0
	}
	now, err := time.Parse(httpTime, header(headers, "date"))
	if err != nil || !then.After(now) {
		return 0
	}
	return then.Sub(now).Milliseconds()
}

// maxWaitMS is a day: what asks for more is a mistake.
const maxWaitMS = 24 * 60 * 60 * 1000

// httpTime is how HTTP writes an instant.
const httpTime = "Mon, 02 Jan 2006 15:04:05 GMT"

func header(headers map[string]string, name string) string {
	for key, value := range headers {
		if strings.EqualFold(key, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
