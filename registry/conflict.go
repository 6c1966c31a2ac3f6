package registry

import (
	"maps"
	"slices"
)

// check holds the scope against the rules that need no other scope.
func (r *Registries) check(scope Scope) error {
	if scope.ID == "" {
		return ErrNoID
	}
	if scope.Builtin && scope.Location != "" {
		return ErrBuiltinLocation
	}
	type claim struct {
		kind AnyKind
		name string
	}
	claimed := make(map[claim]bool, len(scope.Contributions))
	for _, c := range scope.Contributions {
		if !r.kinds[c.kind] {
			return &UnknownKindError{Kind: c.Kind(), Name: c.name, Scope: scope.ID}
		}
		if err := c.kind.checkName(c.name); err != nil {
			return &NameError{Kind: c.Kind(), Name: c.name, Scope: scope.ID, Err: err}
		}
		if claimed[claim{c.kind, c.name}] {
			return duplicate(c, scope, scope.ID)
		}
		claimed[claim{c.kind, c.name}] = true
	}
	return checkKeys(scope)
}

// conflict holds the scope against the open scopes, except against the
// revision that it is going to replace. Of several conflicts it reports the
// same one every time.
func (r *Registries) conflict(scope Scope) error {
	locations := r.met(scope)
	for _, c := range scope.Contributions {
		for _, location := range locations {
			held := r.layers[location].table(c.kind)[c.name]
			if held == nil || held.revision.info.ID == scope.ID && location == scope.Location {
				continue
			}
			if err := clash(c, scope, held); err != nil {
				return err
			}
		}
	}
	return r.keyConflict(scope)
}

// met lists the levels whose names the scope's names can meet: its own, the
// global one that may reserve them, and all when it reserves names itself.
func (r *Registries) met(scope Scope) []string {
	switch {
	case scope.Builtin:
		return slices.Sorted(maps.Keys(r.layers))
	case scope.Location == "":
		return []string{""}
	default:
		return []string{"", scope.Location}
	}
}

// clash decides on two contributions of one kind and name. It is nil for a
// Location's that shadows a global one.
func clash(c Contribution, scope Scope, held *registration) error {
	holder := held.revision
	switch {
	case holder.builtin == scope.Builtin && holder.info.Location == scope.Location:
		return duplicate(c, scope, holder.info.ID)
	case holder.builtin:
		return &ReservedError{
			Kind: c.Kind(), Name: c.name, Scope: scope.ID, Location: scope.Location, Holder: holder.info.ID,
		}
	case scope.Builtin:
		return &ReservedError{
			Kind: c.Kind(), Name: c.name, Scope: holder.info.ID, Location: holder.info.Location, Holder: scope.ID,
		}
	default:
		return nil
	}
}

func duplicate(c Contribution, scope Scope, holder string) error {
	return &DuplicateError{
		Kind: c.Kind(), Name: c.name, Scope: scope.ID, Location: scope.Location, Holder: holder,
	}
}
