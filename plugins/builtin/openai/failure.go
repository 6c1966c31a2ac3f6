package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// failure is the error object of the protocol, in a stream or in a response.
type failure struct {
	message string
	kind    string // "type"
	code    string
}

// readFailure reads an error; nil for null. Some servers send just a text.
func readFailure(r *jsonscan.Reader) *failure {
	switch r.Kind() {
	case 'n':
		r.Skip()
		return nil
	case '"':
		return &failure{message: r.String()}
	}
	f := &failure{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return f
		}
		switch key {
		case "message":
			f.message = readAny(r)
		case "type":
			f.kind = readAny(r)
		case "code":
			f.code = readAny(r)
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

// explain classifies an error that came in the place of an answer.
func (f *failure) explain() abi.ProviderError {
	words := strings.ToLower(f.code + " " + f.kind + " " + f.message)
	out := abi.ProviderError{Classification: abi.ClassUnknown, Message: f.text()}
	switch {
	case mentionsContentPolicy(words):
		out.Classification = abi.ClassContentPolicy
	case mentionsOverflow(words):
		out.Classification = abi.ClassContextOverflow
	case mentionsQuota(words):
		out.Classification = abi.ClassQuota
	case f.code == "401", strings.Contains(words, "invalid_api_key"), strings.Contains(words, "authentication"):
		out.Classification = abi.ClassAuthentication
	case f.code == "429", strings.Contains(words, "rate_limit"), strings.Contains(words, "rate limit"), strings.Contains(words, "too many requests"):
		out.Classification, out.Retryable = abi.ClassRateLimit, true
	case f.code == "503", strings.Contains(words, "overloaded"), strings.Contains(words, "unavailable"):
		out.Classification, out.Retryable = abi.ClassOverloaded, true
	case f.code == "500", f.code == "502", strings.Contains(words, "server_error"), strings.Contains(words, "internal"):
		out.Classification, out.Retryable = abi.ClassInternal, true
	case f.code == "400", strings.Contains(words, "invalid_request"):
		out.Classification = abi.ClassInvalidRequest
	}
	return out
}

func (f *failure) text() string {
	name := f.code
	if name == "" {
		name = f.kind
	}
	switch {
	case f.message == "" && name == "":
		return "the provider sent an error without a text"
	case f.message == "":
		return "the provider sent the error " + name
	case name == "":
		return clip(f.message)
	}
	return name + ": " + clip(f.message)
}

// clip bounds a text that goes into an error.
func clip(text string) string {
	const longest = 500
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
