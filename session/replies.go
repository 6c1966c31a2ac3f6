package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// List answers the open permission requests of a session and of all sessions under
// it, oldest first; of all sessions when session is empty.
func (p *Permissions) List(ctx context.Context, session string) (open []Permission, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		if open, err = LoadPermissions(ctx, tx, session); err != nil || session == "" {
			return err
		}
		below, err := loadBelow(ctx, tx, session, PrefixPermission, func(id string) (Permission, bool, error) {
			permission, err := LoadPermission(ctx, tx, id)
			return permission, permission.Reply == "", err
		})
		open = append(open, below...)
		return err
	})
	slices.SortStableFunc(open, func(a, b Permission) int { return cmp.Or(cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Seq, b.Seq)) })
	return open, err
}

// Reply answers an open request. ErrNotFound when there is none of that id,
// ErrResolved when it was answered before, ErrInvalid for another reply.
//
// "always" keeps what the request shows that it saves, and allows whatever else waits
// in the project and is allowed by it now. "reject" closes all else that waits in the
// session too; the feedback is for the one request.
func (p *Permissions) Reply(ctx context.Context, origin Origin, id string, reply Reply, feedback string) (Permission, error) {
	switch reply {
	case ReplyOnce, ReplyAlways, ReplyReject:
	default:
		return Permission{}, fmt.Errorf("%w: reply is %q; it must be once, always or reject", ErrInvalid, clip(string(reply)))
	}
	if feedback != "" && reply != ReplyReject {
		return Permission{}, fmt.Errorf("%w: a message goes with reject only", ErrInvalid)
	}
	asked, err := p.load(ctx, id)
	if err != nil {
		return Permission{}, err
	}
	if asked.Reply != "" {
		return Permission{}, fmt.Errorf("reply to permission: %w", resolved(id))
	}
	origin.Cause = id
	switch reply {
	case ReplyAlways:
		err = p.always(ctx, origin, asked)
	case ReplyReject:
		err = p.reject(ctx, origin, asked, feedback)
	default:
		err = p.close(ctx, origin, asked.Session, PermissionReplied{Request: id, Reply: reply})
	}
	if err != nil {
		return Permission{}, fmt.Errorf("reply to permission: %w", err)
	}
	return p.load(ctx, id)
}

func resolved(id string) error { return fmt.Errorf("permission request %s: %w", id, ErrResolved) }

// always keeps what the reply allows before the reply is recorded: a crash in between
// leaves a request that is open and allowed, never a reply without its approvals.
func (p *Permissions) always(ctx context.Context, origin Origin, asked Permission) error {
	root, err := p.save(ctx, origin, asked)
	if err != nil {
		return fmt.Errorf("save approval: %w", err)
	}
	if err := p.close(ctx, origin, asked.Session, PermissionReplied{Request: asked.Request, Reply: ReplyAlways}); err != nil {
		return err
	}
	if len(asked.Ask.Save) == 0 {
		return nil
	}
	// The reply stands whatever becomes of this; what stays open can still be answered.
	if err := p.allow(context.WithoutCancel(ctx), asked.Request, root); err != nil {
		p.logger.Error("open requests were not looked at again after an approval", "request", asked.Request, "error", err)
	}
	return nil
}

// allow replies to the open requests of a project that the rules and approvals allow
// by now.
func (p *Permissions) allow(ctx context.Context, cause, root string) error {
	var allowed []Permission
	err := p.log.View(ctx, func(tx store.Tx) error {
		open, err := LoadPermissions(ctx, tx, "")
		if err != nil {
			return err
		}
		for _, other := range open {
			lineage, err := LoadLineage(ctx, tx, other.Session)
			if errors.Is(err, ErrNotFound) {
				continue // what limited it is gone, so nothing is allowed by itself
			}
			if err != nil {
				return err
			}
			if lineage[0].Location.Root != root {
				continue
			}
			saved, err := loadApprovals(ctx, tx, root, other.Ask.Plugin)
			if err != nil {
				return err
			}
			if effect, _ := DecideAll(p.policies(lineage, other.Agent, other.Ask.Plugin), saved, other.Ask.Action, other.Ask.Resources); effect == Allow {
				allowed = append(allowed, other)
			}
		}
		return nil
	})
	origin := System()
	origin.Cause = cause
	for _, other := range allowed {
		closeErr := p.close(ctx, origin, other.Session, PermissionReplied{Request: other.Request, Reply: ReplyAlways})
		if !errors.Is(closeErr, ErrResolved) {
			err = errors.Join(err, closeErr)
		}
	}
	return err
}

// reject closes the request and all else that is open in its session, in one append.
// It looks again when one of the others is answered meanwhile.
func (p *Permissions) reject(ctx context.Context, origin Origin, asked Permission, feedback string) error {
	for {
		payloads := []Payload{PermissionReplied{Request: asked.Request, Reply: ReplyReject, Feedback: feedback}}
		err := p.log.View(ctx, func(tx store.Tx) error {
			now, err := LoadPermission(ctx, tx, asked.Request)
			if err != nil {
				return err
			}
			if now.Reply != "" {
				return resolved(asked.Request)
			}
			others, err := openIn(ctx, tx, asked)
			payloads = append(payloads, others...)
			return err
		})
		if err != nil {
			return err
		}
		if err := p.close(ctx, origin, asked.Session, payloads...); !errors.Is(err, ErrResolved) {
			return err
		}
	}
}

// openIn answers what closes everything that is open in the session besides the
// request.
func openIn(ctx context.Context, tx store.Tx, asked Permission) ([]Payload, error) {
	permissions, err := LoadPermissions(ctx, tx, asked.Session)
	if err != nil {
		return nil, err
	}
	questions, err := LoadQuestions(ctx, tx, asked.Session)
	if err != nil {
		return nil, err
	}
	var payloads []Payload
	for _, permission := range permissions {
		if permission.Request != asked.Request {
			payloads = append(payloads, PermissionReplied{Request: permission.Request, Reply: ReplyReject})
		}
	}
	for _, question := range questions {
		payloads = append(payloads, QuestionDismissed{Request: question.Request})
	}
	return payloads, nil
}

// close appends what closes requests of a session, tells its ancestors and wakes it.
func (p *Permissions) close(ctx context.Context, origin Origin, session string, payloads ...Payload) error {
	events, err := p.append(ctx, origin, session, store.Any(), payloads...)
	if err != nil {
		return err
	}
	requests := make([]string, len(payloads))
	for i, payload := range payloads {
		switch e := payload.(type) {
		case PermissionReplied:
			requests[i] = e.Request
		case QuestionAnswered:
			requests[i] = e.Request
		case QuestionDismissed:
			requests[i] = e.Request
		}
	}
	p.tell(context.WithoutCancel(ctx), session, requests...)
	p.wake(session, events[0].Seq)
	return nil
}
