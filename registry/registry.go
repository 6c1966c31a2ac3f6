package registry

import (
	"fmt"
	"sync"
)

// Registries holds the open scopes of a fixed set of kinds. It is safe for use
// by several goroutines.
type Registries struct {
	kinds map[AnyKind]bool

	mu     sync.Mutex
	last   uint64 // the registration given last
	open   map[scopeKey]*openScope
	layers map[string]*layer // the current ones by Location; the global one under ""
	live   map[uint64]*revision
}

// scopeKey is what names a scope.
type scopeKey struct {
	id       string
	location string
}

// RegistrationState says what became of a registration.
type RegistrationState int

const (
	// Active: the registration belongs to the current revision of its scope.
	Active RegistrationState = iota + 1
	// Replaced: its scope is open with another revision. A turn that pinned the
	// registration may go on with it.
	Replaced
	// Removed: its scope was closed, even if one of that ID was opened since. A
	// call that has not started settles as stale.
	Removed
)

func (s RegistrationState) String() string {
	switch s {
	case Active:
		return "active"
	case Replaced:
		return "replaced"
	case Removed:
		return "removed"
	default:
		return fmt.Sprintf("RegistrationState(%d)", int(s))
	}
}

// Retirement is the end of one revision of a scope.
type Retirement struct {
	done chan struct{}
}

// Done is closed as soon as no pin holds the revision: its values are out of
// reach and their owner may close them.
func (r *Retirement) Done() <-chan struct{} { return r.done }

// New makes empty registries of these kinds. Two kinds of one name would make
// errors ambiguous and are a mistake of the program: New panics.
func New(kinds ...AnyKind) *Registries {
	r := &Registries{
		kinds:  make(map[AnyKind]bool, len(kinds)),
		open:   map[scopeKey]*openScope{},
		layers: map[string]*layer{"": newLayer(nil)},
		live:   map[uint64]*revision{},
	}
	names := make(map[string]bool, len(kinds))
	for _, kind := range kinds {
		if names[kind.Name()] {
			panic(fmt.Sprintf("registry: two kinds are named %q", kind.Name()))
		}
		names[kind.Name()] = true
		r.kinds[kind] = true
	}
	return r
}

// Replace opens the scope, or replaces all contributions of the open scope with
// that ID and Location. It happens at once over all kinds: a pin sees all of
// the scope's former contributions or all of the new ones. On an error nothing
// has changed.
//
// The retirement is that of the former revision; it is done already when the
// scope was not open before.
//
// Errors: ErrNoID, ErrBuiltinLocation, *UnknownKindError, *NameError,
// *DuplicateError, *ReservedError, *DuplicateKeyError.
func (r *Registries) Replace(scope Scope) (*Retirement, error) {
	if err := r.check(scope); err != nil {
		return nil, fmt.Errorf("open scope: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.conflict(scope); err != nil {
		return nil, fmt.Errorf("open scope: %w", err)
	}

	key := scopeKey{scope.ID, scope.Location}
	holder := r.open[key]
	if holder == nil {
		holder = &openScope{}
		r.open[key] = holder
	}
	former := holder.current
	holder.current = r.register(holder, scope)
	r.swap(scope.Location, former, holder.current)
	return former.retirementOrDone(), nil
}

// Check answers what Replace would fail with, and changes nothing. Who changes scopes
// one after the other knows by it that the next Replace will do.
func (r *Registries) Check(scope Scope) error {
	if err := r.check(scope); err != nil {
		return fmt.Errorf("open scope: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.conflict(scope); err != nil {
		return fmt.Errorf("open scope: %w", err)
	}
	return nil
}

// Remove closes the scope with that ID and Location and reveals what it
// shadowed. It reports whether the scope was open; if it was not, the
// retirement is done already.
func (r *Registries) Remove(id, location string) (*Retirement, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := scopeKey{id, location}
	holder, ok := r.open[key]
	if !ok {
		return (*revision)(nil).retirementOrDone(), false
	}
	delete(r.open, key)
	holder.closed = true
	r.swap(location, holder.current, nil)
	return holder.current.retirementOrDone(), true
}

// State says what became of a registration that the caller's pin holds. A
// registration that no pin holds and no scope has is Removed.
func (r *Registries) State(registration uint64) RegistrationState {
	r.mu.Lock()
	defer r.mu.Unlock()
	held, ok := r.live[registration]
	switch {
	case !ok || held.scope.closed:
		return Removed
	case held.scope.current != held:
		return Replaced
	default:
		return Active
	}
}

// register makes the scope's next revision and gives its contributions their
// identities.
func (r *Registries) register(holder *openScope, scope Scope) *revision {
	made := newRevision(holder, scope)
	for _, contribution := range scope.Contributions {
		r.last++
		made.registrations = append(made.registrations, &registration{
			Contribution: contribution, id: r.last, revision: made,
		})
		r.live[r.last] = made
	}
	return made
}

// swap makes the Location's next layer: without former, with next. Either may
// be nil.
func (r *Registries) swap(location string, former, next *revision) {
	old := r.layers[location]
	revisions := old.without(former)
	if next != nil {
		revisions = append(revisions, next)
	}
	if len(revisions) == 0 && location != "" {
		delete(r.layers, location)
	} else {
		r.layers[location] = newLayer(revisions)
	}
	r.drop(old)
}

// drop gives up one use of a layer. The revisions that were held by nothing
// but this layer are retired.
func (r *Registries) drop(l *layer) {
	if l == nil {
		return
	}
	l.uses--
	if l.uses > 0 {
		return
	}
	for _, held := range l.revisions {
		held.layers--
		if held.layers > 0 {
			continue
		}
		for _, registered := range held.registrations {
			delete(r.live, registered.id)
		}
		close(held.retirement.done)
	}
}
