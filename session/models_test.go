package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
)

// shop is a set of models that may be used, by their text.
type shop map[string]bool

func (s shop) Model(_ context.Context, ref session.ModelRef) (session.ModelInfo, error) {
	switch {
	case ref.Model == "broken":
		return session.ModelInfo{}, errors.New("the shop is closed")
	case !s[ref.String()]:
		return session.ModelInfo{}, &session.ModelError{Ref: ref, Reason: session.ModelUnavailable, Message: "there is no " + ref.String()}
	}
	return session.ModelInfo{Ref: ref}, nil
}

// TestModelsAtTheDoor: a model that may not be used is refused where it is named, and
// what was admitted is answered again whatever became of its model.
func TestModelsAtTheDoor(t *testing.T) {
	models := shop{"scripted/m1": true, "p/a": true, "p/a:high": true, "scripted/m1:low": true}
	d := newDesk(t, session.SessionOptions{Models: models})
	id := d.create()
	ctx, by := t.Context(), session.System()
	ref := func(model, variant string) *session.ModelRef {
		return &session.ModelRef{Provider: "p", Model: model, Variant: variant}
	}
	prompt := func(p session.Prompt) error {
		p.Text = "hello"
		_, err := d.sessions.Admit(ctx, by, session.PromptRequest{Session: id, Prompt: p, AdmitOnly: true})
		return err
	}
	waiting, err := d.sessions.Admit(ctx, by, session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "x", Model: ref("a", "")}, AdmitOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  error
		says string // "" for none
	}{
		"a prompt":                  {prompt(session.Prompt{Model: ref("a", "")}), ""},
		"a prompt's variant":        {prompt(session.Prompt{Model: ref("a", ""), Variant: "high"}), ""},
		"of the session's model":    {prompt(session.Prompt{Variant: "low"}), ""},
		"a prompt without":          {prompt(session.Prompt{Model: ref("b", "")}), "prompt.model: there is no p/b"},
		"a variant without":         {prompt(session.Prompt{Variant: "high"}), "prompt.variant: there is no scripted/m1:high"},
		"a switch":                  {second(d.sessions.SwitchModel(ctx, by, id, *ref("b", ""))), "model: there is no p/b"},
		"a new session":             {third(d.sessions.Create(ctx, by, session.CreateRequest{Directory: "/w", Model: ref("b", "")})), "model: there is no p/b"},
		"an edit":                   {second(d.sessions.Edit(ctx, by, id, waiting.ID, session.Prompt{Text: "x", Model: ref("b", "")})), "prompt.model: there is no p/b"},
		"what cannot be told of it": {prompt(session.Prompt{Model: ref("broken", "")}), "the shop is closed"},
	} {
		switch {
		case c.says == "" && c.err != nil, c.says != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.says)):
			t.Errorf("%s: %v, want %q", name, c.err, c.says)
		case strings.HasPrefix(c.says, "the shop") == errors.Is(c.err, session.ErrInvalid) && c.says != "":
			t.Errorf("%s is invalid: %v", name, errors.Is(c.err, session.ErrInvalid))
		}
	}
	if _, err := d.sessions.SwitchModel(ctx, by, id, *ref("a", "")); err != nil {
		t.Fatal(err)
	}
	clear(models)
	again, err := d.sessions.Admit(ctx, by, session.PromptRequest{ID: waiting.ID, Session: id, Prompt: session.Prompt{Text: "x", Model: ref("a", "")}, AdmitOnly: true})
	if err != nil || again.ID != waiting.ID {
		t.Errorf("the prompt again: %+v, %v", again, err)
	}
	if s, created, err := d.sessions.Create(ctx, by, session.CreateRequest{ID: id, Directory: "/w"}); err != nil || created || s.ID != id {
		t.Errorf("the session again: %+v, %v", s, err)
	}
	if _, err := d.sessions.SwitchModel(ctx, by, id, *ref("a", "")); err != nil {
		t.Errorf("the switch again: %v", err)
	}
}
