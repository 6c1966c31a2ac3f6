package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// maxTodos bounds a session's list.
const maxTodos = 256

// TodoLists keeps the sessions' lists.
type TodoLists struct {
	log     store.Log
	encoder Encoder
}

// NewTodoLists keeps the lists in the log.
func NewTodoLists(log store.Log, encoder Encoder) *TodoLists {
	return &TodoLists{log: log, encoder: encoder}
}

// Todos answers the session's list, nil for none; ErrNotFound without the session.
func (l *TodoLists) Todos(ctx context.Context, session string) (todos []Todo, err error) {
	err = l.log.View(ctx, func(tx store.Tx) error {
		if _, err := LoadSession(ctx, tx, session); err != nil {
			return err
		}
		todos, err = LoadTodos(ctx, tx, session)
		return err
	})
	return todos, err
}

// SetTodos replaces the list of the session that the call belongs to. ErrInvalid for
// a list that does not fit, ErrNotFound without the session.
func (l *TodoLists) SetTodos(ctx context.Context, asker Asker, todos []Todo) error {
	if err := checkTodos(todos); err != nil {
		return err
	}
	events, err := l.encoder.Encode(System(), TodosChanged{Todos: todos})
	if err != nil {
		return err
	}
	if _, err := l.log.Append(ctx, store.Batch{Aggregate: asker.Session, Mode: store.Fenced(asker.Fence), Events: events}); err != nil {
		return fmt.Errorf("change the list: %w", err)
	}
	return nil
}

func checkTodos(todos []Todo) error {
	if len(todos) > maxTodos {
		return fmt.Errorf("%w: there are %d todos; the most is %d", ErrInvalid, len(todos), maxTodos)
	}
	seen := map[string]bool{}
	for i, todo := range todos {
		switch {
		case strings.TrimSpace(todo.ID) == "" || len(todo.ID) > maxAskText:
			return fmt.Errorf("%w: todos[%d].id has %d bytes; it must name the item in at most %d", ErrInvalid, i, len(todo.ID), maxAskText)
		case seen[todo.ID]:
			return fmt.Errorf("%w: todos[%d].id is %q, which is there already; ids must differ", ErrInvalid, i, clip(todo.ID))
		case strings.TrimSpace(todo.Content) == "" || len(todo.Content) > maxAskText:
			return fmt.Errorf("%w: todos[%d].content has %d bytes; it must say something in at most %d", ErrInvalid, i, len(todo.Content), maxAskText)
		case !slices.Contains([]string{"pending", "in_progress", "completed", "cancelled"}, todo.Status):
			return fmt.Errorf("%w: todos[%d].status is %q; it must be pending, in_progress, completed or cancelled", ErrInvalid, i, clip(todo.Status))
		case !slices.Contains([]string{"", "high", "medium", "low"}, todo.Priority):
			return fmt.Errorf("%w: todos[%d].priority is %q; it must be high, medium, low or nothing", ErrInvalid, i, clip(todo.Priority))
		}
		seen[todo.ID] = true
	}
	return nil
}
