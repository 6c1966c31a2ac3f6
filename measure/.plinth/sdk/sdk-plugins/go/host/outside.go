package host

import (
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
)

// Run runs a command line and waits for its end. How the command ended is no error.
func Run(request abi.ProcessRun) (abi.ProcessRan, error) {
	return ask[abi.ProcessRun, abi.ProcessRan](abi.OpProcessRun, request)
}

// Response is what Fetch answers.
type Response struct {
	abi.HTTPFetched
	// Content is the body, unless the host keeps it as a blob.
	Content []byte
}

// Fetch makes an HTTP request with a body of bytes; nil for the request's Text, or no
// body. Whatever the status, the answer is no error.
func Fetch(request abi.HTTPFetch, body []byte) (Response, error) {
	if body != nil {
		request.Body = &abi.Bytes{Length: len(body)}
	}
	fetched, raw, err := Call[abi.HTTPFetch, abi.HTTPFetched](abi.OpHTTPFetch, request, body)
	response := Response{HTTPFetched: fetched}
	if err == nil && fetched.Body != nil {
		if response.Content, err = fetched.Body.Of(raw); err != nil {
			err = fmt.Errorf("read the answer of %s: %w", abi.OpHTTPFetch, err)
		}
	}
	return response, err
}
