package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// ContextDeadline is how long a context source may run.
const ContextDeadline = 250 * time.Millisecond

// MaxSourceBytes bounds each text and value of a context source.
const MaxSourceBytes = 16 << 10

// Rules answers what the permission rules and saved approvals say, without asking.
type Rules interface {
	Effects(ctx context.Context, asker session.Asker, plugin, action string, resources []string) ([]session.Effect, error)
}

// Context is a guest's context sources behind the kernel's port.
type Context struct {
	plugin *Plugin
	keys   []string
	spec   session.SourceSpec
	reach  *Reach
}

// NewContext makes the sources of the plugin with the keys of its manifest.
func NewContext(plugin *Plugin, keys []string, spec session.SourceSpec, reach *Reach) *Context {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return &Context{plugin: plugin, keys: keys, spec: spec, reach: reach}
}

// Keys are the manifest's keys, ascending.
func (c *Context) Keys() []string { return c.keys }

// Spec is what manifest and operator say of the keys.
func (c *Context) Spec() session.SourceSpec { return c.spec }

// Observe samples all keys in one call.
func (c *Context) Observe(ctx context.Context, observation session.Observation) ([]session.SourceState, error) {
	host := &operations{
		plugin: c.plugin, reach: c.reach, location: observation.Location, session: abi.Session{ID: observation.Session, Agent: observation.Agent},
		asked: silentAuthority{rules: c.reach.Rules, plugin: c.plugin.asking(),
			asker: session.Asker{Session: observation.Session, Agent: observation.Agent, Location: observation.Location}},
	}
	observed, _, err := invoke[abi.ContextObserve, abi.ContextObserved](ctx, c.plugin, abi.ExportContext, abi.ContextObserve{
		Session:  host.session,
		Location: wireLocation(observation.Location, observation.Now),
		NowMS:    observation.Now.UnixMilli(), Model: wireModel(observation.Model), Previous: observation.Previous,
		Directories: relative(observation.Location.Root, observation.Directories),
	}, Call{Deadline: ContextDeadline, Session: observation.Session, Operations: host})
	if err != nil {
		return nil, err
	}
	states := make([]session.SourceState, len(observed.Sources))
	for i, source := range observed.Sources {
		for _, text := range []string{source.Baseline, source.Update, source.Removed, string(source.Value)} {
			if len(text) > c.limit() {
				return nil, fmt.Errorf("plugin %s: the source %s has %d bytes, the limit is %d", c.plugin.ID, source.Key, len(text), c.limit())
			}
		}
		states[i] = session.SourceState{Key: source.Key, State: session.SourceStatus(source.State), Value: source.Value,
			Baseline: source.Baseline, Update: source.Update, Removed: source.Removed}
	}
	return states, nil
}

// wireModel is PROVIDER/MODEL, "" of none.
func wireModel(model session.ModelRef) string {
	if model.Provider == "" {
		return ""
	}
	return model.Provider + "/" + model.Model
}

// relative answers directories as paths from the root that they are below.
func relative(root string, directories []string) []string {
	var paths []string
	for _, directory := range directories {
		if inside, ok := strings.CutPrefix(directory, strings.TrimSuffix(root, "/")+"/"); ok && inside != "" {
			paths = append(paths, inside)
		}
	}
	return paths
}

// maxBuiltinSourceBytes is the limit of builtins: instruction files are theirs.
const maxBuiltinSourceBytes = 1 << 20

func (c *Context) limit() int {
	if c.plugin.Builtin {
		return maxBuiltinSourceBytes
	}
	return MaxSourceBytes
}
