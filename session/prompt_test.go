package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

// TestPromptBody: every field is admitted, stored as it was sent and part of what an
// exact retry repeats.
func TestPromptBody(t *testing.T) {
	d := newDesk(t, session.SessionOptions{Agents: roster(t)})
	id := d.create()
	prompt := session.Prompt{
		Text:       "@explore häuser in #docs",
		Agents:     []session.PromptAgent{{Name: "explore", Source: &session.PromptSource{Start: 0, End: 8, Text: "@explore"}}, {Name: "other"}},
		References: []session.PromptRef{{Name: "docs", Source: &session.PromptSource{Start: 20, End: 25, Text: "#docs"}}},
		Agent:      "plan", Model: &session.ModelRef{Provider: "p", Model: "m"}, Variant: "high", System: "Be brief.",
		Tools:  map[string]bool{"read": true, "mcp_files.write": false},
		Format: raw(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`), Metadata: raw(`{"a":1}`),
	}
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: prompt}
	first := d.admit(request)
	if diff := cmp.Diff(prompt, first.Prompt, jsonText()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, d.admit(request)); diff != "" {
		t.Error(diff)
	}
	d.promote(first)
	s := d.session(id)
	if want := (session.ModelRef{Provider: "p", Model: "m", Variant: "high"}); s.Model != want || s.Agent != "plan" {
		t.Errorf("%+v", s)
	}
	d.promote(d.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "x", Variant: "low"}}))
	if got := d.session(id).Model; got != (session.ModelRef{Provider: "p", Model: "m", Variant: "low"}) {
		t.Errorf("a variant alone made the model %+v", got)
	}
}

// jsonText compares JSON by its value.
func jsonText() cmp.Option {
	return cmp.Comparer(func(a, b []byte) bool {
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		x, errX := session.CanonicalJSON(a)
		y, errY := session.CanonicalJSON(b)
		return errX == nil && errY == nil && string(x) == string(y)
	})
}

func TestPromptRefuses(t *testing.T) {
	d := newDesk(t, session.SessionOptions{Agents: roster(t)})
	id := d.create()
	mention := func(source session.PromptSource) session.Prompt {
		return session.Prompt{Text: "häuser", Agents: []session.PromptAgent{{Name: "plan", Source: &source}}}
	}
	format := func(text string) session.Prompt { return session.Prompt{Text: "x", Format: raw(text)} }
	tools := map[string]bool{}
	for i := range 257 {
		tools[fmt.Sprint("t", i)] = true
	}
	for want, prompt := range map[string]session.Prompt{
		"prompt.text is empty":                    {},
		"prompt.text is not valid UTF-8":          {Text: "\xff"},
		"prompt.system is not valid UTF-8":        {Text: "x", System: "\xff"},
		"prompt.agents[1].name is \"a b\"":        {Text: "x", Agents: []session.PromptAgent{{Name: "a"}, {Name: "a b"}}},
		"prompt.references[0].name is \"\"":       {Text: "x", References: []session.PromptRef{{}}},
		"65 mentions, the limit is 64":            {Text: "x", Agents: make([]session.PromptAgent, 33), References: make([]session.PromptRef, 32)},
		"is -1 to 1, which is no part":            mention(session.PromptSource{Start: -1, End: 1, Text: "h"}),
		"is 0 to 8, which is no part":             mention(session.PromptSource{Start: 0, End: 8, Text: "häuser"}),
		"is 2 to 2, which is no part":             mention(session.PromptSource{Start: 2, End: 2}),
		"text is \"hau\"":                         mention(session.PromptSource{Start: 0, End: 3, Text: "hau"}),
		"prompt.agent is \"none\", which is none": {Text: "x", Agent: "none"},
		"prompt.model needs provider and model":   {Text: "x", Model: &session.ModelRef{Model: "m"}},
		"prompt.variant is \"v v\"":               {Text: "x", Variant: "v v"},
		"prompt.tools is \"\"":                    {Text: "x", Tools: map[string]bool{"": true}},
		"prompt.tools has 257 names":              {Text: "x", Tools: tools},
		"prompt.format is no JSON Schema":         format(`{"type":"thing"}`),
		"it is not an object":                     format(`true`),
		"https://example.com/x":                   format(`{"$ref":"https://example.com/x"}`),
		"prompt.format has 65538 bytes":           format(`"` + strings.Repeat("x", 64<<10) + `"`),
		"prompt.files is not supported":           {Text: "x", Files: []session.PromptFile{{Path: "a"}}},
		"the limit is 1048576":                    {Text: strings.Repeat("x", 1<<20)},
		"prompt.files[0].source is 0 to 9, whic":  {Text: "x", Files: []session.PromptFile{{Path: "a", Source: &session.PromptSource{End: 9}}}},
	} {
		_, err := d.sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: id, Prompt: prompt})
		if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for _, request := range []session.PromptRequest{
		{Session: id, Prompt: session.Prompt{Text: "x"}, Delivery: "soon"}, {ID: "msg_1", Session: id, Prompt: session.Prompt{Text: "x"}},
	} {
		if _, err := d.sessions.Admit(t.Context(), session.System(), request); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	if got := d.types(id); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestRetryOutlivesTheRoster: what was admitted is answered also when its agent is
// gone since.
func TestRetryOutlivesTheRoster(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "x", Agent: "gone"}}
	first := d.admit(request)
	later := session.NewSessions(d.log, d.encoder, folders{}, d.wakes, session.SessionOptions{Agents: roster(t)})
	again, err := later.Admit(t.Context(), session.System(), request)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
