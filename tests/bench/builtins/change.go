package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
)

// callsOfChanges is how many calls a round makes on each side. Every change is synced.
const callsOfChanges = 20

// linesChanged is how long the file is that is changed.
const linesChanged = 400

// measureChanges compares the tools of core/edit with a program that reads the file, puts
// the same bytes beside it, syncs them and renames.
func measureChanges(ctx context.Context) error {
	folder, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	bench, err := newWorkbench(ctx, "core/edit", folder, &bridge.Reach{Services: &bridge.Services{Clock: session.SystemClock{}, Writer: &fsys.Writer{}},
		Grants: bridge.Grants{Roots: map[string]bridge.Access{bridge.RootLocation: bridge.AccessWrite}}})
	if err != nil {
		return err
	}
	return errors.Join(changes(ctx, bench), bench.engine.Close())
}

func changes(ctx context.Context, bench *workbench) error {
	text := strings.Repeat("\tresult, err := call(ctx, \"name\", 12345) // and so on\n", linesChanged/2)
	text += "state: one\n" + text
	ours, plain := filepath.Join(bench.folder, "ours.txt"), filepath.Join(bench.folder, "plain.txt")
	for _, c := range []struct {
		tool  string
		input func(from, to string) string
	}{
		{"write", func(from, to string) string {
			return fmt.Sprintf(`{"path":"ours.txt","content":%q}`, strings.Replace(text, from, to, 1))
		}},
		{"edit", func(from, to string) string {
			return fmt.Sprintf(`{"path":"ours.txt","old_string":%q,"new_string":%q}`, from, to)
		}},
		{"apply_patch", func(from, to string) string {
			return fmt.Sprintf(`{"patch":%q}`, "*** Begin Patch\n*** Update File: ours.txt\n@@\n-"+from+"\n+"+to+"\n*** End Patch")
		}},
	} {
		if err := errors.Join(os.WriteFile(ours, []byte(text), 0o644), os.WriteFile(plain, []byte(text), 0o644)); err != nil {
			return err
		}
		there, err := bench.tool(c.tool, c.input("state: one", "state: two"))
		if err != nil {
			return err
		}
		back, err := bench.tool(c.tool, c.input("state: two", "state: one"))
		if err != nil {
			return err
		}
		err = comparison{name: c.tool, calls: callsOfChanges,
			ours: alternately(func(forth bool) (int, error) {
				call := back
				if forth {
					call = there
				}
				if _, err := call(ctx); err != nil {
					return 0, err
				}
				return length(ours)
			}),
			plain: func() (int, error) { return length(plain, replaceIn(plain)) },
		}.run(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// alternately calls change there and back.
func alternately(change func(forth bool) (int, error)) func(context.Context) (int, error) {
	forth := false
	return func(context.Context) (int, error) {
		forth = !forth
		return change(forth)
	}
}

// length is how long a file is, unless one of the errors happened.
func length(path string, errs ...error) (int, error) {
	info, err := os.Stat(path)
	if err = errors.Join(append(errs, err)...); err != nil {
		return 0, err
	}
	return int(info.Size()), nil
}

// replaceIn changes a file so that it is whole after a crash, too.
func replaceIn(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(content), "state: one", "state: two", 1)
	if changed == string(content) {
		changed = strings.Replace(changed, "state: two", "state: one", 1)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return err
	}
	_, err = file.WriteString(changed)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
