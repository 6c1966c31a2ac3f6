// Command webfetch is the plugin core/webfetch: the tool webfetch, which shows the
// model a page of the web. The host asks for permission, vets every address on the way
// and bounds what comes; this side makes text of it.
package main

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// The formats. What is no HTML is answered as it is.
const (
	formatMarkdown = "markdown"
	formatText     = "text"
	formatHTML     = "html"
	formatAsIs     = "as-is"
)

const (
	usualTimeout   = 30
	longestTimeout = 120
	maxBody        = 5 << 20
	// maxText bounds the answer, of which the host shows the model much less and keeps
	// the whole in a file.
	maxText = 1 << 20
)

func init() {
	tool.Register("webfetch", fetch)
	plinth.Prepare(func() error { _, err := json.Marshal(result{}); return err })
}

func main() {}

// input is the tool's input. Format is markdown and Timeout usualTimeout when they
// are left out.
type input struct {
	URL     string `json:"url"`
	Format  string `json:"format"`
	Timeout *int64 `json:"timeout_s"`
}

// result is the structured output.
type result struct {
	URL         string `json:"url"` // the last one
	Status      int    `json:"status"`
	ContentType string `json:"content_type"` // as the server says it; empty when it does not
	Format      string `json:"format"`
	Title       string `json:"title,omitempty"`
	Bytes       int64  `json:"bytes"`     // of the page
	Truncated   bool   `json:"truncated"` // the text ends before the page does
}

func fetch(_ tool.Call, in input) (tool.Output, error) {
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	response, err := in.request()
	if err != nil {
		return tool.Output{}, err
	}
	return in.show(response)
}

func (in *input) check() error {
	if in.Format == "" {
		in.Format = formatMarkdown
	}
	if in.Timeout == nil {
		in.Timeout = new(int64)
		*in.Timeout = usualTimeout
	}
	parsed, err := url.Parse(in.URL)
	switch {
	case err != nil || in.URL == "":
		return plinth.Errorf(abi.KindInvalidInput, "url is no URL; give one like https://example.com/page")
	case !strings.EqualFold(parsed.Scheme, "http") && !strings.EqualFold(parsed.Scheme, "https"):
		return plinth.Errorf(abi.KindInvalidInput, "url must begin with http:// or https://")
	case parsed.Host == "":
		return plinth.Errorf(abi.KindInvalidInput, "url names no host")
	case in.Format != formatMarkdown && in.Format != formatText && in.Format != formatHTML:
		return plinth.Errorf(abi.KindInvalidInput, "format is %q; it is markdown, text or html", in.Format)
	case *in.Timeout < 1 || *in.Timeout > longestTimeout:
		return plinth.Errorf(abi.KindInvalidInput, "timeout_s is %d; it is from 1 to %d", *in.Timeout, longestTimeout)
	}
	return nil
}
