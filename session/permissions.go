package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

// Permissions decides on actions, and puts permissions and questions to people and
// waits for them. Requests and answers are events; what is asked stays open until it
// is answered or nobody waits for it any more.
type Permissions struct {
	log     store.Log
	encoder Encoder
	rules   []Rule // the operator's, after the default ones
	agents  *Agents
	wake    func(session string, seq int64)
	logger  hclog.Logger
	telling sync.Mutex // one tells the ancestors at a time, so that each is told once
}

// NewPermissions uses the operator's rules after the default ones, the agents' after
// those. wake is told the sequence of what a person answered, so that a session goes
// on that no process works on.
func NewPermissions(log store.Log, encoder Encoder, rules []Rule, agents *Agents, wake func(session string, seq int64), logger hclog.Logger) *Permissions {
	return &Permissions{log: log, encoder: encoder, rules: rules, agents: agents, wake: wake, logger: logger}
}

// Asker is the call on whose behalf a permission or a question is asked.
type Asker struct {
	Session  string
	Agent    string
	Message  string
	Call     string
	Location Location
	// Fence is the drain's, 0 for what no drain asks.
	Fence int64
	// Earlier is what the same call asked before the process that ran it died; nil
	// for a call that runs for the first time.
	Earlier *Answers
}

// mode is how what is asked and withdrawn is appended.
func (a Asker) mode() store.Mode {
	if a.Fence == 0 {
		return store.Any()
	}
	return store.Fenced(a.Fence)
}

// policiesOf answers what decides together on what a plugin does in a session, empty for
// the host and the builtins, under an agent. An agent that is not known may do nothing.
func (p *Permissions) policiesOf(session Session, agent, plugin string) []Policy {
	a, known := p.agents.At(session.Location).Agent(agent)
	if !known {
		return []Policy{{Configured: []Rule{{Action: "*", Resource: "*", Effect: Deny}}}}
	}
	return a.policies(slices.Concat(DefaultRules(plugin), p.rules), session.Rules)
}

// Authorise answers nil when the action is allowed, at once or by a person, and a
// *DeniedError when not; ErrNotFound without the session. What the call asked before
// is not asked again. It waits as long as ctx lasts. When ctx ends first the request
// is withdrawn, unless the host shuts down and the request outlives that.
func (p *Permissions) Authorise(ctx context.Context, asker Asker, request PermissionRequest) error {
	if earlier, ok := asker.Earlier.permission(request); ok {
		return p.awaitReply(ctx, asker, earlier.Request, request.Before)
	}
	policies, saved, err := p.policy(ctx, asker, request.Plugin)
	if err != nil {
		return err
	}
	if _, known := p.agents.At(asker.Location).Agent(asker.Agent); !known { // also where there is no resource to decide on
		return &DeniedError{Action: request.Action, Resource: strings.Join(request.Resources, ", ")}
	}
	switch effect, resource := DecideAll(policies, saved, request.Action, request.Resources); effect {
	case Allow:
		return nil
	case Deny:
		return &DeniedError{Action: request.Action, Resource: resource}
	}
	id := p.encoder.IDs.New(PrefixPermission)
	if _, err := p.append(ctx, System(), asker.Session, asker.mode(), PermissionAsked{
		Request: id, Message: asker.Message, Call: asker.Call, Agent: asker.Agent, Ask: request,
	}); err != nil {
		return fmt.Errorf("ask permission: %w", err)
	}
	return p.awaitReply(ctx, asker, id, request.Before)
}

// awaitReply answers what a person replied to the request.
func (p *Permissions) awaitReply(ctx context.Context, asker Asker, id string, before bool) error {
	var permission Permission
	err := p.await(ctx, asker, waiting{
		request: id, before: before, withdrawal: PermissionReplied{Request: id, Reply: ReplyWithdrawn},
		closed: func(ctx context.Context) (closed bool, err error) {
			permission, err = p.load(ctx, id)
			return permission.Reply != "", err
		},
	})
	if err != nil {
		return err
	}
	switch permission.Reply {
	case ReplyOnce, ReplyAlways:
		return nil
	case ReplyReject:
		return &DeniedError{Action: permission.Ask.Action, Resource: strings.Join(permission.Ask.Resources, ", "),
			Declined: permission.Feedback == "", Feedback: permission.Feedback}
	}
	return fmt.Errorf("permission request %s was withdrawn: %w", id, ErrInterrupted)
}

// Effects answers what would become of each resource for the agent and the session of
// asker, without asking anybody; ErrNotFound without the session.
func (p *Permissions) Effects(ctx context.Context, asker Asker, plugin, action string, resources []string) ([]Effect, error) {
	policies, saved, err := p.policy(ctx, asker, plugin)
	if err != nil {
		return nil, err
	}
	effects := make([]Effect, len(resources))
	for i := range resources {
		effects[i], _ = DecideAll(policies, saved, action, resources[i:i+1])
	}
	return effects, nil
}

// Hides reports whether a tool of that action is not offered at all in a session, whose
// lineage it is, under an agent: the rules of the session or of an ancestor hide it.
func (p *Permissions) Hides(lineage []Session, agent, plugin, action string) bool {
	return slices.ContainsFunc(p.policies(lineage, agent, plugin), func(policy Policy) bool { return policy.Hides(action) })
}

// policies answers what decides together, that of the session first.
func (p *Permissions) policies(lineage []Session, agent, plugin string) []Policy {
	var policies []Policy
	for i, session := range lineage {
		if i > 0 {
			agent = session.Agent
		}
		policies = append(policies, p.policiesOf(session, agent, plugin)...)
	}
	return policies
}

// policy answers the rules for what a plugin asks in a call, and what people approved
// in its project.
func (p *Permissions) policy(ctx context.Context, asker Asker, plugin string) (policies []Policy, saved []Rule, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		lineage, err := LoadLineage(ctx, tx, asker.Session)
		if err != nil {
			return err
		}
		policies = p.policies(lineage, asker.Agent, plugin)
		saved, err = loadApprovals(ctx, tx, asker.Location.Root, plugin)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the permission rules: %w", err)
	}
	return policies, saved, nil
}

func (p *Permissions) load(ctx context.Context, id string) (permission Permission, err error) {
	err = p.log.View(ctx, func(tx store.Tx) error {
		permission, err = LoadPermission(ctx, tx, id)
		return err
	})
	return permission, err
}

func (p *Permissions) append(ctx context.Context, origin Origin, aggregate string, mode store.Mode, payloads ...Payload) ([]store.Event, error) {
	events, err := p.encoder.Encode(origin, payloads...)
	if err != nil {
		return nil, err
	}
	return p.log.Append(ctx, store.Batch{Aggregate: aggregate, Mode: mode, Events: events})
}
