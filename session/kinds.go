package session

import (
	"errors"
	"regexp"

	"github.com/plinthhost/plinth/registry"
)

// Kinds are the four registries of the ports. Providers go by the operator's
// name, tools by the name the model sees, context sources by contribution key,
// transforms by plugin and name.
type Kinds struct {
	Providers  *registry.Kind[Provider]
	Tools      *registry.Kind[Tool]
	Contexts   *registry.Kind[ContextSource]
	Transforms *registry.Kind[Transform]
}

// NewKinds makes the kinds. A program has one set.
func NewKinds() Kinds {
	return Kinds{
		Providers:  registry.NewKind[Provider]("provider"),
		Tools:      registry.NewNamedKind[Tool]("tool", checkToolName),
		Contexts:   registry.NewKeyedKind("context source", ContextSource.Keys, checkSourceKey),
		Transforms: registry.NewKind[Transform]("transform"),
	}
}

// Registries makes empty registries of all kinds, which swap together.
func (k Kinds) Registries() *registry.Registries {
	return registry.New(k.Providers, k.Tools, k.Contexts, k.Transforms)
}

// AgentSource is the key of what the kernel itself tells the model: what it works as.
const AgentSource = "host/agent"

func checkSourceKey(key string) error {
	if key == AgentSource {
		return errors.New("it is the host's own; choose another")
	}
	return nil
}

var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// checkToolName holds a tool's name to what the models' providers take.
func checkToolName(name string) error {
	if !toolName.MatchString(name) {
		return errors.New("a tool's name begins with a letter and has at most 64 letters, digits, _ and -; rename it")
	}
	return nil
}
