package registry

import (
	"maps"
	"slices"
)

// checkKeys holds the keys of a scope against their kinds and each other.
func checkKeys(scope Scope) error {
	for i, c := range scope.Contributions {
		for _, key := range c.keys {
			if err := c.kind.checkKey(key); err != nil {
				return &NameError{Kind: c.Kind() + " key", Name: key, Scope: scope.ID, Err: err}
			}
		}
		for _, other := range scope.Contributions[:i] {
			if key, shared := sharedKey(c, other); shared {
				return &DuplicateKeyError{Kind: c.Kind(), Key: key, Name: c.name, Scope: scope.ID, HolderName: other.name, Holder: scope.ID}
			}
		}
	}
	return nil
}

// keyConflict holds the keys of a scope against those of the open scopes that a pin
// could show beside it, except the revision that it is going to replace. What has the
// same name is shadowed, or was refused before.
func (r *Registries) keyConflict(scope Scope) error {
	locations := []string{"", scope.Location}
	if scope.Location == "" {
		locations = slices.Sorted(maps.Keys(r.layers))
	}
	for _, c := range scope.Contributions {
		if len(c.keys) == 0 {
			continue
		}
		for _, location := range locations {
			table := r.layers[location].table(c.kind)
			for _, name := range slices.Sorted(maps.Keys(table)) {
				holder := table[name].revision.info
				if name == c.name || holder.ID == scope.ID && holder.Location == scope.Location {
					continue
				}
				if key, shared := sharedKey(c, table[name].Contribution); shared {
					return &DuplicateKeyError{Kind: c.Kind(), Key: key, Name: c.name, Scope: scope.ID, HolderName: name, Holder: holder.ID}
				}
			}
		}
	}
	return nil
}

func sharedKey(a, b Contribution) (key string, shared bool) {
	if a.kind != b.kind {
		return "", false
	}
	for _, key := range a.keys {
		if slices.Contains(b.keys, key) {
			return key, true
		}
	}
	return "", false
}
