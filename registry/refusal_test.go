package registry_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
)

func TestRefusedScopesChangeNothing(t *testing.T) {
	k := newKinds()
	k.mustReplace(t, k.builtin("core", "read", "write"))
	k.mustReplace(t, k.scope("p", "", "t"))
	k.mustReplace(t, k.scope("q", "", "q"))
	k.mustReplace(t, k.scope("l", "/a", "m"))
	other := registry.NewKind[string]("tool")

	tests := []struct {
		name  string
		scope registry.Scope
		want  error
	}{
		{"no id", k.scope("", "", "x"), registry.ErrNoID},
		{"builtin at a Location", registry.Scope{ID: "x", Location: "/a", Builtin: true}, registry.ErrBuiltinLocation},
		{
			"kind of the same name", registry.Scope{ID: "x", Contributions: []registry.Contribution{other.Contribute("x", 0, "")}},
			&registry.UnknownKindError{Kind: "tool", Name: "x", Scope: "x"},
		},
		{
			"zero contribution", registry.Scope{ID: "x", Contributions: make([]registry.Contribution, 1)},
			&registry.UnknownKindError{Scope: "x"},
		},
		{
			"twice in the scope", k.scope("x", "", "x", "x"),
			&registry.DuplicateError{Kind: "tool", Name: "x", Scope: "x", Holder: "x"},
		},
		{
			"held by another global scope", k.scope("x", "", "x", "t"),
			&registry.DuplicateError{Kind: "tool", Name: "t", Scope: "x", Holder: "p"},
		},
		{
			"held by another scope of the Location", k.scope("x", "/a", "m"),
			&registry.DuplicateError{Kind: "tool", Name: "m", Scope: "x", Location: "/a", Holder: "l"},
		},
		{
			"replacement takes a name", k.scope("p", "", "t", "q"),
			&registry.DuplicateError{Kind: "tool", Name: "q", Scope: "p", Holder: "q"},
		},
		{
			"two builtin scopes", k.builtin("x", "read"),
			&registry.DuplicateError{Kind: "tool", Name: "read", Scope: "x", Holder: "core"},
		},
		{
			"Location takes a builtin name", k.scope("x", "/b", "x", "write"),
			&registry.ReservedError{Kind: "tool", Name: "write", Scope: "x", Location: "/b", Holder: "core"},
		},
		{
			"global scope takes a builtin name", k.scope("x", "", "read"),
			&registry.ReservedError{Kind: "tool", Name: "read", Scope: "x", Holder: "core"},
		},
		{
			"builtin scope finds its name taken at a Location", k.builtin("x", "m"),
			&registry.ReservedError{Kind: "tool", Name: "m", Scope: "l", Location: "/a", Holder: "x"},
		},
		{
			"builtin scope finds its name taken globally", k.builtin("x", "t"),
			&registry.ReservedError{Kind: "tool", Name: "t", Scope: "p", Holder: "x"},
		},
	}
	pin := k.Pin("/a")
	defer pin.Release()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			retirement, err := k.Replace(test.scope)
			if retirement != nil {
				t.Error("a refused scope has a retirement")
			}
			if diff := cmp.Diff(test.want, unwrapped(err), cmp.Comparer(sameSentinel)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			now := k.Pin("/a")
			defer now.Release()
			if diff := cmp.Diff(registry.All(pin, k.tools), registry.All(now, k.tools)); diff != "" {
				t.Errorf("the registries changed:\n%s", diff)
			}
			if diff := cmp.Diff(pin.Scopes(), now.Scopes()); diff != "" {
				t.Errorf("the scopes changed:\n%s", diff)
			}
		})
	}
}

// TestNamesAreCheckedBeforeAnythingChanges: one bad name refuses the whole scope.
func TestNamesAreCheckedBeforeAnythingChanges(t *testing.T) {
	tooLong := errors.New("it is too long")
	short := registry.NewNamedKind[int]("tool", func(name string) error {
		if len(name) > 3 {
			return tooLong
		}
		return nil
	})
	r := registry.New(short)
	open := func(names ...string) error {
		scope := registry.Scope{ID: "x"}
		for i, name := range names {
			scope.Contributions = append(scope.Contributions, short.Contribute(name, 0, i))
		}
		_, err := r.Replace(scope)
		return err
	}
	if err := open("abc"); err != nil {
		t.Fatal(err)
	}
	err := open("d", "long")
	refused, ok := errors.AsType[*registry.NameError](err)
	if !ok || !errors.Is(err, tooLong) || refused.Kind != "tool" || refused.Name != "long" || refused.Scope != "x" {
		t.Errorf("got %v", err)
	}
	pin := r.Pin("")
	defer pin.Release()
	if all := registry.All(pin, short); len(all) != 1 || all[0].Name != "abc" {
		t.Errorf("the registries changed: %+v", all)
	}
}

func unwrapped(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// sameSentinel compares the two plain errors; structs are compared by field.
func sameSentinel(a, b error) bool {
	for _, sentinel := range []error{registry.ErrNoID, registry.ErrBuiltinLocation} {
		if errors.Is(a, sentinel) || errors.Is(b, sentinel) {
			return errors.Is(a, b)
		}
	}
	return cmp.Equal(a, b)
}

func TestErrorTextsNameWhoAndWhat(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{
			&registry.UnknownKindError{Kind: "hook", Name: "n", Scope: "s"},
			`scope "s" contributes "n" to the unknown kind "hook"`,
		},
		{
			&registry.NameError{Kind: "tool", Name: "n", Scope: "s", Err: errors.New("names are longer")},
			`scope "s" cannot contribute the tool "n": names are longer`,
		},
		{
			&registry.DuplicateError{Kind: "tool", Name: "n", Scope: "s", Holder: "s"},
			`scope "s" contributes the tool "n" twice`,
		},
		{
			&registry.DuplicateError{Kind: "tool", Name: "n", Scope: "s", Holder: "h"},
			`scope "s" cannot contribute the tool "n": scope "h" has that name; rename one or remove the other`,
		},
		{
			&registry.ReservedError{Kind: "tool", Name: "n", Scope: "s", Holder: "h"},
			`global scope "s" cannot have the tool "n": the name is reserved for the builtin scope "h"; rename it`,
		},
		{
			&registry.ReservedError{Kind: "tool", Name: "n", Scope: "s", Location: "/a", Holder: "h"},
			`Location "/a": scope "s" cannot have the tool "n": the name is reserved for the builtin scope "h"; rename it`,
		},
	}
	for _, test := range tests {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
