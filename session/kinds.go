package session

import "github.com/plinthhost/plinth/registry"

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
		Tools:      registry.NewKind[Tool]("tool"),
		Contexts:   registry.NewKind[ContextSource]("context source"),
		Transforms: registry.NewKind[Transform]("transform"),
	}
}

// Registries makes empty registries of all kinds, which swap together.
func (k Kinds) Registries() *registry.Registries {
	return registry.New(k.Providers, k.Tools, k.Contexts, k.Transforms)
}
