package trust

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
)

func TestADifferenceNamesAllThatCounts(t *testing.T) {
	t.Parallel()
	before := abi.Manifest{
		Version: "1.0.0", Requires: []string{"log"},
		Config: &abi.ManifestConfig{Schema: `{"type":"object"}`},
		Tools: []abi.ManifestTool{
			{Name: "weather", Description: "tells", Input: `{"a":1}`, Permission: map[string]any{"action": "weather", "resource": "place"}, Effects: []string{"network"}, TimeoutMS: 1000},
			{Name: "same", Description: "d", Input: `{"b": [1.0], "a": 1}`, Permission: "by-operation", Effects: []string{"read", "write"}},
			{Name: "old", Description: "goes"},
		},
		Contexts:   []abi.ManifestContext{{Key: "acme/weather/now", Removable: true}},
		Providers:  []abi.ManifestProvider{{ID: "codec", Framing: "sse", Auth: abi.ManifestAuth{Kind: "header", Name: "authorization", Value: "Bearer {secret}"}}},
		Transforms: []abi.ManifestTransform{{Name: "rules", Reads: []string{"system"}, Writes: []string{"system"}, OnError: "fail"}},
		Limits:     abi.ManifestLimits{MemoryMiB: 32},
		Request: abi.ManifestRequest{
			HTTP: []abi.ManifestHTTP{{Origins: []string{"https://a.example"}, Methods: []string{"GET"}, Paths: []string{"/v1/*", "/v2/*"}, Reason: "asks"}},
			FS:   []abi.ManifestFS{{Root: "location", Access: "write", Reason: "writes"}}, KV: &abi.ManifestKV{Reason: "remembers"},
		},
	}
	after := abi.Manifest{
		Version: "1.1.0", Requires: []string{"log", "http.fetch"},
		Tools: []abi.ManifestTool{
			{Name: "weather", Description: "tells all", Input: `{"a":2}`, Output: `{}`, Permission: "by-operation", Effects: []string{"exec", "network"}, Idempotent: true},
			{Name: "same", Description: "d", Input: "{\n \"a\": 1,\n \"b\": [1.0]}", Permission: "by-operation", Effects: []string{"write", "read"}},
			{Name: "new", Description: "comes"},
		},
		Contexts: []abi.ManifestContext{{Key: "acme/weather/now"}, {Key: "acme/weather/soon"}},
		Providers: []abi.ManifestProvider{{ID: "codec", Framing: "ndjson", Auth: abi.ManifestAuth{Kind: "query", Name: "k"},
			Discover: abi.ManifestDiscover{Path: "v1/list", Query: map[string]string{"limit": "9"}, Headers: map[string]string{"X-B": "2", "X-A": "1"}, PageFrom: "next", PageQuery: "after"}}},
		Transforms: []abi.ManifestTransform{{Name: "rules", Reads: []string{"system", "messages"}, Writes: []string{"system"}, Order: 5, OnError: "fail"}, {Name: "more", Writes: []string{"tools"}}},
		Limits:     abi.ManifestLimits{MemoryMiB: 64, Fuel: 5},
		Isolation:  abi.ManifestIsolation{Mode: "sticky"},
		Request: abi.ManifestRequest{
			HTTP: []abi.ManifestHTTP{
				{Origins: []string{"https://a.example"}, Methods: []string{"GET", "POST"}, Paths: []string{"/v1/*"}, Reason: "asks"},
				{Origins: []string{"https://api.example"}, Methods: []string{"GET"}, Paths: []string{"/**"}, Reason: "asks the forecast service"},
			},
			FS: []abi.ManifestFS{{Root: "location", Access: "read", Reason: "reads"}}, KV: &abi.ManifestKV{Reason: "keeps"},
		},
	}
	want := []string{
		"- fs location write: writes",
		"~ http:https://a.example: methods GET -> GET POST",
		"~ http:https://a.example: paths /v1/* /v2/* -> /v1/*",
		"+ http https://api.example GET /**: asks the forecast service",
		"+ fs location read: reads",
		"~ kv: reason remembers -> keeps",
		"+ requires http.fetch",
		"- tool old: goes",
		"~ tool weather: description tells -> tells all",
		`~ tool weather: input {"a":1} -> {"a":2}`,
		"~ tool weather: output nothing -> {}",
		`~ tool weather: permission {"action":"weather","resource":"place"} -> by-operation`,
		"~ tool weather: effects network -> exec network",
		"~ tool weather: idempotent false -> true",
		"~ tool weather: timeout_ms 1000 -> default",
		"+ tool new: comes",
		"~ context acme/weather/now: removable true -> false",
		"+ context acme/weather/soon",
		"~ provider codec: framing sse -> ndjson",
		"~ provider codec: auth header authorization Bearer {secret} -> query k",
		"~ provider codec: discover nothing -> v1/list?after=%7Bnext%7D&limit=9 X-A: 1 X-B: 2",
		"~ transform rules: reads system -> messages system",
		"~ transform rules: order 0 -> 5",
		"+ transform more: reads nothing; writes tools",
		"~ limit memory_mib: value 32 -> 64",
		"~ limit fuel: value default -> 5",
		"~ isolation: mode restore -> sticky",
		"- config: settings",
	}
	change := Difference(before, after)
	if diff := cmp.Diff(want, change.Lines()); diff != "" {
		t.Error(diff)
	}
	if change.From != "1.0.0" || change.To != "1.1.0" || change.Omitted != 0 {
		t.Errorf("%+v", change)
	}
	var wider []string
	for _, entry := range change.Entries {
		if entry.Wider {
			wider = append(wider, entry.Name)
		}
	}
	if diff := cmp.Diff([]string{"http:https://a.example", "http:https://api.example"}, wider); diff != "" {
		t.Errorf("wider: %s", diff)
	}
	if same := Difference(after, after); len(same.Entries) > 0 || same.String() != "" {
		t.Errorf("a manifest differs from itself: %s", same)
	}
}

// What a stranger wrote shows as it is: one line each, bounded, without what moves the
// cursor or turns the text.
func TestADifferenceIsBoundedAndClean(t *testing.T) {
	t.Parallel()
	nasty := "a\x1b[31m\nb\r\u202ec\u2028d\x00\xff" + strings.Repeat("é", MaxText)
	after := abi.Manifest{Version: nasty, Request: abi.ManifestRequest{KV: &abi.ManifestKV{Reason: nasty}}}
	for i := range MaxEntries + 7 {
		after.Tools = append(after.Tools, abi.ManifestTool{Name: fmt.Sprint("tool", i), Description: nasty})
	}
	change := Difference(abi.Manifest{}, after)
	if len(change.Entries) != MaxEntries || change.Omitted != 8 {
		t.Errorf("%d entries, %d omitted", len(change.Entries), change.Omitted)
	}
	lines := change.Lines()
	if len(lines) != MaxEntries+1 || lines[MaxEntries] != "and 8 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	for _, line := range append(lines, change.From, change.To) {
		if len(line) > 2*MaxText || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Errorf("%d bytes: %q", len(line), line)
		}
	}
	if !strings.HasPrefix(lines[0], "+ kv: a [31m b c d \uFFFDé") || !strings.HasSuffix(lines[0], "é…") {
		t.Errorf("%q", lines[0])
	}
}

// Long values are shown from where they part.
func TestLongValuesAreShownWhereTheyPart(t *testing.T) {
	t.Parallel()
	schema := func(last string) string { return `{"a":"` + strings.Repeat("é", 500) + `","z":"` + last + `"}` }
	of := func(last string) abi.Manifest {
		return abi.Manifest{Tools: []abi.ManifestTool{{Name: "t", Input: schema(last)}}}
	}
	lines := Difference(of("old"), of("new")).Lines()
	if len(lines) != 1 || !strings.Contains(lines[0], `"z":"old"} -> …`) || !strings.HasSuffix(lines[0], `"z":"new"}`) || len(lines[0]) > 200 {
		t.Errorf("%q", lines)
	}
}
