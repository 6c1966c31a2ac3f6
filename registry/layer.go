package registry

import (
	"cmp"
	"slices"
)

// openScope is a scope from its opening to its closing, over all revisions.
type openScope struct {
	current *revision
	closed  bool
}

// revision is what a scope had from one Replace to the next. All but layers is
// immutable.
type revision struct {
	scope         *openScope
	info          ScopeInfo
	builtin       bool
	registrations []*registration
	retirement    *Retirement
	layers        int // how many layers in use hold it; guarded by Registries.mu
}

// registration is a contribution in a revision, with the identity it got.
type registration struct {
	Contribution
	id       uint64
	revision *revision
}

func newRevision(holder *openScope, scope Scope) *revision {
	return &revision{
		scope:      holder,
		info:       ScopeInfo{ID: scope.ID, Location: scope.Location, Revision: scope.Revision},
		builtin:    scope.Builtin,
		retirement: &Retirement{done: make(chan struct{})},
	}
}

// retirementOrDone is the revision's retirement; that of no revision is done.
func (r *revision) retirementOrDone() *Retirement {
	if r != nil {
		return r.retirement
	}
	done := make(chan struct{})
	close(done)
	return &Retirement{done: done}
}

// layer is all that the open scopes of one level contribute at one moment. It
// never changes, but for the count of its uses. A nil layer is an empty one.
type layer struct {
	revisions []*revision // by scope ID
	tables    map[AnyKind]map[string]*registration
	uses      int // the pins that hold it, and one while it is current; guarded by Registries.mu
}

// newLayer folds the revisions into a layer that is in use once. No two of
// them have a name in common.
func newLayer(revisions []*revision) *layer {
	slices.SortFunc(revisions, func(a, b *revision) int { return cmp.Compare(a.info.ID, b.info.ID) })
	made := &layer{revisions: revisions, tables: map[AnyKind]map[string]*registration{}, uses: 1}
	for _, held := range revisions {
		held.layers++
		for _, registered := range held.registrations {
			table := made.tables[registered.kind]
			if table == nil {
				table = map[string]*registration{}
				made.tables[registered.kind] = table
			}
			table[registered.name] = registered
		}
	}
	return made
}

// without is a fresh list of the layer's revisions that leaves one out.
func (l *layer) without(left *revision) []*revision {
	if l == nil {
		return nil
	}
	kept := make([]*revision, 0, len(l.revisions)+1)
	for _, held := range l.revisions {
		if held != left {
			kept = append(kept, held)
		}
	}
	return kept
}

// table is the layer's registrations of one kind by name. It must not be
// written to.
func (l *layer) table(kind AnyKind) map[string]*registration {
	if l == nil {
		return nil
	}
	return l.tables[kind]
}
