package registry

import (
	"fmt"
	"testing"
)

// A host sees many Locations and reloads in its life. What is closed and
// unpinned must leave nothing behind.
func TestClosedScopesLeaveNothing(t *testing.T) {
	tools := NewKind[int]("tool")
	r := New(tools)
	for i := range 50 {
		scope := Scope{ID: "p", Location: fmt.Sprint(i), Contributions: []Contribution{tools.Contribute("t", 0, i)}}
		for range 2 {
			if _, err := r.Replace(scope); err != nil {
				t.Fatal(err)
			}
		}
		pin := r.Pin(scope.Location)
		r.Remove(scope.ID, scope.Location)
		pin.Release()
	}
	if len(r.open) != 0 || len(r.live) != 0 || len(r.layers) != 1 {
		t.Errorf("%d scopes, %d registrations and %d layers are left", len(r.open), len(r.live), len(r.layers))
	}
}
