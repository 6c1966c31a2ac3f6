package wire

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// Failure is the error object of a protocol, in a stream or in a response.
type Failure struct {
	Message string
	Kind    string // "type", or "status"
	Code    string
}

// ReadFailure reads an error; nil for null. Some servers send just a text.
func ReadFailure(r *jsonscan.Reader) *Failure {
	switch r.Kind() {
	case 'n':
		r.Skip()
		return nil
	case '"':
		return &Failure{Message: r.String()}
	}
	f := &Failure{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return f
		}
		switch key {
		case "message":
			f.Message = readAny(r)
		case "type":
			f.Kind = readAny(r)
		case "status":
			if status := readAny(r); f.Kind == "" {
				f.Kind = status
			}
		case "code":
			f.Code = readAny(r)
		default:
			r.Skip()
		}
	}
}

// readAny reads a text, or the JSON of what is none: codes are numbers at times.
func readAny(r *jsonscan.Reader) string {
	switch r.Kind() {
	case '"':
		return r.String()
	case 'n':
		r.Skip()
		return ""
	}
	return string(r.Raw())
}

// Explain classifies an error that came in the place of an answer.
func (f *Failure) Explain() abi.ProviderError {
	words := strings.ToLower(f.Code + " " + f.Kind + " " + f.Message)
	out := abi.ProviderError{Classification: abi.ClassUnknown, Message: f.text()}
	switch {
	case mentionsContentPolicy(words):
		out.Classification = abi.ClassContentPolicy
	case mentionsOverflow(words):
		out.Classification = abi.ClassContextOverflow
	case mentionsQuota(words):
		out.Classification = abi.ClassQuota
	case f.Code == "401", strings.Contains(words, "invalid_api_key"), strings.Contains(words, "authentication"):
		out.Classification = abi.ClassAuthentication
	case f.Code == "429", strings.Contains(words, "rate_limit"), strings.Contains(words, "rate limit"), strings.Contains(words, "too many requests"):
		out.Classification, out.Retryable = abi.ClassRateLimit, true
	case f.Code == "503", strings.Contains(words, "overloaded"), strings.Contains(words, "unavailable"):
		out.Classification, out.Retryable = abi.ClassOverloaded, true
	case f.Code == "500", f.Code == "502", strings.Contains(words, "server_error"), strings.Contains(words, "internal"):
		out.Classification, out.Retryable = abi.ClassInternal, true
	case f.Code == "400", strings.Contains(words, "invalid_request"):
		out.Classification = abi.ClassInvalidRequest
	}
	return out
}

func (f *Failure) text() string {
	name := f.Code
	if name == "" {
		name = f.Kind
	}
	switch {
	case f.Message == "" && name == "":
		return "the provider sent an error without a text"
	case f.Message == "":
		return "the provider sent the error " + name
	case name == "":
		return Clip(f.Message)
	}
	return name + ": " + Clip(f.Message)
}

// Clip bounds a text that goes into an error.
func Clip(text string) string {
	const longest = 500
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
