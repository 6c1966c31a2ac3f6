package main

import (
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// Classify explains a response whose status is not 2xx. Google says "quota" of the limit
// of a minute too, and then when to come back; a wrong key is a bad request to it.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	out := wire.Classify(response)
	switch {
	case strings.Contains(response.Body, "API_KEY_INVALID"):
		out.Classification, out.Retryable = abi.ClassAuthentication, false
	case response.Status == 429 && !strings.Contains(response.Body, "PerDay"):
		if wait := retryDelay(response.Body); wait > 0 {
			out.Classification, out.Retryable = abi.ClassRateLimit, true
			if out.RetryAfterMS == 0 {
				out.RetryAfterMS = wait
			}
		}
	}
	return out
}

// retryDelay is the time after which an error's details say to come back, like
// "retryDelay": "26.5s", in milliseconds; 0 when they do not.
func retryDelay(body string) int64 {
	_, after, found := strings.Cut(body, `"retryDelay"`)
	if !found {
		return 0
	}
	value, _, found := strings.Cut(strings.TrimLeft(after, ": \t\r\n\""), `s"`)
	if !found {
		return 0
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || seconds < 0 || seconds > 24*60*60 {
		return 0
	}
	return int64(seconds * 1000)
}
