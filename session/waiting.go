package session

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/plinthhost/plinth/store"
)

// waiting is a request that a call waits for.
type waiting struct {
	request string
	// before: the call can be run again from its start.
	before     bool
	withdrawal Payload
	closed     func(ctx context.Context) (bool, error)
}

// await returns nil when the request is closed, and ctx's cause when that ends first.
func (p *Permissions) await(ctx context.Context, asker Asker, w waiting) error {
	wake := p.log.Watch(asker.Session)
	defer wake.Close()
	kept := context.WithoutCancel(ctx)
	p.tell(kept, asker.Session, w.request)
	for {
		closed, err := w.closed(kept)
		if err != nil {
			return err
		}
		if closed {
			p.tell(kept, asker.Session, w.request)
			return nil
		}
		select {
		case <-wake.C():
		case <-ctx.Done():
			return p.withdraw(ctx, asker, w)
		}
	}
}

// withdraw takes back a request nobody waits for any more, and answers why. A reply
// that came first stands. A shutdown leaves it open when the call can be run again:
// the next process goes on waiting.
func (p *Permissions) withdraw(ctx context.Context, asker Asker, w waiting) error {
	cause := context.Cause(ctx)
	if w.before && errors.Is(cause, ErrShutdown) {
		return cause
	}
	kept := context.WithoutCancel(ctx)
	_, err := p.append(kept, System(), asker.Session, asker.mode(), w.withdrawal)
	if err != nil && !errors.Is(err, ErrResolved) {
		return errors.Join(cause, err)
	}
	p.tell(kept, asker.Session, w.request)
	return cause
}

// CallPrompt stands in the place of a call in what is asked for a prompt before it is
// admitted. Message is the id that the prompt will have. Nothing goes on with such a
// request in another process.
const CallPrompt = "prompt"

// forsake withdraws what a process that died asked for prompts it did not admit.
func (p *Permissions) forsake(ctx context.Context) error {
	var open []Permission
	err := p.log.View(ctx, func(tx store.Tx) (err error) {
		open, err = LoadPermissions(ctx, tx, "")
		return err
	})
	if err != nil {
		return err
	}
	for _, permission := range open {
		if permission.Call != CallPrompt {
			continue
		}
		_, err := p.append(ctx, System(), permission.Session, store.Any(), PermissionReplied{Request: permission.Request, Reply: ReplyWithdrawn})
		if err != nil {
			return err
		}
	}
	return nil
}

// Answers are the requests of a call that was begun before and is run again from its
// start. Each is taken once, in the order they were asked. Safe for use by several
// goroutines; nil holds none.
type Answers struct {
	mu          sync.Mutex
	permissions []Permission
	questions   []QuestionRequest
}

// NewAnswers holds the requests of one call, answered or open, oldest first. What was
// withdrawn is asked again.
func NewAnswers(permissions []Permission, questions []QuestionRequest) *Answers {
	return &Answers{
		permissions: slices.DeleteFunc(slices.Clone(permissions), func(p Permission) bool { return p.Reply == ReplyWithdrawn }),
		questions:   slices.DeleteFunc(slices.Clone(questions), func(q QuestionRequest) bool { return q.State == QuestionStateWithdrawn }),
	}
}

// permission takes the first request for the same.
func (a *Answers) permission(request PermissionRequest) (Permission, bool) {
	if a == nil {
		return Permission{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return take(&a.permissions, func(earlier Permission) bool {
		return earlier.Ask.Action == request.Action && earlier.Ask.Plugin == request.Plugin && slices.Equal(earlier.Ask.Resources, request.Resources)
	})
}

// question takes the first that asked the same.
func (a *Answers) question(questions []Question) (QuestionRequest, bool) {
	if a == nil {
		return QuestionRequest{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return take(&a.questions, func(earlier QuestionRequest) bool {
		return slices.EqualFunc(earlier.Questions, questions, sameQuestion)
	})
}

func sameQuestion(a, b Question) bool {
	if !slices.Equal(a.Options, b.Options) {
		return false
	}
	a.Options, b.Options = nil, nil
	return reflect.DeepEqual(a, b)
}

func take[T any](list *[]T, fits func(T) bool) (found T, ok bool) {
	at := slices.IndexFunc(*list, fits)
	if at < 0 {
		return found, false
	}
	found = (*list)[at]
	*list = slices.Delete(*list, at, at+1)
	return found, true
}
