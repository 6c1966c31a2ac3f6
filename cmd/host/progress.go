package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/session"
)

// progress follows one prompt through the events of its session, from its admission on.
type progress struct {
	prompt   string
	promoted bool
	began    bool // an activity that has taken no prompt yet
	// calls are the structured answers that the model began, by message and call.
	calls map[[2]string]bool
	// structured is the structured answer, nil while there is none.
	structured json.RawMessage
}

// see applies one event. It answers the end of the activity that took the prompt, or of
// one that began for it and could take none: the prompt waits then. cancelled says that
// the prompt was taken out of the inbox.
func (p *progress) see(payload session.Payload) (ended *session.ActivityEnded, cancelled bool) {
	switch e := payload.(type) {
	case session.ActivityStarted:
		p.began = true
	case session.PromptPromoted:
		p.promoted, p.began = p.promoted || e.Message == p.prompt, false
	case session.PromptCancelled:
		return nil, e.Message == p.prompt
	case session.ToolCalled:
		if p.promoted && e.Name == session.FormatTool && !e.Hosted {
			if p.calls == nil {
				p.calls = map[[2]string]bool{}
			}
			p.calls[[2]string{e.Message, e.Call}] = true
		}
	case session.ToolSucceeded:
		if p.calls[[2]string{e.Message, e.Call}] {
			p.structured = e.Structured
		}
	case session.ActivityEnded:
		blocked := e.Error != nil && e.Error.Code == session.FailureContextBlocked
		if p.promoted || blocked || p.began && e.Outcome != session.Completed {
			return &e, false
		}
		p.began = false
	}
	return nil, false
}
