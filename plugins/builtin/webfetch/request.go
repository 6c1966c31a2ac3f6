package main

import (
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// The names under which pages are asked for. Some servers challenge what looks like
// a browser and let through what says what it is.
const (
	usualAgent = "Mozilla/5.0 (compatible; plinth)"
	plainAgent = "plinth"
)

var accepts = map[string]string{
	formatMarkdown: "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
	formatText:     "text/plain, text/html;q=0.9, */*;q=0.1",
	formatHTML:     "text/html, */*;q=0.1",
}

// request fetches the page; a challenge of Cloudflare is answered once, with the
// plain name.
func (in *input) request() (host.Response, error) {
	response, err := in.get(usualAgent)
	if err == nil && response.Status == 403 && response.Headers["cf-mitigated"] == "challenge" {
		response, err = in.get(plainAgent)
	}
	switch {
	case err != nil && plinth.KindOf(err) == abi.KindTimeout:
		return response, plinth.Errorf(abi.KindTimeout, "%s did not answer within %d s", in.URL, *in.Timeout)
	case err != nil:
		return response, err
	case response.Status == 404 || response.Status == 410:
		return response, plinth.Errorf(abi.KindNotFound, "%s answered %s", in.URL, status(response.Status))
	case response.Status < 200 || response.Status > 299:
		return response, plinth.Errorf(abi.KindUnavailable, "%s answered %s", in.URL, status(response.Status))
	}
	return response, nil
}

func (in *input) get(agent string) (host.Response, error) {
	return host.Fetch(abi.HTTPFetch{URL: in.URL, MaxBytes: maxBody, TimeoutMS: *in.Timeout * 1000,
		Headers: map[string]string{"Accept": accepts[in.Format], "Accept-Language": "en;q=0.9, *;q=0.5", "User-Agent": agent}}, nil)
}

// reasons are what the usual codes mean.
var reasons = map[int]string{
	304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
	410: "Gone", 429: "Too Many Requests", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}

func status(code int) string { return strings.TrimSpace(fmt.Sprintf("%d %s", code, reasons[code])) }
