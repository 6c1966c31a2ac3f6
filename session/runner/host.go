package runner

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/plinthhost/plinth/session"
)

// callHost is the session as one tool call sees it.
type callHost struct {
	turn     *turn
	run      toolRun
	plugin   string
	declined atomic.Bool
}

// Authorise decides under the agent that the turn pinned. A person's refusal
// without a word halts the activity once the call has settled.
func (h *callHost) Authorise(ctx context.Context, request session.PermissionRequest) error {
	request.Plugin = h.plugin
	err := h.turn.Permissions.Authorise(ctx, session.Asker{
		Session: h.turn.session, Agent: h.turn.current.Agent, Message: h.run.message, Call: h.run.call,
		Location: h.turn.current.Location, Fence: h.turn.fence,
	}, request)
	var denied *session.DeniedError
	if errors.As(err, &denied) && denied.Declined {
		h.declined.Store(true)
		return errors.Join(errDeclined, err)
	}
	return err
}

// Effects answers what would become of each resource, without asking anybody.
func (h *callHost) Effects(ctx context.Context, action string, resources []string) ([]session.Effect, error) {
	return h.turn.Permissions.Effects(ctx, h.turn.current.Location, h.plugin, action, resources)
}

// Progress shows a line of the call to who follows live.
func (h *callHost) Progress(text string) {
	h.turn.Live.Append(h.turn.session, h.run.message, h.run.call, session.LiveToolProgress, text+"\n")
}

// Describe tells of the session as the turn found it.
func (h *callHost) Describe(context.Context) (session.Description, error) {
	return session.Description{Title: h.turn.current.Title, Model: h.turn.current.Model}, nil
}
