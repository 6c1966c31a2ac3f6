package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
)

// kinds are two kinds of different types and the registries made with them.
type kinds struct {
	*registry.Registries
	tools   *registry.Kind[string]
	sources *registry.Kind[int]
}

func newKinds() kinds {
	k := kinds{tools: registry.NewKind[string]("tool"), sources: registry.NewKind[int]("context source")}
	k.Registries = registry.New(k.tools, k.sources)
	return k
}

// scope makes a scope with one tool per name, whose value is the scope's ID.
func (k kinds) scope(id, location string, names ...string) registry.Scope {
	s := registry.Scope{ID: id, Location: location, Revision: "r1"}
	for _, name := range names {
		s.Contributions = append(s.Contributions, k.tools.Contribute(name, 0, id))
	}
	return s
}

func (k kinds) builtin(id string, names ...string) registry.Scope {
	s := k.scope(id, "", names...)
	s.Builtin = true
	return s
}

func (k kinds) mustReplace(t *testing.T, scope registry.Scope) *registry.Retirement {
	t.Helper()
	retirement, err := k.Replace(scope)
	if err != nil {
		t.Fatalf("Replace(%s): %v", scope.ID, err)
	}
	return retirement
}

// holders says which scope each tool comes from, in the order of All.
func (k kinds) holders(p *registry.Pin) []string {
	held := []string{}
	for _, e := range registry.All(p, k.tools) {
		held = append(held, e.Name+"="+e.Value)
	}
	return held
}

func (k kinds) wantTools(t *testing.T, location string, want ...string) {
	t.Helper()
	p := k.Pin(location)
	defer p.Release()
	if diff := cmp.Diff(append([]string{}, want...), k.holders(p)); diff != "" {
		t.Errorf("tools at %q (-want +got):\n%s", location, diff)
	}
}

func retired(r *registry.Retirement) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

func TestLocationShadowsGlobalUntilItCloses(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("app", "", "t", "u"))
	k.mustReplace(t, k.scope("project", "/a", "t"))
	k.wantTools(t, "/a", "t=project", "u=app")
	k.wantTools(t, "/b", "t=app", "u=app")
	k.wantTools(t, "", "t=app", "u=app")

	if _, ok := k.Remove("project", "/a"); !ok {
		t.Fatal("Remove found no scope")
	}
	k.wantTools(t, "/a", "t=app", "u=app")
}

func TestScopesOfOneIDAtSeveralLocations(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("same", "", "g"))
	k.mustReplace(t, k.scope("same", "/a", "a"))
	k.mustReplace(t, k.scope("same", "/b", "b"))
	k.Remove("same", "/a")
	k.wantTools(t, "/a", "g=same")
	k.wantTools(t, "/b", "b=same", "g=same")
}

func TestAllIsOrderedByOrderThenNameBytes(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, registry.Scope{ID: "z", Contributions: []registry.Contribution{
		k.tools.Contribute("b", 1, ""), k.tools.Contribute("é", 0, ""), k.tools.Contribute("B", 1, ""),
		k.tools.Contribute("last", 7, ""), k.tools.Contribute("z", 0, ""),
	}})
	k.mustReplace(t, registry.Scope{ID: "a", Location: "/a", Contributions: []registry.Contribution{
		k.tools.Contribute("first", -1, ""), k.tools.Contribute("last", 0, "moved"),
	}})
	p := k.Pin("/a")
	defer p.Release()
	want := []string{"first=", "last=moved", "z=", "é=", "B=", "b="}
	if diff := cmp.Diff(want, k.holders(p)); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceSwapsAllKindsAtOnce(t *testing.T) {
	k := newKinds()
	scope := registry.Scope{ID: "p", Revision: "one", Contributions: []registry.Contribution{
		k.tools.Contribute("gone", 0, "1"), k.sources.Contribute("kept", 0, 1),
	}}
	k.mustReplace(t, scope)
	before := k.Pin("")
	defer before.Release()
	scope.Revision = "two"
	scope.Contributions = []registry.Contribution{
		k.tools.Contribute("new", 0, "2"), k.sources.Contribute("kept", 3, 2),
	}
	k.mustReplace(t, scope)
	after := k.Pin("")
	defer after.Release()

	want := registry.Entry[int]{Name: "kept", Order: 0, Value: 1, Scope: "p", Revision: "one", Registration: 2}
	if got, _ := registry.Lookup(before, k.sources, "kept"); got != want {
		t.Errorf("before: %+v, want %+v", got, want)
	}
	want = registry.Entry[int]{Name: "kept", Order: 3, Value: 2, Scope: "p", Revision: "two", Registration: 4}
	if got, _ := registry.Lookup(after, k.sources, "kept"); got != want {
		t.Errorf("after: %+v, want %+v", got, want)
	}
	if diff := cmp.Diff([]string{"gone=1"}, k.holders(before)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"new=2"}, k.holders(after)); diff != "" {
		t.Error(diff)
	}
	if _, ok := registry.Lookup(after, k.tools, "gone"); ok {
		t.Error("a dropped contribution is still found")
	}
}

func TestNilInterfaceValueIsAValue(t *testing.T) {
	failures := registry.NewKind[error]("failure")
	r := registry.New(failures)
	if _, err := r.Replace(registry.Scope{ID: "s", Contributions: []registry.Contribution{
		failures.Contribute("none", 0, nil),
	}}); err != nil {
		t.Fatal(err)
	}
	p := r.Pin("")
	defer p.Release()
	if e, ok := registry.Lookup(p, failures, "none"); !ok || e.Value != nil {
		t.Errorf("got %+v, %v", e, ok)
	}
}

func TestKindUnknownToTheRegistriesIsEmpty(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.scope("p", "", "t"))
	p := k.Pin("")
	defer p.Release()
	other := registry.NewKind[string]("tool")
	if _, ok := registry.Lookup(p, other, "t"); ok {
		t.Error("Lookup found a value of another kind")
	}
	if got := registry.All(p, other); len(got) != 0 {
		t.Errorf("All: %v", got)
	}
}

func TestNewRefusesKindsOfOneName(t *testing.T) {
	defer func() {
		if got := recover(); got != `registry: two kinds are named "tool"` {
			t.Errorf("recovered %v", got)
		}
	}()
	registry.New(registry.NewKind[int]("tool"), registry.NewKind[string]("tool"))
}

func TestContributionSaysWhatItIs(t *testing.T) {
	c := registry.NewKind[int]("tool").Contribute("read", 3, 1)
	if c.Kind() != "tool" || c.Name() != "read" {
		t.Errorf("%s %s", c.Kind(), c.Name())
	}
}
