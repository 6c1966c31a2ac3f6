package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// Permissions decides on actions and waits for people. Requests and answers are
// events; what is asked stays open until it is answered.
type Permissions struct {
	log     store.Log
	encoder Encoder
	rules   []Rule // the operator's, after the default ones
}

// NewPermissions uses the operator's rules after the default ones.
func NewPermissions(log store.Log, encoder Encoder, rules []Rule) *Permissions {
	return &Permissions{log: log, encoder: encoder, rules: rules}
}

// Asker is the call on whose behalf a permission is asked.
type Asker struct {
	Session  string
	Agent    string
	Message  string
	Call     string
	Location Location
	Fence    int64
	Earlier  *Answers
}

// Rules answers the configured rules for what a plugin asks; empty stands for the
// host and the builtins.
func (p *Permissions) Rules(plugin string) []Rule {
	return append(DefaultRules(plugin), p.rules...)
}

// Authorise answers nil when the action is allowed, at once or by a person, and a
// *DeniedError when not. It waits as long as ctx lasts; when ctx ends first the
// request is withdrawn.
func (p *Permissions) Authorise(ctx context.Context, asker Asker, request PermissionRequest) error {
	configured := p.Rules(request.Plugin)
	effect, resource := Decide(configured, nil, request.Action, request.Resources)
	if effect == Ask { // approvals turn nothing else
		saved, err := p.saved(ctx, asker.Location, request.Plugin)
		if err != nil {
			return err
		}
		effect, resource = Decide(configured, saved, request.Action, request.Resources)
	}
	switch effect {
	case Allow:
		return nil
	case Deny:
		return &DeniedError{Action: request.Action, Resource: resource}
	}
	return p.ask(ctx, asker, request)
}

// Effects answers what would become of each resource, without asking anybody.
func (p *Permissions) Effects(ctx context.Context, location Location, plugin, action string, resources []string) ([]Effect, error) {
	configured := p.Rules(plugin)
	effects := make([]Effect, len(resources))
	for i := range resources {
		effects[i], _ = Decide(configured, nil, action, resources[i:i+1])
	}
	if !slices.Contains(effects, Ask) { // approvals turn nothing else
		return effects, nil
	}
	saved, err := p.saved(ctx, location, plugin)
	if err != nil {
		return nil, err
	}
	for i := range resources {
		effects[i], _ = Decide(configured, saved, action, resources[i:i+1])
	}
	return effects, nil
}

// saved answers the approvals that people gave the plugin in the project.
func (p *Permissions) saved(ctx context.Context, location Location, plugin string) (saved []Rule, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		saved, err = loadApprovals(ctx, tx, location.Root, plugin)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	return saved, nil
}

func (p *Permissions) ask(ctx context.Context, asker Asker, request PermissionRequest) error {
	id := p.encoder.IDs.New(PrefixPermission)
	wake := p.log.Watch(asker.Session) // before the request can be seen and answered
	defer wake.Close()
	if err := p.append(ctx, System(), asker.Session, store.Fenced(asker.Fence), PermissionAsked{
		Request: id, Message: asker.Message, Call: asker.Call, Agent: asker.Agent, Ask: request,
	}); err != nil {
		return fmt.Errorf("ask permission: %w", err)
	}
	for {
		select {
		case <-wake.C():
		case <-ctx.Done():
			return p.withdraw(ctx, asker, id)
		}
		permission, err := p.load(context.WithoutCancel(ctx), id)
		if err != nil {
			return err
		}
		switch permission.Reply {
		case "":
		case ReplyOnce, ReplyAlways:
			return nil
		default:
			return &DeniedError{Action: request.Action, Resource: strings.Join(request.Resources, ", "),
				Declined: permission.Feedback == "", Feedback: permission.Feedback}
		}
	}
}

// withdraw takes back a request nobody waits for any more, and answers why. A reply
// that came first stands.
func (p *Permissions) withdraw(ctx context.Context, asker Asker, id string) error {
	err := p.append(context.WithoutCancel(ctx), System(), asker.Session, store.Fenced(asker.Fence),
		PermissionReplied{Request: id, Reply: ReplyWithdrawn})
	if err != nil && !errors.Is(err, ErrResolved) {
		return errors.Join(context.Cause(ctx), err)
	}
	return context.Cause(ctx)
}

// List answers the open requests of a session, or of all when session is empty.
func (p *Permissions) List(ctx context.Context, session string) ([]Permission, error) {
	var open []Permission
	err := p.log.View(ctx, func(tx store.Tx) (err error) {
		open, err = LoadPermissions(ctx, tx, session)
		return err
	})
	return open, err
}

// Reply answers an open request. ErrNotFound when there is none of that id,
// ErrResolved when it was answered before, ErrInvalid for another reply.
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
	origin.Cause = id
	if reply == ReplyAlways {
		if err := p.save(ctx, origin, asked); err != nil {
			return Permission{}, fmt.Errorf("save approval: %w", err)
		}
	}
	if err := p.append(ctx, origin, asked.Session, store.Any(), PermissionReplied{Request: id, Reply: reply, Feedback: feedback}); err != nil {
		return Permission{}, fmt.Errorf("reply to permission: %w", err)
	}
	return p.load(ctx, id)
}

// save keeps what an "always" allows before the reply is recorded: a crash in between
// leaves a request that is open and allowed, never a reply without its approval.
func (p *Permissions) save(ctx context.Context, origin Origin, asked Permission) error {
	if asked.Reply != "" {
		return fmt.Errorf("permission request %s: %w", asked.Request, ErrResolved)
	}
	var session Session
	err := p.log.View(ctx, func(tx store.Tx) (err error) {
		session, err = LoadSession(ctx, tx, asked.Session)
		return err
	})
	if err != nil || len(asked.Ask.Save) == 0 {
		return err
	}
	var payloads []Payload
	for _, resource := range asked.Ask.Save {
		payloads = append(payloads, ApprovalSaved{Root: session.Location.Root, Plugin: asked.Ask.Plugin,
			Action: asked.Ask.Action, Resource: resource, Session: asked.Session, Request: asked.Request})
	}
	return p.append(ctx, origin, Host, store.Any(), payloads...)
}

func (p *Permissions) load(ctx context.Context, id string) (Permission, error) {
	var permission Permission
	err := p.log.View(ctx, func(tx store.Tx) (err error) {
		permission, err = LoadPermission(ctx, tx, id)
		return err
	})
	return permission, err
}

func (p *Permissions) append(ctx context.Context, origin Origin, session string, mode store.Mode, payloads ...Payload) error {
	events, err := p.encoder.Encode(origin, payloads...)
	if err != nil {
		return err
	}
	_, err = p.log.Append(ctx, store.Batch{Aggregate: session, Mode: mode, Events: events})
	return err
}
