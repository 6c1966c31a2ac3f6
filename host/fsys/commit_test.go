package fsys_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/host/fsys"
)

// desk is a project to write in.
func desk(t *testing.T) (*grove, *fsys.Roots) {
	t.Helper()
	g := newGrove(t)
	g.file("p/a.txt", "old a")
	g.file("p/b.txt", "old b")
	g.file("p/docs/c.txt", "old c")
	g.file("p/private/own.db", "own")
	g.file("outside/secret.txt", "secret")
	g.link("p/link", "docs/c.txt")
	g.link("p/folder", "docs")
	g.link("p/out", "../outside")
	g.link("p/new-link", "docs/new.txt")
	roots, err := fsys.New(map[string]string{"location": g.path("p")}, []string{g.path("p/private")})
	must(t, err)
	return g, roots
}

// commit makes changes that are all allowed.
func commit(t *testing.T, roots *fsys.Roots, changes ...fsys.Change) ([]fsys.Changed, error) {
	t.Helper()
	var writer fsys.Writer
	return writer.Commit(t.Context(), roots, "location", changes, fsys.Permit{})
}

// files answers the content of every file below a folder, links as "-> target".
func (f *grove) files(name string) map[string]string {
	f.t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(f.path(name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(f.path(name), path)
		switch entry.Type() {
		case fs.ModeDir:
			if list, err := os.ReadDir(path); err == nil && len(list) == 0 {
				all[below+"/"] = ""
			}
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[below] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(path)
			all[below] = string(content)
			return err
		}
		return nil
	})
	must(f.t, err)
	return all
}

func (f *grove) remove(name string) {
	f.t.Helper()
	must(f.t, os.Remove(f.path(name)))
}

func write(path, data, expect string) fsys.Change {
	return fsys.Change{Op: fsys.OpWrite, Path: path, Data: []byte(data), Expect: expect}
}

// all is a filter that answers the same of every file.
func all(access fsys.Access) fsys.Filter {
	return func(_ context.Context, identities []string) ([]fsys.Access, error) {
		return slices.Repeat([]fsys.Access{access}, len(identities)), nil
	}
}

// each is a filter that looks at one file at a time.
func each(decide func(identity string) fsys.Access) fsys.Filter {
	return func(_ context.Context, identities []string) (accesses []fsys.Access, err error) {
		for _, identity := range identities {
			accesses = append(accesses, decide(identity))
		}
		return accesses, nil
	}
}

func digest(content string) string { return fsys.Digest([]byte(content)) }

func TestCommit(t *testing.T) {
	done := fsys.Done
	for _, test := range []struct {
		name    string
		changes []fsys.Change
		want    map[string]string // what differs afterwards; "" is gone
		results []fsys.Changed
	}{
		{"write over", []fsys.Change{write("a.txt", "new a", "")}, map[string]string{"a.txt": "new a"}, []fsys.Changed{{Path: "a.txt", Outcome: done, Existed: true}}},
		{"write over what is expected", []fsys.Change{write("a.txt", "new a", digest("old a"))}, map[string]string{"a.txt": "new a"}, []fsys.Changed{{Path: "a.txt", Outcome: done, Existed: true}}},
		{"write anew", []fsys.Change{write("d.txt", "new d", fsys.Absent)}, map[string]string{"d.txt": "new d"}, []fsys.Changed{{Path: "d.txt", Outcome: done}}},
		{"write an empty file", []fsys.Change{write("d.txt", "", "")}, map[string]string{"d.txt": "(empty)"}, []fsys.Changed{{Path: "d.txt", Outcome: done}}},
		{"untidy and absolute paths", []fsys.Change{write("./docs/../docs//c.txt", "new c", "")}, map[string]string{"docs/c.txt": "new c"}, []fsys.Changed{{Path: "docs/c.txt", Outcome: done, Existed: true}}},
		{"through a link", []fsys.Change{write("link", "new c", digest("old c"))}, map[string]string{"docs/c.txt": "new c"}, []fsys.Changed{{Path: "docs/c.txt", Outcome: done, Existed: true}}},
		{"through a link to nothing", []fsys.Change{write("new-link", "new", fsys.Absent)}, map[string]string{"docs/new.txt": "new"}, []fsys.Changed{{Path: "docs/new.txt", Outcome: done}}},
		{"in a linked folder", []fsys.Change{write("folder/d.txt", "new d", "")}, map[string]string{"docs/d.txt": "new d"}, []fsys.Changed{{Path: "docs/d.txt", Outcome: done}}},
		{"with folders", []fsys.Change{{Op: fsys.OpWrite, Path: "x/y/z.txt", Data: []byte("z"), Parents: true}, {Op: fsys.OpWrite, Path: "x/y/w.txt", Data: []byte("w"), Parents: true}},
			map[string]string{"x/y/z.txt": "z", "x/y/w.txt": "w"}, []fsys.Changed{{Path: "x/y/z.txt", Outcome: done}, {Path: "x/y/w.txt", Outcome: done}}},
		{"remove", []fsys.Change{{Op: fsys.OpRemove, Path: "a.txt", Expect: digest("old a")}}, map[string]string{"a.txt": ""}, []fsys.Changed{{Path: "a.txt", Outcome: done}}},
		{"rename", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "docs/a.txt"}}, map[string]string{"a.txt": "", "docs/a.txt": "old a"}, []fsys.Changed{{Path: "a.txt", To: "docs/a.txt", Outcome: done}}},
		{"rename with folders", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "x/a.txt", Parents: true, Expect: digest("old a")}}, map[string]string{"a.txt": "", "x/a.txt": "old a"},
			[]fsys.Changed{{Path: "a.txt", To: "x/a.txt", Outcome: done}}},
		{"rename to another case", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "A.txt"}}, map[string]string{"a.txt": "", "A.txt": "old a"}, []fsys.Changed{{Path: "a.txt", To: "A.txt", Outcome: done}}},
		{"rename with another content", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "x/a.txt", Parents: true, Expect: digest("old a"), Data: []byte("new a")}},
			map[string]string{"a.txt": "", "x/a.txt": "new a"}, []fsys.Changed{{Path: "a.txt", To: "x/a.txt", Outcome: done}}},
		{"rename and empty", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "A.txt", Data: []byte{}}}, map[string]string{"a.txt": "", "A.txt": "(empty)"},
			[]fsys.Changed{{Path: "a.txt", To: "A.txt", Outcome: done}}},
		{"several", []fsys.Change{write("a.txt", "new a", digest("old a")), {Op: fsys.OpRemove, Path: "b.txt"}, write("d.txt", "new d", fsys.Absent), {Op: fsys.OpRename, Path: "docs/c.txt", To: "e.txt"}},
			map[string]string{"a.txt": "new a", "b.txt": "", "d.txt": "new d", "docs/c.txt": "", "e.txt": "old c"},
			[]fsys.Changed{{Path: "a.txt", Outcome: done, Existed: true}, {Path: "b.txt", Outcome: done}, {Path: "d.txt", Outcome: done}, {Path: "docs/c.txt", To: "e.txt", Outcome: done}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, roots := desk(t)
			want := g.files(".")
			for name, text := range test.want {
				want["p/"+name] = strings.TrimPrefix(text, "(empty)")
				if text == "" {
					delete(want, "p/"+name)
				}
			}
			if want["p/docs/c.txt"] == "" && want["p/docs/new.txt"] == "" && want["p/docs/a.txt"] == "" {
				want["p/docs/"] = ""
			}
			results, err := commit(t, roots, test.changes...)
			must(t, err)
			if diff := cmp.Diff(test.results, results); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, g.files(".")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCommitRefuses: one change that cannot be made, and none is.
func TestCommitRefuses(t *testing.T) {
	sum := digest("something else")
	for _, test := range []struct {
		name    string
		changes []fsys.Change
		kind    fsys.Kind
		text    string
	}{
		{"no change", nil, fsys.KindInvalid, "1 to 500"},
		{"no operation", []fsys.Change{{Op: "copy", Path: "a.txt"}}, fsys.KindInvalid, `"copy"`},
		{"no path", []fsys.Change{{Op: fsys.OpWrite}}, fsys.KindInvalid, "names no file"},
		{"no new path", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt"}}, fsys.KindInvalid, "new path"},
		{"a new path too many", []fsys.Change{{Op: fsys.OpRemove, Path: "a.txt", To: "x"}}, fsys.KindInvalid, "new path"},
		{"data to remove", []fsys.Change{{Op: fsys.OpRemove, Path: "a.txt", Data: []byte("x")}}, fsys.KindInvalid, "data belongs to a write or a rename"},
		{"absent and removed", []fsys.Change{{Op: fsys.OpRemove, Path: "a.txt", Expect: fsys.Absent}}, fsys.KindInvalid, "belong to a write"},
		{"mode", []fsys.Change{{Op: fsys.OpWrite, Path: "a.txt", Mode: fs.ModeSetuid | 0o755}}, fsys.KindInvalid, "permission bits"},
		{"expectation", []fsys.Change{write("a.txt", "", "sha256:abc")}, fsys.KindInvalid, "SHA-256"},
		{"twice", []fsys.Change{write("a.txt", "1", ""), write("./a.txt", "2", "")}, fsys.KindInvalid, `"a.txt" twice`},
		{"twice by a link", []fsys.Change{write("link", "1", ""), {Op: fsys.OpRemove, Path: "docs/c.txt"}}, fsys.KindInvalid, `"docs/c.txt" twice`},
		{"twice by a rename", []fsys.Change{write("x", "1", ""), {Op: fsys.OpRename, Path: "a.txt", To: "x"}}, fsys.KindInvalid, `"x" twice`},
		{"file and folder", []fsys.Change{write("x", "1", ""), {Op: fsys.OpWrite, Path: "x/y", Parents: true}}, fsys.KindInvalid, `"x" for a file and for a folder`},
		{"write to a folder", []fsys.Change{write("docs", "x", "")}, fsys.KindInvalid, "a directory"},
		{"remove a folder", []fsys.Change{{Op: fsys.OpRemove, Path: "docs"}}, fsys.KindInvalid, "a directory"},
		{"rename a folder", []fsys.Change{{Op: fsys.OpRename, Path: "docs", To: "x"}}, fsys.KindInvalid, "a directory"},
		{"rename to a folder", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "docs"}}, fsys.KindInvalid, "a directory"},
		{"write below a file", []fsys.Change{{Op: fsys.OpWrite, Path: "a.txt/x", Parents: true}}, fsys.KindNotFound, "not a directory"},
		{"like a folder", []fsys.Change{write("x/", "", "")}, fsys.KindInvalid, "like a folder"},
		{"no folder", []fsys.Change{write("x/y/z.txt", "", "")}, fsys.KindNotFound, `"x/y" is not there; let the change make parents`},
		{"remove nothing", []fsys.Change{{Op: fsys.OpRemove, Path: "none"}}, fsys.KindNotFound, "no such file"},
		{"rename nothing", []fsys.Change{{Op: fsys.OpRename, Path: "none", To: "x"}}, fsys.KindNotFound, "no such file"},
		{"remove a link", []fsys.Change{{Op: fsys.OpRemove, Path: "link"}}, fsys.KindInvalid, "symbolic link"},
		{"rename a link", []fsys.Change{{Op: fsys.OpRename, Path: "link", To: "x"}}, fsys.KindInvalid, "symbolic link"},
		{"rename onto a link", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "new-link"}}, fsys.KindInvalid, "symbolic link"},
		{"rename to itself", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "./a.txt"}}, fsys.KindInvalid, "the old one"},
		{"outside", []fsys.Change{write("../x", "", "")}, fsys.KindDenied, "leads outside"},
		{"outside by a link", []fsys.Change{write("out/x", "", "")}, fsys.KindDenied, "leads outside"},
		{"rename outside", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "out/x"}}, fsys.KindDenied, "leads outside"},
		{"rename from outside", []fsys.Change{{Op: fsys.OpRename, Path: "out/secret.txt", To: "x"}}, fsys.KindDenied, "leads outside"},
		{"private", []fsys.Change{write("private/x", "", "")}, fsys.KindDenied, "belongs to Plinth"},
		{"rename to private", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "private/x/y", Parents: true}}, fsys.KindDenied, "belongs to Plinth"},

		{"another content", []fsys.Change{write("a.txt", "x", sum)}, fsys.KindConflict, "not what was expected"},
		{"another content to remove", []fsys.Change{{Op: fsys.OpRemove, Path: "a.txt", Expect: sum}}, fsys.KindConflict, "not what was expected"},
		{"another content to rename", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "x", Expect: sum}}, fsys.KindConflict, "not what was expected"},
		{"there already", []fsys.Change{write("a.txt", "x", fsys.Absent)}, fsys.KindConflict, "there already"},
		{"not there any more", []fsys.Change{write("d.txt", "x", sum)}, fsys.KindConflict, "not there any more"},
		{"another content to rename and change", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "x", Expect: sum, Data: []byte("x")}}, fsys.KindConflict, "not what was expected"},
		{"rename and change over a file", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "b.txt", Data: []byte("x")}}, fsys.KindConflict, "a file already"},
		{"rename over a file", []fsys.Change{{Op: fsys.OpRename, Path: "a.txt", To: "b.txt"}}, fsys.KindConflict, "a file already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, roots := desk(t)
			before := g.files(".")
			changes := test.changes
			if changes != nil {
				changes = append([]fsys.Change{write("first.txt", "x", fsys.Absent)}, changes...)
				changes = append(changes, fsys.Change{Op: fsys.OpWrite, Path: "made/last.txt", Parents: true})
			}
			results, err := commit(t, roots, changes...)
			wantError(t, err, test.kind, test.text)
			if test.changes == nil {
				return
			}
			if test.changes != nil && !strings.Contains(test.name, "twice") && !strings.Contains(test.name, "file and folder") && (results[0].Outcome != fsys.NotDone || results[1].Outcome != fsys.Failed || results[1].Err != err || results[2].Outcome != fsys.NotDone) {
				t.Errorf("%+v", results)
			}
			if diff := cmp.Diff(before, g.files(".")); diff != "" {
				t.Errorf("something was changed: %s", diff)
			}
		})
	}
}

func TestCommitTellsEveryConflict(t *testing.T) {
	_, roots := desk(t)
	results, err := commit(t, roots, write("a.txt", "x", fsys.Absent), write("b.txt", "x", digest("old b")), write("docs/c.txt", "x", digest("x")))
	wantError(t, err, fsys.KindConflict, `"a.txt"`)
	want := []fsys.Changed{{Path: "a.txt", Outcome: fsys.Failed}, {Path: "b.txt", Outcome: fsys.NotDone}, {Path: "docs/c.txt", Outcome: fsys.Failed}}
	if diff := cmp.Diff(want, results, cmpopts.IgnoreFields(fsys.Changed{}, "Err")); diff != "" {
		t.Error(diff)
	}
	wantError(t, results[2].Err, fsys.KindConflict, `"docs/c.txt"`)
}

func TestCommitModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	g, roots := desk(t)
	must(t, os.Chmod(g.path("p/a.txt"), 0o755))
	must(t, os.Chmod(g.path("p/b.txt"), 0o600))
	must(t, os.Chmod(g.path("p/docs/c.txt"), fs.ModeSetuid|0o755))
	_, err := commit(t, roots, write("a.txt", "x", ""), fsys.Change{Op: fsys.OpWrite, Path: "b.txt", Mode: 0o777},
		fsys.Change{Op: fsys.OpRename, Path: "docs/c.txt", To: "moved.sh", Data: []byte("x")}, write("new.txt", "x", ""), fsys.Change{Op: fsys.OpWrite, Path: "run.sh", Mode: 0o755})
	must(t, err)
	for name, want := range map[string]fs.FileMode{"a.txt": 0o755, "b.txt": 0o777, "moved.sh": 0o755, "new.txt": 0o640, "run.sh": 0o750} {
		info, err := os.Stat(g.path("p/" + name))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s: %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestCommitHonoursReadOnlyFiles(t *testing.T) {
	if unprivileged(t) {
		return
	}
	g, roots := desk(t)
	must(t, os.Chmod(g.path("p/a.txt"), 0o444))
	_, err := commit(t, roots, write("a.txt", "x", ""))
	wantError(t, err, fsys.KindDenied, "does not let Plinth change it")
	_, err = commit(t, roots, fsys.Change{Op: fsys.OpRename, Path: "a.txt", To: "x", Data: []byte("x")})
	wantError(t, err, fsys.KindDenied, "does not let Plinth change it")
	must(t, os.Chmod(g.path("p/docs"), 0o555))
	defer os.Chmod(g.path("p/docs"), 0o755)
	results, err := commit(t, roots, write("b.txt", "x", ""), write("docs/new.txt", "x", ""))
	wantError(t, err, fsys.KindDenied, "does not let Plinth change it")
	if results[0].Outcome != fsys.NotDone || results[1].Outcome != fsys.Failed {
		t.Errorf("%+v", results)
	}
}

// TestCommitLeavesHardLinksAlone: what shares its content with a file elsewhere is
// replaced, not written into.
func TestCommitLeavesHardLinksAlone(t *testing.T) {
	g, roots := desk(t)
	must(t, os.Link(g.path("outside/secret.txt"), g.path("p/hard")))
	_, err := commit(t, roots, write("hard", "mine", digest("secret")))
	must(t, err)
	if files := g.files("."); files["outside/secret.txt"] != "secret" || files["p/hard"] != "mine" {
		t.Errorf("%v", files)
	}
}

// TestCommitWhileOthersWrite changes files at every stage of a commit. What is done
// and what is not is told exactly.
func TestCommitWhileOthersWrite(t *testing.T) {
	type looks map[string]func(g *grove)
	put := func(name, text string) func(*grove) {
		return func(g *grove) { must(g.t, os.WriteFile(g.path(name), []byte(text), 0o600)) }
	}
	swapLink := func(name, target string) func(*grove) {
		return func(g *grove) {
			must(g.t, os.Rename(g.path(name), g.path("moved")))
			g.link(name, target)
		}
	}
	three := []fsys.Change{write("a.txt", "new a", digest("old a")), write("b.txt", "new b", digest("old b")), write("docs/d.txt", "new d", fsys.Absent)}
	for name, test := range map[string]struct {
		changes  []fsys.Change
		looks    looks
		outcomes []fsys.Outcome
		text     string
		want     map[string]string // content afterwards
	}{
		"changed before the check":        {three, looks{"compare 0": put("p/b.txt", "theirs")}, []fsys.Outcome{fsys.NotDone, fsys.Failed, fsys.NotDone}, "not what was expected", map[string]string{"p/a.txt": "old a", "p/b.txt": "theirs"}},
		"changed while content is staged": {three, looks{"stage 2": put("p/b.txt", "theirs")}, []fsys.Outcome{fsys.NotDone, fsys.Failed, fsys.NotDone}, "changed while the commit", map[string]string{"p/a.txt": "old a", "p/b.txt": "theirs"}},
		"made while content is staged":    {three, looks{"stage 2": put("p/docs/d.txt", "theirs")}, []fsys.Outcome{fsys.NotDone, fsys.NotDone, fsys.Failed}, "there already", map[string]string{"p/a.txt": "old a", "p/docs/d.txt": "theirs"}},
		"changed in the last moment":      {three, looks{"swap 1": put("p/b.txt", "theirs")}, []fsys.Outcome{fsys.Done, fsys.Failed, fsys.NotDone}, "changed while the commit", map[string]string{"p/a.txt": "new a", "p/b.txt": "theirs"}},
		"made in the last moment":         {three, looks{"swap 2": put("p/docs/d.txt", "theirs")}, []fsys.Outcome{fsys.Done, fsys.Done, fsys.Failed}, "there already", map[string]string{"p/b.txt": "new b", "p/docs/d.txt": "theirs"}},
		"removed in the last moment": {three, looks{"swap 1": func(g *grove) { must(g.t, os.Remove(g.path("p/b.txt"))) }},
			[]fsys.Outcome{fsys.Done, fsys.Failed, fsys.NotDone}, "moved or replaced", map[string]string{"p/a.txt": "new a", "p/b.txt": ""}},
		"a folder in its place": {[]fsys.Change{write("a.txt", "new a", ""), write("b.txt", "new b", "")}, looks{"swap 1": func(g *grove) {
			must(g.t, os.Remove(g.path("p/b.txt")))
			g.folder("p/b.txt")
		}}, []fsys.Outcome{fsys.Done, fsys.Failed}, "something is there", map[string]string{"p/a.txt": "new a"}},
		"the folder becomes a link outside": {three, looks{"resolve again 0": swapLink("p/docs", "../outside")},
			[]fsys.Outcome{fsys.NotDone, fsys.NotDone, fsys.Failed}, "leads outside", map[string]string{"p/a.txt": "old a", "outside/d.txt": ""}},
		"the folder becomes a link inside": {[]fsys.Change{write("docs/c.txt", "new c", "")}, looks{"resolve again 0": func(g *grove) {
			g.file("p/other/c.txt", "other")
			swapLink("p/docs", "other")(g)
		}}, []fsys.Outcome{fsys.Failed}, "leads elsewhere", map[string]string{"p/other/c.txt": "other"}},
		"the folder moves when it is open": {[]fsys.Change{write("docs/c.txt", "new c", digest("old c"))}, looks{"stage 0": swapLink("p/docs", "../outside")},
			[]fsys.Outcome{fsys.Done}, "", map[string]string{"moved/c.txt": "new c", "outside/c.txt": ""}},
		"the file becomes a link outside": {[]fsys.Change{write("a.txt", "new a", "")}, looks{"swap 0": func(g *grove) {
			must(g.t, os.Remove(g.path("p/a.txt")))
			g.link("p/a.txt", "../outside/secret.txt")
		}}, []fsys.Outcome{fsys.Done}, "", map[string]string{"p/a.txt": "new a", "outside/secret.txt": "secret"}},
		"a missing folder comes up private": {[]fsys.Change{{Op: fsys.OpWrite, Path: "x/own.db", Data: []byte("x"), Parents: true}}, looks{"stage 0": func(g *grove) {
			must(g.t, os.Rename(g.path("p/private"), g.path("p/x")))
			g.link("p/private", "x")
		}}, []fsys.Outcome{fsys.Failed}, "belongs to Plinth", map[string]string{"p/x/own.db": "own"}},
		"a missing folder comes up a link": {[]fsys.Change{{Op: fsys.OpWrite, Path: "x/y.txt", Data: []byte("x"), Parents: true}}, looks{"stage 0": func(g *grove) {
			g.link("p/x", "../outside")
		}}, []fsys.Outcome{fsys.Failed}, "moved or replaced", map[string]string{"outside/y.txt": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			g, roots := desk(t)
			var writer fsys.Writer
			writer.OnStep(func(stage string, change int) {
				if look, ok := test.looks[fmt.Sprint(stage, " ", change)]; ok {
					look(g)
				}
			})
			results, err := writer.Commit(t.Context(), roots, "location", test.changes, fsys.Permit{})
			if (err == nil) != (test.text == "") || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want %q", err, test.text)
			}
			for i, result := range results {
				if result.Outcome != test.outcomes[i] || (result.Err != nil) != (result.Outcome == fsys.Failed) {
					t.Errorf("change %d: %s, %v; want %s", i, result.Outcome, result.Err, test.outcomes[i])
				}
			}
			after := g.files(".")
			for name, text := range test.want {
				if after[name] != text {
					t.Errorf("%s holds %q, want %q", name, after[name], text)
				}
			}
			expectNothingHalfWritten(t, after)
		})
	}
}

func expectNothingHalfWritten(t *testing.T, files map[string]string) {
	t.Helper()
	for name := range files {
		if strings.Contains(name, fsys.TemporaryPrefix) {
			t.Errorf("%s is left over", name)
		}
	}
}

// TestCommitAndCancellation: until the first file has its new content nothing is
// done; from then on everything is.
func TestCommitAndCancellation(t *testing.T) {
	reason := errors.New("the user stopped it")
	changes := []fsys.Change{write("a.txt", "new a", digest("old a")), {Op: fsys.OpWrite, Path: "x/b.txt", Data: []byte("new b"), Parents: true}}
	for _, test := range []struct {
		at   string
		done bool
	}{{"resolve 0", false}, {"compare 1", false}, {"resolve again 0", false}, {"stage 0", false}, {"stage 1", false}, {"look 1", false}, {"swap 0", true}, {"swap 1", true}} {
		t.Run(test.at, func(t *testing.T) {
			g, roots := desk(t)
			before := g.files(".")
			var writer fsys.Writer
			ctx, cancel := context.WithCancelCause(t.Context())
			writer.OnStep(func(stage string, change int) {
				if fmt.Sprint(stage, " ", change) == test.at {
					cancel(reason)
				}
			})
			results, err := writer.Commit(ctx, roots, "location", changes, fsys.Permit{})
			if test.done {
				must(t, err)
				before["p/a.txt"], before["p/x/b.txt"] = "new a", "new b"
			} else if !errors.Is(err, reason) {
				t.Errorf("error %v", err)
			}
			for _, result := range results {
				if (result.Outcome == fsys.Done) != test.done || result.Outcome == fsys.Failed {
					t.Errorf("%+v", result)
				}
			}
			if diff := cmp.Diff(before, g.files(".")); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, roots := desk(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	var writer fsys.Writer
	if results, err := writer.Commit(ctx, roots, "location", changes, fsys.Permit{}); !errors.Is(err, reason) || len(results) != 2 {
		t.Errorf("before it began: %v, %v", results, err)
	}
}

// TestCommitsFollowEachOther: of many that expect the same content one is made, and
// a commit that waits for another can be cancelled.
func TestCommitsFollowEachOther(t *testing.T) {
	g, roots := desk(t)
	var writer fsys.Writer
	var wait sync.WaitGroup
	outcomes := make([]error, 16)
	for i := range outcomes {
		wait.Go(func() {
			changes := []fsys.Change{write("b.txt", fmt.Sprint(i), digest("old b")), write("a.txt", fmt.Sprint(i), digest("old a"))}
			_, outcomes[i] = writer.Commit(t.Context(), roots, "location", changes, fsys.Permit{})
		})
	}
	wait.Wait()
	winners := 0
	for i, err := range outcomes {
		if err == nil {
			winners++
			if files := g.files("p"); files["a.txt"] != fmt.Sprint(i) || files["b.txt"] != fmt.Sprint(i) {
				t.Errorf("commit %d was made, and the files hold %q and %q", i, files["a.txt"], files["b.txt"])
			}
		} else {
			wantError(t, err, fsys.KindConflict, "") // in the middle of another's it finds no file it knows
		}
	}
	if winners != 1 {
		t.Errorf("%d commits were made", winners)
	}

	reason := errors.New("enough waiting")
	waited := false
	writer.OnStep(func(stage string, change int) {
		if stage != "stage" || waited {
			return
		}
		waited = true
		ctx, cancel := context.WithCancelCause(t.Context())
		permit := fsys.Permit{Rules: all(fsys.Asks), Ask: func(context.Context, []string) error {
			cancel(reason)
			return nil
		}}
		if _, err := writer.Commit(ctx, roots, "location", []fsys.Change{write("b.txt", "x", ""), write("c.txt", "y", "")}, permit); !errors.Is(err, reason) {
			t.Errorf("waiting: %v", err)
		}
	})
	for range 2 {
		_, err := writer.Commit(t.Context(), roots, "location", []fsys.Change{write("a.txt", "x", ""), write("c.txt", "x", "")}, fsys.Permit{})
		must(t, err)
	}
	if !waited {
		t.Error("no commit waited for another")
	}
}

// TestCommitCleansUp: what a dead commit left goes, what another process still
// writes stays.
func TestCommitCleansUp(t *testing.T) {
	g, roots := desk(t)
	dead, alive := "p/"+fsys.TemporaryPrefix+"DEAD", "p/"+fsys.TemporaryPrefix+"ALIVE"
	g.file(dead, "half")
	g.file(alive, "half")
	g.file("p/docs/"+fsys.TemporaryPrefix+"ELSEWHERE", "half")
	g.folder("p/" + fsys.TemporaryPrefix + "FOLDER")
	held, err := os.Open(g.path(alive))
	must(t, err)
	defer held.Close()
	must(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	_, err = commit(t, roots, write("a.txt", "x", ""))
	must(t, err)
	files := g.files(".")
	if _, ok := files[dead]; ok || files[alive] != "half" || files["p/docs/"+fsys.TemporaryPrefix+"ELSEWHERE"] != "half" {
		t.Errorf("%v", files)
	}
}
