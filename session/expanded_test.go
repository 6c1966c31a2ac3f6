package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
)

// TestRetryOfWhatWasSent: a prompt that was made of what was sent is retried by that, and
// Retry answers before anything is made.
func TestRetryOfWhatWasSent(t *testing.T) {
	d := newDesk(t, session.SessionOptions{Agents: roster(t), Limits: session.Limits{Pending: 1}})
	id, by := d.create(), session.System()
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Sent: raw(`{"b":1,"a":"@x"}`)}
	if _, known, err := d.sessions.Retry(t.Context(), by, request); known || err != nil {
		t.Fatalf("known %v, %v", known, err)
	}
	made := request
	made.Prompt = session.Prompt{Text: "@x", Notes: []session.PromptNote{{Kind: "file", Text: "no such file", Failed: true, Source: &session.PromptSource{Start: 0, End: 2, Text: "@x"}}}}
	first := d.admit(made)
	if diff := cmp.Diff(made.Prompt, first.Prompt); diff != "" {
		t.Error(diff)
	}
	request.Sent = raw(`{ "a": "@x", "b": 1 }`)
	again, known, err := d.sessions.Retry(t.Context(), by, request)
	if diff := cmp.Diff(first, again); !known || err != nil || diff != "" {
		t.Errorf("known %v, %v, %s", known, err, diff)
	}
	made.Prompt.Text, made.Prompt.Notes = "made another time", nil
	if again := d.admit(made); again.Prompt.Text != "@x" {
		t.Errorf("%+v", again)
	}
	for _, other := range []session.PromptRequest{
		{ID: first.ID, Session: id, Sent: raw(`{"a":"@y","b":1}`)},
		{ID: first.ID, Session: id, Sent: request.Sent, Delivery: session.Queue},
		{ID: first.ID, Session: d.create(), Sent: request.Sent},
	} {
		_, known, err := d.sessions.Retry(t.Context(), by, other)
		if !known {
			t.Errorf("%+v is not known", other)
		}
		wantConflict(t, err)
	}
	_, err = d.sessions.Admit(t.Context(), by, session.PromptRequest{ID: first.ID, Session: id, Prompt: first.Prompt})
	wantConflict(t, err) // the body it became is not what was sent
	for want, bad := range map[string]session.PromptRequest{
		"prompts wait in this session": {Session: id, Sent: raw(`{}`)},
		"prompt.agent":                 {Session: id, Sent: raw(`{}`), Prompt: session.Prompt{Agent: "nobody"}},
		"prompt.model":                 {Session: id, Sent: raw(`{}`), Prompt: session.Prompt{Model: &session.ModelRef{}}},
		"delivery is":                  {Session: id, Sent: raw(`{}`), Delivery: "x"},
		"what was sent":                {Session: id, Sent: raw(`{`)},
		"not found":                    {Session: d.id(session.PrefixSession), Sent: raw(`{}`)},
	} {
		if _, known, err := d.sessions.Retry(t.Context(), by, bad); known || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("known %v, %v, want %q", known, err, want)
		}
	}
}

func TestPromptNotesRefuse(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	many := make([]session.PromptNote, 129)
	for i := range many {
		many[i] = session.PromptNote{Kind: "file", Text: "x"}
	}
	for want, prompt := range map[string]session.Prompt{
		"prompt.notes has 129 entries, the limit is 128":                      {Notes: many},
		"prompt.notes[0].text has 0 bytes; it must be UTF-8 of 1 to 2048":     {Notes: []session.PromptNote{{Kind: "file"}}},
		"prompt.notes[0].text has 2049 bytes; it must be UTF-8 of 1 to 2048":  {Notes: []session.PromptNote{{Kind: "file", Text: strings.Repeat("x", 2049)}}},
		"prompt.notes[0].name is \"a file\"":                                  {Notes: []session.PromptNote{{Kind: "a file", Text: "x"}}},
		"prompt.notes[0].source is 0 to 9":                                    {Notes: []session.PromptNote{{Kind: "file", Text: "x", Source: &session.PromptSource{End: 9}}}},
		"prompt.references[0]: path and description must be UTF-8 of at most": {References: []session.PromptRef{{Name: "a", Path: strings.Repeat("x", 2049)}}},
	} {
		prompt.Text = "Hi"
		_, err := d.sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: id, Prompt: prompt})
		if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestForsakenRequests: what was asked for a prompt that was not admitted is withdrawn by
// the next host; what a call asked stays open.
func TestForsakenRequests(t *testing.T) {
	d := newDesk(t, session.SessionOptions{Agents: roster(t)})
	id := d.create()
	ask := session.PermissionRequest{Action: "bash", Resources: []string{"ls"}}
	d.append(id,
		session.PermissionAsked{Request: d.id(session.PrefixPermission), Message: d.id(session.PrefixMessage), Call: session.CallPrompt, Agent: "build", Ask: ask},
		session.PermissionAsked{Request: d.id(session.PrefixPermission), Message: d.id(session.PrefixMessage), Call: "call_1", Agent: "build", Ask: ask})
	permissions := session.NewPermissions(d.log, d.encoder, nil, roster(t), d.wakes.Wake, hclog.NewNullLogger())
	for range 2 {
		if err := permissions.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	open, err := permissions.List(t.Context(), id)
	if err != nil || len(open) != 1 || open[0].Call != "call_1" {
		t.Errorf("%+v, %v", open, err)
	}
}
