package main

import (
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// decode reads lines of an answer natively.
func decode(t *testing.T, lines ...string) ([]abi.ModelEvent, error) {
	t.Helper()
	body := abi.ProviderDecode{Provider: "new-plugin", End: true}
	for _, line := range lines {
		body.Frames = append(body.Frames, abi.Frame{Data: line})
	}
	answer, err := plinthtest.Call[abi.ProviderDecoded](t, abi.ExportProviderDecode, body)
	return answer.Events, err
}

// said is events in a few words.
func said(events []abi.ModelEvent) string {
	var words []string
	for _, event := range events {
		words = append(words, strings.TrimRight(event.Type+":"+event.ID+event.Text+event.Reason, ":"))
	}
	return strings.Join(words, " ")
}

func TestAnAnswerIsDecoded(t *testing.T) {
	for want, lines := range map[string][]string{
		"text.delta:textHel text.delta:textlo usage finish:stop": {`{"text":"Hel"}`, `{"text":"lo"}`, `{"done":{"reason":"stop","input":2,"output":1}}`},
		`tool.start:c1 tool.delta:c1{"path":"a"} tool.end:c1`:    {`{"call":{"id":"c1","name":"read","arguments":{"path":"a"}}}`},
		"error": {`{"error":"out of memory"}`},
	} {
		events, err := decode(t, lines...)
		if got := said(events); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

func TestALineThatIsNoJSONFails(t *testing.T) {
	if _, err := decode(t, "<html>"); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("%v", err)
	}
}

func TestStatusesAreExplained(t *testing.T) {
	for status, want := range map[int]string{400: abi.ClassInvalidRequest, 401: abi.ClassAuthentication, 418: abi.ClassUnknown, 429: abi.ClassRateLimit, 503: abi.ClassOverloaded} {
		got, err := plinthtest.Call[abi.ProviderError](t, abi.ExportProviderClassify, abi.ProviderClassify{Provider: "new-plugin", Status: status})
		if err != nil || got.Classification != want || got.Retryable != (status == 429 || status == 503) {
			t.Errorf("%d: %+v, %v", status, got, err)
		}
	}
}
