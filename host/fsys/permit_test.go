package fsys_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
)

// TestPermit: all identities are decided on at once, before anything is written, and
// nobody is asked in vain.
func TestPermit(t *testing.T) {
	changes := []fsys.Change{
		write("link", "new c", digest("old c")),
		{Op: fsys.OpRename, Path: "./a.txt", To: "folder/x/a.txt", Parents: true},
		{Op: fsys.OpRemove, Path: "docs/../b.txt"},
	}
	stale := append([]fsys.Change{write("docs/../b.txt", "new", digest("not b"))}, changes[:2]...)
	identities := []string{"docs/c.txt", "a.txt", "docs/x/a.txt", "b.txt"}
	rules := func(special string, access fsys.Access) fsys.Filter {
		return each(func(identity string) fsys.Access {
			if identity == special {
				return access
			}
			return fsys.Allowed
		})
	}
	refusal := errors.New("the person said no")
	for _, test := range []struct {
		name    string
		changes []fsys.Change
		rules   fsys.Filter
		silent  bool  // nobody can be asked
		answer  error // of who is asked
		asked   bool
		kind    fsys.Kind // of the error
		text    string
	}{
		{name: "no rules", changes: changes},
		{name: "allowed", changes: changes, rules: all(fsys.Allowed)},
		{name: "one asks", changes: changes, rules: rules("b.txt", fsys.Asks), asked: true},
		{name: "a new path asks", changes: changes, rules: rules("docs/x/a.txt", fsys.Asks), asked: true},
		{name: "all ask", changes: changes, rules: all(fsys.Asks), asked: true},
		{name: "refused", changes: changes, rules: all(fsys.Asks), asked: true, answer: refusal},
		{name: "one is denied", changes: changes, rules: rules("docs/c.txt", fsys.Denied), kind: fsys.KindDenied, text: `"link": the rules do not allow a change of "docs/c.txt"`},
		{name: "a new path is denied", changes: changes, rules: rules("docs/x/a.txt", fsys.Denied), kind: fsys.KindDenied, text: `"docs/x/a.txt"`},
		{name: "nobody to ask", changes: changes, rules: rules("b.txt", fsys.Asks), silent: true, kind: fsys.KindDenied, text: "nobody can be asked"},
		{name: "not as expected", changes: stale, rules: all(fsys.Asks), kind: fsys.KindConflict, text: "read it again"},
		// That it is not as expected is nothing for who may not change it.
		{name: "not as expected and denied", changes: stale, rules: rules("b.txt", fsys.Denied), kind: fsys.KindDenied, text: "the rules do not allow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, roots := desk(t)
			before := g.files(".")
			permit, asked := fsys.Permit{Rules: test.rules}, false
			if !test.silent {
				permit.Ask = func(_ context.Context, all []string) error {
					if asked {
						t.Error("asked twice")
					}
					if diff := cmp.Diff(identities, all); diff != "" {
						t.Error(diff)
					}
					if diff := cmp.Diff(before, g.files(".")); diff != "" {
						t.Errorf("changed before somebody was asked: %s", diff)
					}
					asked = true
					return test.answer
				}
			}
			var writer fsys.Writer
			results, err := writer.Commit(t.Context(), roots, "location", test.changes, permit)
			if asked != test.asked {
				t.Errorf("asked: %v", asked)
			}
			switch {
			case test.kind != "":
				wantError(t, err, test.kind, test.text)
			case !errors.Is(err, test.answer):
				t.Errorf("%v, want %v", err, test.answer)
			}
			if err == nil {
				return
			}
			for _, result := range results {
				if result.Outcome == fsys.Done {
					t.Errorf("%+v", result)
				}
			}
			if diff := cmp.Diff(before, g.files(".")); diff != "" {
				t.Errorf("something was changed: %s", diff)
			}
		})
	}
}

// TestTheWorldChangesWhileSomebodyIsAsked: the permission is for what it was asked
// on, and what is expected must still be there.
func TestTheWorldChangesWhileSomebodyIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(g *grove)
		text   string
	}{
		"another content": {func(g *grove) { g.file("p/docs/c.txt", "theirs") }, "not what was expected"},
		"another target":  {func(g *grove) { g.remove("p/link"); g.link("p/link", "b.txt") }, "leads elsewhere"},
		"a way out":       {func(g *grove) { g.remove("p/link"); g.link("p/link", "../outside/secret.txt") }, "leads outside"},
		"gone":            {func(g *grove) { g.remove("p/docs/c.txt") }, "not there any more"},
	} {
		t.Run(name, func(t *testing.T) {
			g, roots := desk(t)
			var after map[string]string
			permit := fsys.Permit{Rules: all(fsys.Asks), Ask: func(context.Context, []string) error {
				test.change(g)
				after = g.files(".")
				return nil
			}}
			var writer fsys.Writer
			_, err := writer.Commit(t.Context(), roots, "location", []fsys.Change{write("link", "mine", digest("old c"))}, permit)
			var failed *fsys.Error
			if !errors.As(err, &failed) {
				t.Fatalf("%v", err)
			}
			wantError(t, err, failed.Kind, test.text)
			if diff := cmp.Diff(after, g.files(".")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRulesThatFail end a commit or a search with their error.
func TestRulesThatFail(t *testing.T) {
	g, roots := desk(t)
	before := g.files(".")
	reason := errors.New("the store is closed")
	for name, filter := range map[string]fsys.Filter{
		"an error":        func(context.Context, []string) ([]fsys.Access, error) { return nil, reason },
		"too few answers": func(context.Context, []string) ([]fsys.Access, error) { return []fsys.Access{}, nil },
	} {
		var writer fsys.Writer
		selection := fsys.Selection{Root: "location", Filter: filter}
		_, committed := writer.Commit(t.Context(), roots, "location", []fsys.Change{write("a.txt", "x", "")}, fsys.Permit{Rules: filter})
		_, grepped := roots.Grep(t.Context(), fsys.GrepQuery{Selection: selection, Pattern: "."})
		_, globbed := roots.Glob(t.Context(), fsys.GlobQuery{Selection: selection, Pattern: "**"})
		selection.Path = "a.txt"
		_, one := roots.Grep(t.Context(), fsys.GrepQuery{Selection: selection, Pattern: "."})
		for call, err := range map[string]error{"commit": committed, "grep": grepped, "glob": globbed, "grep of a file": one} {
			if err == nil || name == "an error" && !errors.Is(err, reason) {
				t.Errorf("%s, %s: %v", name, call, err)
			}
		}
	}
	if diff := cmp.Diff(before, g.files(".")); diff != "" {
		t.Error(diff)
	}
}
