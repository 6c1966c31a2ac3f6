package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// web answers http.fetch by URL and keeps what was asked.
type web struct {
	pages    map[string]func(abi.HTTPFetch) (abi.HTTPFetched, string, error)
	requests []abi.HTTPFetch
}

func (s *sampler) web() *web {
	w := &web{pages: map[string]func(abi.HTTPFetch) (abi.HTTPFetched, string, error){}}
	s.host.Operations = map[string]plinthtest.Operation{abi.OpHTTPFetch: func(request json.RawMessage, _ []byte) (any, []byte, error) {
		var asked abi.HTTPFetch
		if err := json.Unmarshal(request, &asked); err != nil {
			return nil, nil, err
		}
		w.requests = append(w.requests, asked)
		answer, body, err := w.pages[asked.URL](asked)
		answer.Body = &abi.Bytes{Length: len(body)}
		return answer, []byte(body), err
	}}
	return w
}

func page200(body string) func(abi.HTTPFetch) (abi.HTTPFetched, string, error) {
	return func(abi.HTTPFetch) (abi.HTTPFetched, string, error) {
		return abi.HTTPFetched{Status: 200, Headers: map[string]string{"etag": `"1"`, "last-modified": "then"}}, body, nil
	}
}

func answers(status int) func(abi.HTTPFetch) (abi.HTTPFetched, string, error) {
	return func(abi.HTTPFetch) (abi.HTTPFetched, string, error) {
		return abi.HTTPFetched{Status: status, Headers: map[string]string{}}, "not this", nil
	}
}

func offline(abi.HTTPFetch) (abi.HTTPFetched, string, error) {
	return abi.HTTPFetched{}, "", &abi.Error{Kind: abi.KindUnavailable, Message: "connection refused"}
}

func TestPagesAreFetchedAndKept(t *testing.T) {
	s := newSampler(t)
	w := s.web()
	configure(t, settings{URLs: []string{"https://a/b", "https://c"}})
	w.pages["https://a/b"], w.pages["https://c"] = page200("\xff style\n"), page200("more")
	want := "Instructions from: https://a/b\n\ufffd style\n\nInstructions from: https://c\nmore"
	if state := s.observe(t)[remoteKey]; state.Baseline != want || state.Removed == "" {
		t.Errorf("%+v", state)
	}
	if first := w.requests[0]; len(w.requests) != 2 || first.TimeoutMS != firstTimeoutMS || first.Headers["If-None-Match"] != "" || first.Method != "" {
		t.Errorf("%+v", w.requests)
	}
	s.now += freshMS - 1
	if state := s.observe(t)[remoteKey]; state.Baseline != want || state.Update != "" || len(w.requests) != 2 {
		t.Errorf("while it is fresh: %d requests, %+v", len(w.requests), state)
	}
	s.now++
	w.pages["https://a/b"], w.pages["https://c"] = answers(304), page200("other")
	state := s.observe(t)[remoteKey]
	if !strings.HasSuffix(state.Update, strings.Replace(want, "more", "other", 1)) || !strings.Contains(state.Update, "supersede") {
		t.Errorf("%+v", state)
	}
	if again := w.requests[2]; again.TimeoutMS != refreshTimeoutMS || again.Headers["If-None-Match"] != `"1"` || again.Headers["If-Modified-Since"] != "then" {
		t.Errorf("%+v", again)
	}
}

func TestAPageThatCannotBeReachedKeepsItsText(t *testing.T) {
	for name, fails := range map[string]func(abi.HTTPFetch) (abi.HTTPFetched, string, error){
		"offline": offline, "404": answers(404), "500": answers(500), "304 for nothing": answers(304),
	} {
		s := newSampler(t)
		w := s.web()
		configure(t, settings{URLs: []string{"https://a"}})
		w.pages["https://a"] = fails
		states := s.observe(t)
		if states[remoteKey].State != abi.SourceUnavailable || states[dateKey].State != abi.SourceValue || states[instructionsKey].State != abi.SourceAbsent {
			t.Errorf("%s, never fetched: %+v", name, states)
		}
		if len(s.host.Lines) != 2 || !strings.Contains(s.host.Lines[0], "https://a: ") {
			t.Errorf("%s: the log has %q", name, s.host.Lines)
		}
		w.pages["https://a"] = page200("style")
		if state := s.observe(t)[remoteKey]; state.State != abi.SourceUnavailable || len(w.requests) != 1 {
			t.Errorf("%s, too soon: %d requests, %+v", name, len(w.requests), state)
		}
		s.now += againMS
		if state := s.observe(t)[remoteKey]; state.Baseline != "Instructions from: https://a\nstyle" {
			t.Errorf("%s, then there: %+v", name, state)
		}
		if name == "304 for nothing" {
			continue
		}
		w.pages["https://a"] = fails
		for _, step := range []struct {
			after    int64
			requests int
		}{{freshMS, 3}, {retryMS - 1, 3}, {1, 4}} {
			s.now += step.after
			if state := s.observe(t)[remoteKey]; state.Baseline != "Instructions from: https://a\nstyle" || state.Update != "" || len(w.requests) != step.requests {
				t.Errorf("%s, later: %d requests, want %d, %+v", name, len(w.requests), step.requests, state)
			}
		}
	}
}

func TestLongPagesAreLeftOut(t *testing.T) {
	s := newSampler(t)
	w := s.web()
	configure(t, settings{URLs: []string{"https://a"}})
	w.pages["https://a"] = page200(strings.Repeat("x", maxPage))
	if state := s.observe(t)[remoteKey]; !strings.HasSuffix(state.Baseline, "\nxxx"+strings.Repeat("x", maxPage-3)) {
		t.Errorf("%.200q", state.Baseline)
	}
	s.now += freshMS
	w.pages["https://a"] = page200(strings.Repeat("x", maxPage+1))
	if state := s.observe(t)[remoteKey]; !strings.Contains(state.Update, "(This page has 65537 bytes.") {
		t.Errorf("%.200q", state.Update)
	}
}

func TestPagesThatAreNotConfiguredAreForgotten(t *testing.T) {
	s := newSampler(t)
	w := s.web()
	configure(t, settings{URLs: []string{"https://a", "https://b"}})
	w.pages["https://a"], w.pages["https://b"] = page200("a"), page200("b")
	s.observe(t)
	configured.URLs = []string{"https://b"}
	s.now += freshMS
	if state := s.observe(t)[remoteKey]; state.Baseline != "Instructions from: https://b\nb" {
		t.Errorf("%+v", state)
	}
	if keys := slices.Collect(maps.Keys(s.host.Values)); !slices.Equal(keys, []string{"global:" + pageKey("https://b")}) {
		t.Errorf("kept: %v", keys)
	}
	configured.URLs = nil
	if state := s.observe(t)[remoteKey]; state.State != abi.SourceAbsent {
		t.Errorf("none configured: %+v", state)
	}
}

// Without the plugin's store every turn fetches; the text is told all the same.
func TestPagesWithoutAStore(t *testing.T) {
	s := newSampler(t)
	w := s.web()
	configure(t, settings{URLs: []string{"https://a"}})
	w.pages["https://a"] = page200("a")
	for _, operation := range []string{abi.OpKVGet, abi.OpKVSet, abi.OpKVList} {
		s.host.Operations[operation] = func(json.RawMessage, []byte) (any, []byte, error) {
			return nil, nil, &abi.Error{Kind: abi.KindFailed, Message: "no store"}
		}
	}
	if state := s.observe(t)[remoteKey]; state.Baseline != "Instructions from: https://a\na" || len(s.host.Lines) != 3 {
		t.Errorf("%+v, %q", state, s.host.Lines)
	}
}
