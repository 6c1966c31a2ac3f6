package registry_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/registry"
)

// modelScope is an open scope of the model: what was asked for, nothing more.
type modelScope struct {
	scope registry.Scope
	names []string
	// opening and revision number the scope's opening and its revision.
	opening, revision int
}

// modelPin is a pin and all that it has to show for as long as it is held.
type modelPin struct {
	pin   *registry.Pin
	tools []string
	infos []registry.ScopeInfo
	holds map[int]bool // revisions
	given map[uint64]*modelScope
}

// model is the naive registry: a list of open scopes, folded anew for every
// question.
type model struct {
	kinds
	open        []*modelScope
	pins        []*modelPin
	retirements map[int]*registry.Retirement
	revisions   int
}

var (
	modelIDs       = rapid.SampledFrom([]string{"core", "p", "q", "r"})
	modelLocations = rapid.SampledFrom([]string{"", "", "/a", "/b"})
	modelNames     = rapid.SliceOfN(rapid.SampledFrom([]string{"t", "u", "v", "w", "x"}), 0, 3)
)

func TestRegistriesFollowTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{kinds: newKinds(), retirements: map[int]*registry.Retirement{}}
		t.Repeat(map[string]func(*rapid.T){
			"replace": m.replace,
			"remove":  m.remove,
			"pin":     m.pin,
			"release": m.release,
			"":        m.verify,
		})
	})
}

func (m *model) replace(t *rapid.T) {
	id, location := modelIDs.Draw(t, "id"), modelLocations.Draw(t, "location")
	builtin := location == "" && rapid.Bool().Draw(t, "builtin")
	next := &modelScope{names: modelNames.Draw(t, "names"), revision: m.revisions}
	next.scope = registry.Scope{
		ID: id, Location: location, Builtin: builtin, Revision: fmt.Sprint(next.revision),
	}
	for i, name := range next.names {
		next.scope.Contributions = append(next.scope.Contributions,
			m.tools.Contribute(name, len(next.names)-i, next.scope.Revision),
			m.sources.Contribute(name, 0, next.revision))
	}

	retirement, err := m.Replace(next.scope)
	want := m.refusal(next)
	var duplicate *registry.DuplicateError
	var reserved *registry.ReservedError
	got := ""
	switch {
	case errors.As(err, &duplicate):
		got = "duplicate"
	case errors.As(err, &reserved):
		got = "reserved"
	case err != nil:
		t.Fatalf("unexpected error %v", err)
	}
	if !slices.Contains(want, got) {
		t.Fatalf("Replace says %q (%v), the model allows %q", got, err, want)
	}
	if err != nil {
		return
	}
	m.revisions++
	at := slices.IndexFunc(m.open, next.sameScope)
	if at < 0 {
		if !retired(retirement) {
			t.Fatal("nothing was replaced and the retirement is not done")
		}
		next.opening = next.revision
		m.open = append(m.open, next)
		return
	}
	next.opening = m.open[at].opening
	m.retirements[m.open[at].revision] = retirement
	m.open[at] = next
}

// refusal says which outcomes the rules allow; "" is success.
func (m *model) refusal(next *modelScope) []string {
	if len(slices.Compact(slices.Sorted(slices.Values(next.names)))) != len(next.names) {
		return []string{"duplicate"}
	}
	var outcomes []string
	for _, other := range m.open {
		if other.sameScope(next) || !slices.ContainsFunc(next.names, func(n string) bool {
			return slices.Contains(other.names, n)
		}) {
			continue
		}
		switch {
		case next.scope.Builtin != other.scope.Builtin:
			outcomes = append(outcomes, "reserved")
		case next.scope.Location == other.scope.Location:
			outcomes = append(outcomes, "duplicate")
		}
	}
	if outcomes == nil {
		return []string{""}
	}
	return outcomes
}

func (s *modelScope) sameScope(other *modelScope) bool {
	return s.scope.ID == other.scope.ID && s.scope.Location == other.scope.Location
}

func (m *model) remove(t *rapid.T) {
	gone := &modelScope{scope: registry.Scope{ID: modelIDs.Draw(t, "id"), Location: modelLocations.Draw(t, "location")}}
	retirement, ok := m.Remove(gone.scope.ID, gone.scope.Location)
	at := slices.IndexFunc(m.open, gone.sameScope)
	if ok != (at >= 0) {
		t.Fatalf("Remove says %v", ok)
	}
	if !ok {
		if !retired(retirement) {
			t.Fatal("the retirement of nothing is not done")
		}
		return
	}
	m.retirements[m.open[at].revision] = retirement
	m.open = slices.Delete(m.open, at, at+1)
}

func (m *model) pin(t *rapid.T) {
	location := modelLocations.Draw(t, "location")
	taken := &modelPin{pin: m.Pin(location), holds: map[int]bool{}, given: map[uint64]*modelScope{}}
	taken.tools, taken.infos = m.fold(location)
	for _, s := range m.open {
		if s.scope.Location == "" || s.scope.Location == location {
			taken.holds[s.revision] = true
		}
	}
	for _, e := range registry.All(taken.pin, m.tools) {
		at := slices.IndexFunc(m.open, func(s *modelScope) bool { return fmt.Sprint(s.revision) == e.Revision })
		taken.given[e.Registration] = m.open[at]
	}
	m.pins = append(m.pins, taken)
}

func (m *model) release(t *rapid.T) {
	if len(m.pins) == 0 {
		t.Skip("no pins")
	}
	at := rapid.IntRange(0, len(m.pins)-1).Draw(t, "pin")
	m.pins[at].pin.Release()
	m.pins = slices.Delete(m.pins, at, at+1)
}

// fold is what a pin of the Location has to show now.
func (m *model) fold(location string) ([]string, []registry.ScopeInfo) {
	type found struct {
		order int
		name  string
		from  *modelScope
	}
	var all []found
	var infos []registry.ScopeInfo
	for _, level := range slices.Compact([]string{location, ""}) {
		for _, s := range m.open {
			if s.scope.Location != level {
				continue
			}
			infos = append(infos, registry.ScopeInfo{ID: s.scope.ID, Location: level, Revision: s.scope.Revision})
			for i, name := range s.names {
				shadowed := slices.ContainsFunc(all, func(f found) bool { return f.name == name })
				if !shadowed {
					all = append(all, found{len(s.names) - i, name, s})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	slices.SortFunc(infos, func(a, b registry.ScopeInfo) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Location, b.Location))
	})
	tools := []string{}
	for _, f := range all {
		tools = append(tools, fmt.Sprintf("%d %s=%s of %s at %s", f.order, f.name, f.from.scope.Revision,
			f.from.scope.ID, f.from.scope.Location))
	}
	return tools, infos
}

// shown is what the pin shows, in the words of fold.
func (m *model) shown(t *rapid.T, p *registry.Pin) []string {
	tools := []string{}
	for _, e := range registry.All(p, m.tools) {
		tools = append(tools, fmt.Sprintf("%d %s=%s of %s at %s", e.Order, e.Name, e.Value, e.Scope, e.Location))
		same, ok := registry.Lookup(p, m.tools, e.Name)
		if !ok || same != e {
			t.Fatalf("Lookup gives %+v, All gives %+v", same, e)
		}
		source, ok := registry.Lookup(p, m.sources, e.Name)
		if !ok || fmt.Sprint(source.Value) != e.Value {
			t.Fatalf("the kinds disagree: source %+v, tool %+v", source, e)
		}
	}
	return tools
}

// verify runs after every action.
func (m *model) verify(t *rapid.T) {
	for _, location := range []string{"", "/a", "/b", "/none"} {
		fresh := m.Pin(location)
		tools, infos := m.fold(location)
		if diff := gocmp.Diff(tools, m.shown(t, fresh)); diff != "" {
			t.Fatalf("a fresh pin of %q (-model +registries):\n%s", location, diff)
		}
		if diff := gocmp.Diff(infos, fresh.Scopes()); diff != "" {
			t.Fatalf("the scopes of %q (-model +registries):\n%s", location, diff)
		}
		fresh.Release()
	}
	for _, held := range m.pins {
		if diff := gocmp.Diff(held.tools, m.shown(t, held.pin)); diff != "" {
			t.Fatalf("an old pin has changed (-taken +now):\n%s", diff)
		}
		if diff := gocmp.Diff(held.infos, held.pin.Scopes()); diff != "" {
			t.Fatalf("an old pin's scopes have changed (-taken +now):\n%s", diff)
		}
		for registration, from := range held.given {
			if got, want := m.State(registration), m.state(from); got != want {
				t.Fatalf("registration %d is %v, want %v", registration, got, want)
			}
		}
	}
	for revision, retirement := range m.retirements {
		pinned := slices.ContainsFunc(m.pins, func(p *modelPin) bool { return p.holds[revision] })
		if retired(retirement) == pinned {
			t.Fatalf("revision %d: retired %v, pinned %v", revision, !pinned, pinned)
		}
	}
}

func (m *model) state(from *modelScope) registry.RegistrationState {
	at := slices.IndexFunc(m.open, func(s *modelScope) bool { return s.opening == from.opening })
	switch {
	case at < 0:
		return registry.Removed
	case m.open[at].revision != from.revision:
		return registry.Replaced
	default:
		return registry.Active
	}
}
