package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// show makes text of the answer.
func (in *input) show(response host.Response) (tool.Output, error) {
	contentType := response.Headers["content-type"]
	kind, charset := mediaType(contentType)
	if !readable(kind) {
		what := "a file that is no text"
		if strings.HasPrefix(kind, "image/") {
			what = "an image"
		}
		return tool.Output{}, plinth.Errorf(abi.KindInvalidInput, "%s is %s (%s), which webfetch does not read", in.URL, what, kind)
	}
	markup := isHTML(kind, response.Content)
	text, err := decoded(response.Content, charset, markup)
	if err != nil {
		return tool.Output{}, plinth.Errorf(abi.KindFailed, "%s %v", in.URL, err)
	}
	out := result{URL: response.URL, Status: response.Status, ContentType: contentType, Format: in.Format, Bytes: response.Size}
	switch {
	case !markup:
		out.Format = formatAsIs
	case in.Format == formatHTML:
	default:
		text, out.Title, out.Truncated = convert(text, response.URL, in.Format == formatText)
	}
	if len(text) > maxText {
		text, out.Truncated = clip(text, maxText), true
	}
	if strings.TrimSpace(text) == "" {
		text = "(the page has no text)"
	}
	if out.Truncated {
		text += fmt.Sprintf("\n\n(the text is cut here, after %d bytes; the page has %d)", len(text), out.Bytes)
	}
	if response.Redirects > 0 {
		text += "\n\n(redirected to " + response.URL + ")"
	}
	title := out.Title
	if title == "" {
		title = response.URL
	}
	return tool.Output{Text: text, Title: title, Structured: out}, nil
}

// clip bounds a text, at the end of a character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// mediaType takes a Content-Type apart, in small letters.
func mediaType(contentType string) (kind, charset string) {
	kind, parameters, _ := strings.Cut(contentType, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			charset = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), charset
}

// textual are the kinds of text beside text/… and those that end in +json, +xml or
// +yaml.
var textual = map[string]bool{
	"": true, "application/json": true, "application/xml": true, "application/xhtml+xml": true, "application/javascript": true,
	"application/x-javascript": true, "application/ecmascript": true, "application/typescript": true, "application/yaml": true,
	"application/x-yaml": true, "application/toml": true, "application/x-ndjson": true, "application/jsonl": true, "application/x-sh": true,
	"application/sql": true, "application/graphql": true, "application/x-www-form-urlencoded": true, "application/x-tex": true, "message/rfc822": true,
}

func readable(kind string) bool {
	if strings.HasPrefix(kind, "image/") {
		return false
	}
	return textual[kind] || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// isHTML goes by the kind, and where the server says none, by how the text begins.
func isHTML(kind string, content []byte) bool {
	if kind != "" {
		return kind == "text/html" || kind == "application/xhtml+xml"
	}
	start := strings.ToLower(strings.TrimSpace(string(content[:min(len(content), 512)])))
	start = strings.TrimPrefix(start, "\ufeff")
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}
