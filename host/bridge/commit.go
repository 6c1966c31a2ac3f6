package bridge

import (
	"context"
	"io/fs"
	"path/filepath"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
)

// commit changes files: they are looked at, one permission is asked on all of them,
// then they are changed without a stop between.
func (o *operations) commit(ctx context.Context, request abi.FSCommit, raw []byte) (any, []byte, error) {
	changes, err := fileChanges(request.Changes, raw)
	if err != nil {
		return nil, nil, err
	}
	at, err := o.below(request.Root, changes)
	if err != nil {
		return nil, nil, err
	}
	results, err := o.reach.Writer.Commit(ctx, at.roots, at.name, changes, fsys.Permit{
		Rules: o.filter(at, actionEdit),
		Ask:   func(ctx context.Context, identities []string) error { return o.mayEdit(ctx, at, identities) },
	})
	if err != nil && !begun(results) {
		return nil, nil, fileError(err)
	}
	return at.committed(results), nil, nil
}

// mayEdit asks for all files at once.
func (o *operations) mayEdit(ctx context.Context, at folder, identities []string) error {
	if err := o.leave(ctx, at, false, identities...); err != nil {
		return err
	}
	resources := at.resources(identities)
	var save []string
	for _, resource := range resources {
		save = append(save, session.Savable(resource)...)
	}
	return o.asked.authorise(ctx, actionEdit, resources, save)
}

// begun reports whether a commit that failed has made a change.
func begun(results []fsys.Changed) bool {
	for _, result := range results {
		if result.Outcome == fsys.Done {
			return true
		}
	}
	return false
}

func (f folder) committed(results []fsys.Changed) abi.FSCommitted {
	answer := abi.FSCommitted{Changes: make([]abi.FSChanged, len(results))}
	for i, result := range results {
		answer.Changes[i] = abi.FSChanged{Path: f.named(result.Path), Outcome: string(result.Outcome), Existed: result.Existed}
		if result.To != "" {
			answer.Changes[i].To = f.named(result.To)
		}
		if result.Err != nil {
			answer.Changes[i].Error = wireFileError(result.Err)
		}
	}
	return answer
}

func fileChanges(requested []abi.FSChange, raw []byte) ([]fsys.Change, error) {
	if n := len(requested); n == 0 || n > fsys.MaxChanges {
		return nil, refuse(abi.KindInvalidInput, "there are %d changes; there must be 1 to %d", n, fsys.MaxChanges)
	}
	changes := make([]fsys.Change, len(requested))
	for i, one := range requested {
		changes[i] = fsys.Change{Op: fsys.Op(one.Op), Path: one.Path, To: one.To, Expect: one.Expect, Mode: fs.FileMode(one.Mode), Parents: one.Parents}
		if one.Op != string(fsys.OpWrite) && one.Data == nil && one.Text == "" {
			continue
		}
		data, err := content(one.Data, one.Text, raw)
		if err != nil {
			return nil, err
		}
		changes[i].Data = data
	}
	return changes, nil
}

// below finds the root of all changes. When one leads outside of the location, all
// are named from the top.
func (o *operations) below(root string, changes []fsys.Change) (folder, error) {
	at, err := o.folder(abi.Path{Root: root}, AccessWrite)
	if err != nil || at.name != RootLocation {
		return at, err
	}
	for _, change := range changes {
		for _, name := range []string{change.Path, change.To} {
			if filepath.IsAbs(name) && !within(name, o.location.Directory) {
				at, err = o.folder(abi.Path{Path: name}, AccessWrite)
			}
		}
	}
	if err != nil || at.name != outside {
		return at, err
	}
	for i := range changes {
		changes[i].Path = o.absolute(changes[i].Path)
		changes[i].To = o.absolute(changes[i].To)
	}
	return at, nil
}

// absolute names a file of the location from the top. It must not be cleaned: where
// ".." leads depends on links.
func (o *operations) absolute(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return o.location.Directory + "/" + name
}
