package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// served is what a host answers, with the requests that it got.
type served struct {
	status   int
	kind     string
	headers  map[string]string
	body     string
	err      error
	requests []abi.HTTPFetch
}

func (s *served) fetch(t *testing.T, in string) (text string, out result, err error) {
	t.Helper()
	h := &plinthtest.Host{Operations: map[string]plinthtest.Operation{abi.OpHTTPFetch: func(request json.RawMessage, _ []byte) (any, []byte, error) {
		var asked abi.HTTPFetch
		if err := json.Unmarshal(request, &asked); err != nil || s.err != nil {
			return nil, nil, s.err
		}
		s.requests = append(s.requests, asked)
		headers := map[string]string{"content-type": s.kind}
		maps.Copy(headers, s.headers)
		return abi.HTTPFetched{Status: s.status, Headers: headers, URL: asked.URL, Size: int64(len(s.body)), Body: &abi.Bytes{Length: len(s.body)}}, []byte(s.body), nil
	}}}
	h.Serve(t)
	output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "webfetch", Input: json.RawMessage(in)})
	if err != nil {
		return "", out, err
	}
	if err := json.Unmarshal(output.Structured, &out); err != nil {
		t.Fatal(err)
	}
	return output.Content[0].Text, out, nil
}

const address = `{"url":"https://e.example/p"}`

// I 251: what is no address of a page is refused before anything is asked of the host.
func TestRefusedBeforeItIsAsked(t *testing.T) {
	for in, want := range map[string]string{
		`{"url":"ftp://e.example/"}`:                           "url must begin with http:// or https://",
		`{"url":"file:///etc/passwd"}`:                         "url must begin with http:// or https://",
		`{"url":"e.example"}`:                                  "url must begin with http:// or https://",
		`{"url":"http:///p"}`:                                  "url names no host",
		`{"url":""}`:                                           "url is no URL; give one like https://example.com/page",
		`{"url":"https://e.example/%zz"}`:                      "url is no URL; give one like https://example.com/page",
		`{"url":"https://e.example","timeout_s":121}`:          "timeout_s is 121; it is from 1 to 120",
		`{"url":"https://e.example","timeout_s":0}`:            "timeout_s is 0; it is from 1 to 120",
		`{"url":"https://e.example","format":"pdf"}`:           `format is "pdf"; it is markdown, text or html`,
		`{"url":"https://e.example","headers":{"Cookie":"x"}}`: `the input of webfetch: json: unknown field "headers"`,
	} {
		s := &served{status: 200}
		if _, _, err := s.fetch(t, in); err == nil || err.Error() != "invalid_input: "+want || len(s.requests) > 0 {
			t.Errorf("%s: %v, %d requests", in, err, len(s.requests))
		}
	}
}

// I 251: a challenge of Cloudflare is answered once, by the plain name.
func TestChallenge(t *testing.T) {
	s := &served{status: 403, headers: map[string]string{"cf-mitigated": "challenge"}}
	_, _, err := s.fetch(t, address)
	if err == nil || err.Error() != "unavailable: https://e.example/p answered 403 Forbidden" {
		t.Error(err)
	}
	if len(s.requests) != 2 || s.requests[0].Headers["User-Agent"] != usualAgent || s.requests[1].Headers["User-Agent"] != plainAgent {
		t.Errorf("%+v", s.requests)
	}
	s = &served{status: 403}
	if _, _, err := s.fetch(t, address); err == nil || len(s.requests) != 1 {
		t.Errorf("without a challenge: %v, %d requests", err, len(s.requests))
	}
}

// I 251: what is too large, no text or no page is a failure.
func TestFailures(t *testing.T) {
	for _, test := range []struct {
		s    served
		want string
	}{
		{served{status: 200, kind: "image/png", body: "\x89PNG"}, "invalid_input: https://e.example/p is an image (image/png), which webfetch does not read"},
		{served{status: 200, kind: "image/svg+xml", body: "<svg/>"}, "invalid_input: https://e.example/p is an image (image/svg+xml), which webfetch does not read"},
		{served{status: 200, kind: "application/pdf"}, "invalid_input: https://e.example/p is a file that is no text (application/pdf), which webfetch does not read"},
		{served{status: 200, kind: "text/plain", body: "a\x00b"}, "failed: https://e.example/p is a file that is no text, which webfetch does not read"},
		{served{status: 200, kind: "text/plain; charset=Shift_JIS", body: "\x83n"}, `failed: https://e.example/p is written in "shift_jis"; webfetch reads utf-8, iso-8859-1 and windows-1252`},
		{served{status: 404}, "not_found: https://e.example/p answered 404 Not Found"},
		{served{status: 500}, "unavailable: https://e.example/p answered 500 Internal Server Error"},
		{served{status: 304}, "unavailable: https://e.example/p answered 304 Not Modified"},
		{served{err: &abi.Error{Kind: abi.KindLimit, Message: "more than 5242880 bytes"}}, "limit: more than 5242880 bytes"},
		{served{err: &abi.Error{Kind: abi.KindTimeout, Message: "x"}}, "timeout: https://e.example/p did not answer within 30 s"},
		{served{err: &abi.Error{Kind: abi.KindDenied, Message: "webfetch is denied"}}, "denied: webfetch is denied"},
	} {
		if _, _, err := test.s.fetch(t, address); err == nil || err.Error() != test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
}

// What is asked of the host: the limit, the time and what is wanted.
func TestWhatIsAsked(t *testing.T) {
	s := &served{status: 200, kind: "text/plain", body: "x"}
	if _, _, err := s.fetch(t, `{"url":"HTTPS://e.example/p","format":"html","timeout_s":7}`); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0]; got.MaxBytes != 5<<20 || got.TimeoutMS != 7000 || got.Method != "" || got.Headers["Accept"] != accepts["html"] {
		t.Errorf("%+v", got)
	}
}

func TestTexts(t *testing.T) {
	for _, test := range []struct {
		format, kind, body, want, as string
	}{
		{"markdown", "text/html; charset=utf-8", "<title>T</title><p>é", "# T\n\né", "markdown"},
		{"text", "text/html", "<h1>é</h1>x", "é\n\nx", "text"},
		{"html", "text/html", "<p>é", "<p>é", "html"},
		{"markdown", "application/json", `{"a":"<p>"}`, `{"a":"<p>"}`, "as-is"},
		{"markdown", "text/markdown", "# x", "# x", "as-is"},
		{"markdown", "", " <!DOCTYPE html><p>x", "x", "markdown"},
		{"markdown", "", "<p>x", "<p>x", "as-is"},
		{"markdown", "text/html; charset=ISO-8859-1", "<p>caf\xe9 \x80", "café €", "markdown"},
		{"markdown", "text/html", "<meta charset=windows-1252><p>caf\xe9", "café", "markdown"},
		{"markdown", "text/html", `<meta http-equiv=x content="text/html; charset=latin1"><p>` + "\x93x\x94", "“x”", "markdown"},
		{"markdown", "text/plain", "caf\xe9", "café", "as-is"},
		{"markdown", "text/plain; charset=utf-8", "caf\xe9", "caf\ufffd", "as-is"},
		{"markdown", "text/plain; charset=latin1", "\xef\xbb\xbfé", "é", "as-is"},
		{"markdown", "text/plain; charset=gbk", "plain", "plain", "as-is"},
		{"markdown", "text/html", "<nav>x</nav>", "(the page has no text)", "markdown"},
	} {
		s := &served{status: 200, kind: test.kind, body: test.body}
		text, out, err := s.fetch(t, `{"url":"https://e.example/p","format":"`+test.format+`"}`)
		if err != nil || text != test.want || out.Format != test.as || out.Bytes != int64(len(test.body)) || out.Truncated {
			t.Errorf("%s as %s of %q: %q, %+v, %v", test.format, test.kind, test.body, text, out, err)
		}
	}
}

// A text beyond what is answered is cut and says so.
func TestALongText(t *testing.T) {
	for _, kind := range []string{"text/plain", "text/html"} {
		s := &served{status: 200, kind: kind, body: strings.Repeat("é", maxText)}
		text, out, err := s.fetch(t, address)
		if err != nil || !out.Truncated || !strings.HasSuffix(text, "é\n\n(the text is cut here, after 1048576 bytes; the page has 2097152)") {
			t.Errorf("%s: %+v, %v, %q", kind, out, err, text[len(text)-100:])
		}
	}
}
