package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// explain classifies an error of the stream: most by their words, the rest by the types
// that the API documents.
func explain(failure *wire.Failure) abi.ProviderError {
	out := failure.Explain()
	if out.Classification != abi.ClassUnknown {
		return out
	}
	switch failure.Kind {
	case "permission_error":
		out.Classification = abi.ClassAuthentication
	case "billing_error":
		out.Classification = abi.ClassQuota
	case "not_found_error":
		out.Classification = abi.ClassInvalidRequest
	case "api_error", "timeout_error":
		out.Classification, out.Retryable = abi.ClassInternal, true
	}
	return out
}

// Classify explains a response whose status is not 2xx.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	out := wire.Classify(response)
	if response.Status == 402 || response.Status == 400 && strings.Contains(strings.ToLower(response.Body), "credit balance is too low") {
		out.Classification, out.Retryable = abi.ClassQuota, false
	}
	return out
}
