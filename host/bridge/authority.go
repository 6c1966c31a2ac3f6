package bridge

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// authority decides on the actions of one call. It is safe for use by several
// goroutines.
type authority interface {
	// authorise answers nil when the action is allowed on all resources. Save is
	// what an approval for always covers.
	authorise(ctx context.Context, action string, resources, save []string) error
	// effects answers what would become of each resource, without asking anybody.
	effects(ctx context.Context, action string, resources []string) ([]session.Effect, error)
}

// authorise asks on one resource.
func (o *operations) authorise(ctx context.Context, action, resource string) error {
	return o.asked.authorise(ctx, action, []string{resource}, session.Savable(resource))
}

// silentAuthority never asks: what would ask is denied.
type silentAuthority struct {
	rules  Rules
	asker  session.Asker
	plugin string
}

func (a silentAuthority) authorise(ctx context.Context, action string, resources, _ []string) error {
	effects, err := a.effects(ctx, action, resources)
	if err != nil {
		return err
	}
	for i, effect := range effects {
		if effect != session.Allow {
			return &session.DeniedError{Action: action, Resource: resources[i]}
		}
	}
	return nil
}

func (a silentAuthority) effects(ctx context.Context, action string, resources []string) ([]session.Effect, error) {
	effects, err := a.rules.Effects(ctx, a.asker, a.plugin, action, resources)
	for i, effect := range effects {
		if effect != session.Allow {
			effects[i] = session.Deny
		}
	}
	return effects, err
}

// toolAuthority asks through the call: the rules decide, and where they say so a
// person, for whom the guest makes room. What permission.ask was allowed is not
// asked again, and neither is what a person allowed to be read, or to be entered.
type toolAuthority struct {
	host session.ToolHost

	touched atomic.Bool // an operation of the call has changed something

	mu      sync.Mutex
	covered map[string]bool // action, NUL, resource
}

// before reports whether nothing that the call did has an effect yet, and nothing
// will have one while it waits: in a batch, another operation may.
func (a *toolAuthority) before(ctx context.Context) bool {
	return ctx.Value(gatheringKey{}) == nil && !a.touched.Load()
}

func (a *toolAuthority) authorise(ctx context.Context, action string, resources, save []string) error {
	asked := a.uncovered(action, resources)
	if len(asked) == 0 {
		return nil
	}
	if len(asked) < len(resources) {
		save = slices.DeleteFunc(slices.Clone(save), func(pattern string) bool { return !slices.Contains(asked, pattern) })
	}
	request := session.PermissionRequest{Action: action, Resources: asked, Save: save, Before: a.before(ctx)}
	effects, err := a.host.Effects(ctx, action, asked)
	if err != nil {
		return err
	}
	if !slices.Contains(effects, session.Ask) || slices.Contains(effects, session.Deny) {
		return a.host.Authorise(ctx, request)
	}
	if err := wait(ctx, func(ctx context.Context) error { return a.host.Authorise(ctx, request) }); err != nil {
		return err
	}
	if action == actionRead || action == actionExternal {
		a.cover(action, asked) // one file takes several operations to be shown
	}
	return nil
}

func (a *toolAuthority) effects(ctx context.Context, action string, resources []string) ([]session.Effect, error) {
	effects, err := a.host.Effects(ctx, action, resources)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, resource := range resources {
		if effects[i] == session.Ask && a.covered[action+"\x00"+resource] {
			effects[i] = session.Allow
		}
	}
	return effects, nil
}

func (a *toolAuthority) uncovered(action string, resources []string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.covered) == 0 {
		return resources
	}
	return slices.DeleteFunc(slices.Clone(resources), func(resource string) bool { return a.covered[action+"\x00"+resource] })
}

// cover remembers what was allowed for the rest of the call.
func (a *toolAuthority) cover(action string, resources []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.covered == nil {
		a.covered = map[string]bool{}
	}
	for _, resource := range resources {
		a.covered[action+"\x00"+resource] = true
	}
}

// Limits of permission operations.
const (
	MaxAsked   = 100
	MaxChecked = 1000
	maxText    = 4096 // of an action or a resource, in bytes
)

// touch says that the call has changed something.
func (o *operations) touch() {
	if tool, ok := o.asked.(*toolAuthority); ok {
		tool.touched.Store(true)
	}
}

// permissionAsk asks for actions that the tool itself carries out. What is allowed
// counts for its operations too.
func (o *operations) permissionAsk(ctx context.Context, request abi.PermissionAsk, _ []byte) (any, []byte, error) {
	if err := checkPermission(request.Action, request.Resources, MaxAsked); err != nil {
		return nil, nil, err
	}
	var save []string
	for _, resource := range request.Resources {
		save = append(save, session.Savable(resource)...)
	}
	if err := o.asked.authorise(ctx, request.Action, request.Resources, save); err != nil {
		return nil, nil, err
	}
	if tool, ok := o.asked.(*toolAuthority); ok {
		tool.cover(request.Action, request.Resources)
	}
	return abi.None{}, nil, nil
}

func (o *operations) permissionCheck(ctx context.Context, request abi.PermissionCheck, _ []byte) (any, []byte, error) {
	if err := checkPermission(request.Action, request.Resources, MaxChecked); err != nil {
		return nil, nil, err
	}
	effects, err := o.asked.effects(ctx, request.Action, request.Resources)
	if err != nil {
		return nil, nil, err
	}
	checked := abi.PermissionChecked{Effects: make([]string, len(effects))}
	for i, effect := range effects {
		checked.Effects[i] = string(effect)
	}
	return checked, nil, nil
}

func checkPermission(action string, resources []string, most int) error {
	switch {
	case action == "" || len(action) > 64:
		return refuse(abi.KindInvalidInput, "action has %d bytes; it must have 1 to 64", len(action))
	case len(resources) == 0 || len(resources) > most:
		return refuse(abi.KindInvalidInput, "there are %d resources; there must be 1 to %d", len(resources), most)
	}
	for i, resource := range resources {
		if resource == "" || len(resource) > maxText || clean(resource) != resource {
			return refuse(abi.KindInvalidInput, "resource %d must be one line of 1 to %d bytes", i, maxText)
		}
	}
	return nil
}
