package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/registry"
)

// keyed is a registry of one kind whose values are their keys.
func keyed() (*registry.Registries, func(id, location, name string, keys ...string) error) {
	kind := registry.NewKeyedKind("source", func(keys []string) []string { return keys }, func(key string) error {
		if key == "taken" {
			return errors.New("it is the host's own")
		}
		return nil
	})
	r := registry.New(kind)
	return r, func(id, location, name string, keys ...string) error {
		_, err := r.Replace(registry.Scope{ID: id, Location: location, Contributions: []registry.Contribution{kind.Contribute(name, 0, keys)}})
		return err
	}
}

func TestKeysAreUniqueOverAllContributions(t *testing.T) {
	for _, test := range []struct {
		name                string
		id, location, entry string
		keys                []string
		want                string // the holder; "" for nothing in the way
	}{
		{"another key", "q", "", "q", []string{"c"}, ""},
		{"a key of another scope", "q", "", "q", []string{"c", "b"}, "p"},
		{"beside it at a Location", "q", "/x", "q", []string{"a"}, "p"},
		{"in the shadow of a Location", "q", "/x", "p", []string{"a"}, ""},
		{"below a Location", "q", "", "q", []string{"l"}, "local"},
		{"another Location", "q", "/y", "q", []string{"l"}, ""},
		{"its own next revision", "p", "", "p", []string{"b", "c"}, ""},
		{"its own, renamed", "p", "", "renamed", []string{"b"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, open := keyed()
			if err := errors.Join(open("p", "", "p", "a", "b"), open("local", "/x", "local", "l")); err != nil {
				t.Fatal(err)
			}
			err := open(test.id, test.location, test.entry, test.keys...)
			duplicate, refused := errors.AsType[*registry.DuplicateKeyError](err)
			switch {
			case test.want == "" && err != nil, test.want != "" && !refused:
				t.Errorf("%v", err)
			case refused && (duplicate.Holder != test.want || duplicate.Scope != test.id || !strings.Contains(err.Error(), duplicate.Key)):
				t.Errorf("%+v", duplicate)
			}
		})
	}
}

func TestKeysAreUniqueInAScope(t *testing.T) {
	kind := registry.NewKeyedKind("source", func(keys []string) []string { return keys }, nil)
	r := registry.New(kind)
	_, err := r.Replace(registry.Scope{ID: "p", Contributions: []registry.Contribution{
		kind.Contribute("one", 0, []string{"a"}), kind.Contribute("two", 0, []string{"b", "a"})}})
	want := `open scope: the source "two" of scope "p" answers for the key "a", as "one" of scope "p" does; rename the key in one or remove the other`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAKindChecksItsKeys(t *testing.T) {
	r, open := keyed()
	err := open("p", "", "p", "a", "taken")
	if _, ok := errors.AsType[*registry.NameError](err); !ok || !strings.Contains(err.Error(), `cannot contribute the source key "taken": it is the host's own`) {
		t.Errorf("%v", err)
	}
	if _, open := r.Remove("p", ""); open {
		t.Error("a scope that was refused is open")
	}
}
