package runner

import (
	"context"
	"slices"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// remains is what an activity left behind.
type remains struct {
	activity  session.Activity
	open      *session.Message // the answer that is not closed; nil for none
	unsettled []session.MessagePart
	requests  []session.Permission
	questions []session.QuestionRequest
}

func (d *drain) remains(ctx context.Context, activity session.Activity) (r remains, err error) {
	r.activity = activity
	err = d.Log.View(ctx, func(tx store.Tx) error {
		messages, err := session.LoadSince(ctx, tx, d.session, activity.Started)
		if err != nil {
			return err
		}
		for i := range messages {
			if messages[i].Type == session.MessageAssistant && messages[i].Completed == 0 {
				r.open = &messages[i]
			}
		}
		if r.requests, err = session.LoadRequests(ctx, tx, d.session, activity.Started); err != nil {
			return err
		}
		r.questions, err = session.LoadAllQuestions(ctx, tx, d.session, activity.Started)
		return err
	})
	if err != nil || r.open == nil {
		return r, err
	}
	for _, part := range r.open.Parts {
		if part.Tool != nil && part.Tool.Unsettled() {
			r.unsettled = append(r.unsettled, part)
		}
	}
	return r, nil
}

// waits reports whether a call is held by an ask before which nothing had an effect:
// it can be run again from its start. While its process lives an answered ask lets the
// call go on, so after a crash only an open one holds it.
func (r remains) waits(call string, crashed bool) bool {
	before, open := false, false
	for _, request := range r.requests {
		if request.Message == r.open.ID && request.Call == call {
			before, open = request.Ask.Before, request.Reply == ""
		}
	}
	for _, question := range r.questions {
		if question.Message == r.open.ID && question.Call == call && (question.Seq > r.lastAsked(call)) {
			before, open = question.Before, question.State == session.QuestionStateOpen
		}
	}
	return before && (open || !crashed)
}

func (r remains) lastAsked(call string) int64 {
	last := int64(-1)
	for _, request := range r.requests {
		if request.Message == r.open.ID && request.Call == call {
			last = max(last, request.Seq)
		}
	}
	return last
}

// asking reports whether a call still waits for an answer.
func (r remains) asking(call string) bool {
	for _, request := range r.requests {
		if request.Call == call && request.Message == r.open.ID && request.Reply == "" {
			return true
		}
	}
	for _, question := range r.questions {
		if question.Call == call && question.Message == r.open.ID && question.State == session.QuestionStateOpen {
			return true
		}
	}
	return false
}

// close withdraws what was asked and is still open: of a call, or with "" of no call.
func (r remains) close(call string) []session.Payload {
	var payloads []session.Payload
	for _, request := range r.requests {
		if request.Call == call && request.Reply == "" {
			payloads = append(payloads, session.PermissionReplied{Request: request.Request, Reply: session.ReplyWithdrawn})
		}
	}
	for _, question := range r.questions {
		if question.Call == call && question.State == session.QuestionStateOpen {
			payloads = append(payloads, session.QuestionDismissed{Request: question.Request, Withdrawn: true})
		}
	}
	return payloads
}

func (r remains) fail(call string) []session.Payload {
	return append(r.close(call), session.ToolFailed{Message: r.open.ID, Call: call,
		Error: session.ToolError{Kind: "cancelled", Message: interruptedTool}})
}

// cut closes the open answer of an activity and all that waits for a person.
func (r remains) cut(code, message string) []session.Payload {
	payloads := r.close("")
	if r.open != nil {
		for _, part := range r.unsettled {
			payloads = append(payloads, r.fail(part.ID)...)
		}
		payloads = append(payloads, session.StepFailed{Message: r.open.ID, Error: session.Failure{Code: code, Message: message}})
	}
	return payloads
}

// doubt is the newest request to go on with the activity: every crash that leaves one
// in doubt asks anew.
func (r remains) doubt() (request session.Permission, asked bool) {
	for _, request := range slices.Backward(r.requests) {
		if request.Ask.Action == actionRecovery && slices.Contains(request.Ask.Resources, r.activity.ID) {
			return request, true
		}
	}
	return session.Permission{}, false
}

// answers are what a call asked in its earlier life.
func (r remains) answers(call string) *session.Answers {
	var permissions []session.Permission
	for _, request := range r.requests {
		if request.Message == r.open.ID && request.Call == call {
			permissions = append(permissions, request)
		}
	}
	var questions []session.QuestionRequest
	for _, question := range r.questions {
		if question.Message == r.open.ID && question.Call == call {
			questions = append(questions, question)
		}
	}
	return session.NewAnswers(permissions, questions)
}
