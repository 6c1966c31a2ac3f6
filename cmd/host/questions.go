package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// The commands that close a question.
const (
	commandAnswer  = "answer"
	commandDismiss = "dismiss"
)

// questionService is server.Questions.
type questionService struct{ *backend }

func (b questionService) List(ctx context.Context, id string) (protocol.QuestionList, error) {
	open, err := b.permissions.Questions(ctx, id)
	if err != nil {
		return protocol.QuestionList{}, wireError(err)
	}
	list := protocol.QuestionList{Questions: make([]protocol.Question, len(open))}
	for i, question := range open {
		list.Questions[i] = wireQuestion(question, b.cursor(question.Seq))
	}
	return list, nil
}

func (b questionService) Answer(ctx context.Context, caller server.Caller, id string, answer protocol.QuestionAnswer) (protocol.QuestionReceipt, error) {
	return b.close(ctx, caller, commandAnswer, protocol.AnswerParams{ID: id, QuestionAnswer: answer},
		session.QuestionAnswered{Request: id, Answers: answer.Answers}, id, func() (session.QuestionRequest, error) {
			return b.permissions.Answer(ctx, origin(caller), id, answer.Answers)
		})
}

func (b questionService) Dismiss(ctx context.Context, caller server.Caller, id string) (protocol.QuestionReceipt, error) {
	return b.close(ctx, caller, commandDismiss, protocol.DismissParams{ID: id}, session.QuestionDismissed{Request: id}, id,
		func() (session.QuestionRequest, error) { return b.permissions.Dismiss(ctx, origin(caller), id) })
}

// close answers the receipt of the event that stands in the log: of a key's first
// attempt, else of the one that closing has just made.
func (b questionService) close(ctx context.Context, caller server.Caller, command string, body any, want session.Payload, id string,
	closing func() (session.QuestionRequest, error)) (protocol.QuestionReceipt, error) {
	if caller.Key != "" {
		row, over, err := b.keys.begin(ctx, caller, command, body, func() (string, int64, error) { return b.asked(ctx, id) })
		switch {
		case errors.Is(err, errNotOpen): // there is nothing to repeat, and the kernel says why
		case err != nil:
			return protocol.QuestionReceipt{}, wireError(err)
		default:
			defer over()
			if receipt, done, err := b.closed(ctx, caller.Actor, row.Session, row.After, want, id); done || err != nil {
				return receipt, wireError(err)
			}
		}
	}
	question, err := closing()
	if err != nil {
		return protocol.QuestionReceipt{}, wireError(err)
	}
	receipt, done, err := b.closed(ctx, caller.Actor, question.Session, question.Seq, want, id)
	if !done && err == nil {
		err = fmt.Errorf("question %s is closed and there is no event of it", id)
	}
	return receipt, wireError(err)
}

// asked is the place function of what closes a question.
func (b questionService) asked(ctx context.Context, id string) (string, int64, error) {
	open, err := b.permissions.Questions(ctx, "")
	if err != nil {
		return "", 0, err
	}
	for _, question := range open {
		if question.Request == id {
			return question.Session, question.Seq, nil
		}
	}
	return "", 0, errNotOpen
}

// closed answers the receipt of the actor's event that stands after a place.
func (b questionService) closed(ctx context.Context, actor, in string, after int64, want session.Payload, id string) (protocol.QuestionReceipt, bool, error) {
	event, done, err := b.find(ctx, in, after, func(event store.Event) (bool, error) {
		if event.Type != want.EventType() || event.Actor != actor {
			return false, nil
		}
		payload, err := session.Decode(event)
		return reflect.DeepEqual(payload, want), err
	})
	if err != nil || !done {
		return protocol.QuestionReceipt{}, false, err
	}
	_, dismissed := want.(session.QuestionDismissed)
	return protocol.QuestionReceipt{ID: id, SessionID: in, Dismissed: dismissed, Cursor: b.cursor(event.Seq)}, true, nil
}

func (b questionService) Todos(ctx context.Context, id string) (protocol.TodoList, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.TodoList{}, wireError(err)
	}
	todos, err := b.todos.Todos(ctx, id)
	if err != nil {
		return protocol.TodoList{}, wireError(err)
	}
	list := protocol.TodoList{Todos: make([]protocol.Todo, len(todos)), Cursor: cursor}
	for i, todo := range todos {
		list.Todos[i] = protocol.Todo(todo)
	}
	return list, nil
}
