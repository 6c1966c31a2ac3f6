package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// isException reports whether an event is an error: exceptions of the protocol are named
// so, and the service's own failures have a code such as InternalError.
func isException(event string) bool {
	return strings.HasSuffix(event, "Exception") || strings.HasSuffix(event, "Error")
}

// exception classifies one that came in the stream, by its name and then by its words.
func exception(name, data string) abi.ProviderError {
	failure := wire.Failure{Kind: name, Message: message(data)}
	out := failure.Explain()
	class, retryable := named(name)
	if class != "" && (class != abi.ClassInvalidRequest || out.Classification == abi.ClassUnknown) {
		out.Classification, out.Retryable = class, retryable
	}
	return out
}

// Classify explains a response whose status is not 2xx. The body has a text only, a
// header has the exception's name.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	name := ""
	for header, value := range response.Headers {
		if strings.EqualFold(header, "x-amzn-errortype") {
			name, _, _ = strings.Cut(value, ":")
		}
	}
	if text := message(response.Body); text != response.Body {
		body := jsonscan.AppendStringField([]byte(`{"error":{`), "type", name)
		response.Body = string(append(jsonscan.AppendStringField(body, "message", text), '}', '}'))
	}
	out := wire.Classify(response)
	if class, retryable := named(name); class != "" && class != abi.ClassInvalidRequest {
		out.Classification, out.Retryable = class, retryable
	}
	return out
}

// named is the class of an exception; "" for one whose name says nothing. Names begin
// with a small letter in streams.
func named(name string) (class string, retryable bool) {
	switch strings.ToLower(name) {
	case "throttlingexception", "toomanyrequestsexception":
		return abi.ClassRateLimit, true
	case "servicequotaexceededexception":
		return abi.ClassQuota, false
	case "serviceunavailableexception", "modelnotreadyexception":
		return abi.ClassOverloaded, true
	case "internalserverexception", "internalfailure", "internalerror", "modelstreamerrorexception", "modeltimeoutexception", "modelerrorexception":
		return abi.ClassInternal, true
	case "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception", "missingauthenticationtokenexception":
		return abi.ClassAuthentication, false
	case "validationexception", "resourcenotfoundexception":
		return abi.ClassInvalidRequest, false
	}
	return "", false
}

// message is the text of an error's body, {"message": "…"}, and the body itself where it
// is none.
func message(body string) (text string) {
	r := jsonscan.NewReader([]byte(body))
	if r.Kind() != '{' {
		return body
	}
	for r.Object(); ; {
		key, ok := r.Next()
		switch {
		case !ok && (!r.End() || text == ""):
			return body
		case !ok:
			return text
		case (key == "message" || key == "Message") && r.Kind() == '"':
			text = r.String()
		default:
			r.Skip()
		}
	}
}
