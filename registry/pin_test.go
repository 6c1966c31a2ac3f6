package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
)

func (k kinds) registration(t *testing.T, p *registry.Pin, name string) uint64 {
	t.Helper()
	e, ok := registry.Lookup(p, k.tools, name)
	if !ok {
		t.Fatalf("no tool %q", name)
	}
	return e.Registration
}

func (k kinds) wantState(t *testing.T, registration uint64, want registry.RegistrationState) {
	t.Helper()
	if got := k.State(registration); got != want {
		t.Errorf("registration %d is %v, want %v", registration, got, want)
	}
}

func TestRetirementWaitsForTheLastPin(t *testing.T) {
	k := newKinds()
	if !retired(k.mustReplace(t, k.scope("p", "/a", "t"))) {
		t.Error("opening a scope retires nothing, yet its retirement is not done")
	}
	first, second := k.Pin("/a"), k.Pin("/a")
	elsewhere, global := k.Pin("/b"), k.Pin("")
	retirement := k.mustReplace(t, k.scope("p", "/a", "t"))
	later := k.Pin("/a")
	defer elsewhere.Release()
	defer global.Release()
	defer later.Release()

	first.Release()
	first.Release()
	if retired(retirement) {
		t.Error("retired while the second pin holds it")
	}
	second.Release()
	if !retired(retirement) {
		t.Error("not retired although only pins that never saw it are left")
	}
}

func TestRetirementOutlivesOtherChangesOfTheLevel(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("p", "", "t"))
	first := k.Pin("")
	k.mustReplace(t, k.scope("other", "", "o"))
	second := k.Pin("/a")
	removal, ok := k.Remove("p", "")
	if !ok {
		t.Fatal("the scope is not open")
	}
	k.Remove("other", "")
	for _, pin := range []*registry.Pin{first, second} {
		if retired(removal) {
			t.Error("retired under a pin")
		}
		pin.Release()
	}
	if !retired(removal) {
		t.Error("not retired after the last pin")
	}
}

func TestRemoveOfNoScope(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("p", "", "t"))
	retirement, ok := k.Remove("p", "/a")
	if ok || !retired(retirement) {
		t.Errorf("Remove: %v, done %v", ok, retired(retirement))
	}
	k.wantTools(t, "", "t=p")
}

func TestStateOfAReplacedAndARemovedRegistration(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("app", "", "t"))
	k.mustReplace(t, k.scope("project", "/a", "t"))
	p := k.Pin("/a")
	defer p.Release()
	advertised := k.registration(t, p, "t")
	k.wantState(t, advertised, registry.Active)

	k.mustReplace(t, k.scope("project", "/a", "t"))
	k.wantState(t, advertised, registry.Replaced)

	// Closing leaves the pinned call stale although the global tool of that name is there.
	k.Remove("project", "/a")
	k.wantState(t, advertised, registry.Removed)
	k.wantTools(t, "/a", "t=app")

	// Registering the identical contribution again does not bring it back.
	k.mustReplace(t, k.scope("project", "/a", "t"))
	k.wantState(t, advertised, registry.Removed)
	if got := k.registration(t, p, "t"); got != advertised {
		t.Errorf("the pin shows registration %d, had %d", got, advertised)
	}
}

func TestStateWhenOnlyOneOfTwoScopesIsClosed(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("p", "", "t"))
	k.mustReplace(t, k.scope("q", "", "u"))
	p := k.Pin("")
	defer p.Release()
	k.Remove("p", "")
	k.wantState(t, k.registration(t, p, "t"), registry.Removed)
	k.wantState(t, k.registration(t, p, "u"), registry.Active)
}

func TestStateOfAnUnpinnedPastRegistration(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("p", "", "t"))
	p := k.Pin("")
	past := k.registration(t, p, "t")
	k.mustReplace(t, k.scope("p", "", "t"))
	p.Release()
	k.wantState(t, past, registry.Removed)
	k.wantState(t, 0, registry.Removed)
}

func TestRegistrationStateString(t *testing.T) {
	want := map[registry.RegistrationState]string{
		registry.Active: "active", registry.Replaced: "replaced", registry.Removed: "removed", 0: "RegistrationState(0)",
	}
	for state, text := range want {
		if state.String() != text {
			t.Errorf("%d is %q, want %q", int(state), state, text)
		}
	}
}

func TestScopesListsWhatThePinHolds(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("z", "", "t"))
	k.mustReplace(t, k.scope("m", "/a", "t"))
	k.mustReplace(t, k.scope("z", "/a"))
	k.mustReplace(t, k.scope("a", "/b", "t"))
	p := k.Pin("/a")
	defer p.Release()
	k.Remove("m", "/a")
	want := []registry.ScopeInfo{
		{ID: "m", Location: "/a", Revision: "r1"},
		{ID: "z", Revision: "r1"},
		{ID: "z", Location: "/a", Revision: "r1"},
	}
	if diff := cmp.Diff(want, p.Scopes()); diff != "" {
		t.Error(diff)
	}
}

func TestListsBelongToTheCaller(t *testing.T) {
	k := newKinds()
	scope := k.scope("p", "", "a", "b")
	k.mustReplace(t, scope)
	p := k.Pin("")
	defer p.Release()
	scope.Contributions[0] = k.tools.Contribute("changed", 0, "x")
	registry.All(p, k.tools)[0].Value = "changed"
	p.Scopes()[0].ID = "changed"
	if diff := cmp.Diff([]string{"a=p", "b=p"}, k.holders(p)); diff != "" {
		t.Error(diff)
	}
	if got := p.Scopes()[0].ID; got != "p" {
		t.Errorf("scope %q", got)
	}
}
