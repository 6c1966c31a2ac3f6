package runner

import (
	"context"
	"errors"
	"math"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// interruptedTool is what the model is told of a call whose outcome is unknown or
// that was stopped.
const interruptedTool = "Tool execution interrupted"

// recover ends an activity that no process works on any more. The drain holds the
// session, so an activity without an end is one that died.
func (d *drain) recover(ctx context.Context, _ session.Session) error {
	var activity session.Activity
	var messages []session.Message
	var asked []session.Permission
	err := d.Log.View(ctx, func(tx store.Tx) (err error) {
		if activity, err = session.LoadActivity(ctx, tx, d.session); errors.Is(err, session.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if messages, err = session.LoadMessages(ctx, tx, d.session, -1, math.MaxInt32); err != nil {
			return err
		}
		asked, err = session.LoadPermissions(ctx, tx, d.session)
		return err
	})
	if err != nil {
		return err
	}
	if activity.ID == "" {
		return nil
	}
	var payloads []session.Payload
	for _, message := range messages {
		payloads = append(payloads, settleInterrupted(message, asked)...)
	}
	failure := &session.Failure{Code: session.FailureInterrupted, Message: "The host stopped while it worked on this; resume to go on"}
	payloads = append(payloads, session.ActivityEnded{Activity: activity.ID, Outcome: session.Interrupted, Error: failure})
	return d.append(ctx, payloads...)
}

// settleInterrupted fails the calls of a message that have no settlement, takes
// back what they asked, and closes the message.
func settleInterrupted(message session.Message, asked []session.Permission) []session.Payload {
	if message.Type != session.MessageAssistant || message.Completed != 0 {
		return nil
	}
	var payloads []session.Payload
	for _, part := range message.Parts {
		if part.Tool == nil || part.Tool.State != session.ToolStateRunning {
			continue
		}
		for _, permission := range asked {
			if permission.Message == message.ID && permission.Call == part.ID {
				payloads = append(payloads, session.PermissionReplied{Request: permission.Request, Reply: session.ReplyWithdrawn})
			}
		}
		payloads = append(payloads, session.ToolFailed{Message: message.ID, Call: part.ID,
			Error: session.ToolError{Kind: "cancelled", Message: interruptedTool}})
	}
	return append(payloads, session.StepFailed{Message: message.ID,
		Error: session.Failure{Code: session.FailureInterrupted, Message: "The host stopped during this answer"}})
}
