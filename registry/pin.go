package registry

import (
	"cmp"
	"slices"
)

// Pin is an immutable snapshot of the registries: the global contributions with
// one Location's over them. Its holder must release it and must not use what it
// found in it afterwards.
type Pin struct {
	registries *Registries
	global     *layer
	overlay    *layer
	released   bool // guarded by Registries.mu
}

// Entry is a contribution as a pin shows it.
type Entry[T any] struct {
	Name  string
	Order int
	Value T
	// Scope, Location (empty: global), Revision and Builtin are those of the
	// scope that contributes it.
	Scope    string
	Location string
	Revision string
	Builtin  bool
	// Registration is the identity of this contribution in this process: every
	// Replace gives new ones, even for an equal value. It is never 0.
	Registration uint64
}

// Pin takes the snapshot for a Location; an empty one stands for the global
// contributions alone. Its cost does not depend on how much there is.
func (r *Registries) Pin(location string) *Pin {
	r.mu.Lock()
	defer r.mu.Unlock()
	pin := &Pin{registries: r, global: r.layers[""]}
	pin.global.uses++
	if location != "" && r.layers[location] != nil {
		pin.overlay = r.layers[location]
		pin.overlay.uses++
	}
	return pin
}

// Release gives the snapshot up. It is safe to call twice.
func (p *Pin) Release() {
	p.registries.mu.Lock()
	defer p.registries.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	p.registries.drop(p.global)
	p.registries.drop(p.overlay)
}

// Scopes lists what the pin holds, by ID and then Location, including scopes
// that contribute nothing or whose contributions are all shadowed.
func (p *Pin) Scopes() []ScopeInfo {
	var infos []ScopeInfo
	for _, level := range []*layer{p.global, p.overlay} {
		for _, held := range level.without(nil) {
			infos = append(infos, held.info)
		}
	}
	slices.SortFunc(infos, func(a, b ScopeInfo) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Location, b.Location))
	})
	return infos
}

// Lookup finds the value of that name: the Location's if it has one, else the
// global one.
func Lookup[T any](p *Pin, k *Kind[T], name string) (Entry[T], bool) {
	for _, level := range []*layer{p.overlay, p.global} {
		if found := level.table(k)[name]; found != nil {
			return entry[T](found), true
		}
	}
	return Entry[T]{}, false
}

// All lists the values of a kind by order, then by the bytes of the name. The
// list is the caller's own. It is empty for a kind the registries do not have.
func All[T any](p *Pin, k *Kind[T]) []Entry[T] {
	over := p.overlay.table(k)
	under := p.global.table(k)
	effective := make([]*registration, 0, len(over)+len(under))
	for _, found := range over {
		effective = append(effective, found)
	}
	for name, found := range under {
		if over[name] == nil {
			effective = append(effective, found)
		}
	}
	slices.SortFunc(effective, func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	entries := make([]Entry[T], len(effective))
	for i, found := range effective {
		entries[i] = entry[T](found)
	}
	return entries
}

// entry types a registration of kind *Kind[T].
func entry[T any](found *registration) Entry[T] {
	value, _ := found.value.(T) // fails only for a nil interface, which is T's zero value
	from := found.revision
	return Entry[T]{
		Name:         found.name,
		Order:        found.order,
		Value:        value,
		Scope:        from.info.ID,
		Location:     from.info.Location,
		Revision:     from.info.Revision,
		Builtin:      from.builtin,
		Registration: found.id,
	}
}
