package bridge

import (
	"context"
	"path"
	"path/filepath"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/fsys/search"
	"github.com/plinthhost/plinth/session"
)

// searchTime bounds one search. What was found by then is answered.
const searchTime = 20 * time.Second

// selection opens the folder of a search and asks for it, as fs.list would.
func (o *operations) selection(ctx context.Context, name abi.Path, hidden, ignored bool) (opened, fsys.Selection, error) {
	file, err := o.open(ctx, name)
	if err != nil {
		return opened{}, fsys.Selection{}, err
	}
	defer file.Close()
	if err := o.authorise(ctx, actionRead, file.resource(file.Identity())); err != nil {
		return opened{}, fsys.Selection{}, err
	}
	return file, fsys.Selection{Root: file.name, Path: file.Identity(), Hidden: hidden, Ignored: ignored, Filter: o.filter(file.folder, actionRead)}, nil
}

// filter says of files below a root what the rules say of an action on them.
func (o *operations) filter(f folder, action string) fsys.Filter {
	return func(ctx context.Context, identities []string) ([]fsys.Access, error) {
		effects, err := o.asked.effects(ctx, action, f.resources(identities))
		if err != nil {
			return nil, err
		}
		accesses := make([]fsys.Access, len(effects))
		for i, effect := range effects {
			switch {
			case effect == session.Allow && (!f.isOutside() || action == actionRead):
				accesses[i] = fsys.Allowed
			case effect != session.Deny:
				accesses[i] = fsys.Asks
			}
		}
		return accesses, nil
	}
}

// naming is a filter for what tells no more than names: they are no secret where
// reading would ask, only where it is denied.
func naming(filter fsys.Filter) fsys.Filter {
	return func(ctx context.Context, identities []string) ([]fsys.Access, error) {
		accesses, err := filter(ctx, identities)
		for i, access := range accesses {
			if access == fsys.Asks {
				accesses[i] = fsys.Allowed
			}
		}
		return accesses, err
	}
}

func (o *operations) glob(ctx context.Context, request abi.FSGlob, _ []byte) (any, []byte, error) {
	if filepath.IsAbs(request.Pattern) {
		return nil, nil, refuse(abi.KindInvalidInput, "the pattern %q is absolute; name the folder in path and let the pattern begin there", clip(request.Pattern))
	}
	file, selection, err := o.selection(ctx, request.Path, request.Hidden, request.Ignored)
	if err != nil {
		return nil, nil, err
	}
	if request.Folders {
		selection.Filter = naming(selection.Filter)
	}
	query := fsys.GlobQuery{Selection: selection, Pattern: request.Pattern, Folders: request.Folders, Bounds: fsys.Bounds{Limit: request.Limit, Time: searchTime}}
	if request.Newest {
		query.Order = fsys.ByNewest
	}
	result, err := file.roots.Glob(ctx, query)
	if err != nil {
		return nil, nil, fileError(err)
	}
	found := abi.FSFound{Files: make([]abi.FileInfo, len(result.Files)), Matched: result.Matched, FSPassed: passed(result.Counts)}
	for i, one := range result.Files {
		found.Files[i] = file.wire(one.Info)
		if one.Link != "" {
			found.Files[i].Path, found.Files[i].Name = file.named(one.Link), path.Base(one.Link)
		}
	}
	return found, nil, nil
}

func (o *operations) grep(ctx context.Context, request abi.FSGrep, _ []byte) (any, []byte, error) {
	file, selection, err := o.selection(ctx, request.Path, request.Hidden, request.Ignored)
	if err != nil {
		return nil, nil, err
	}
	result, err := file.roots.Grep(ctx, fsys.GrepQuery{
		Selection: selection, Pattern: request.Pattern, Options: search.Options{Literal: request.Literal, IgnoreCase: request.IgnoreCase},
		Include: request.Include, Context: request.Context, PerFile: request.PerFile, Width: request.Width,
		Bounds: fsys.Bounds{Limit: request.Limit, Time: searchTime},
	})
	if err != nil {
		return nil, nil, fileError(err)
	}
	matched := abi.FSMatched{Files: make([]abi.FSMatchedFile, len(result.Files)), Matches: result.Matches, More: result.More, FSPassed: passed(result.Counts)}
	for i, one := range result.Files {
		lines := make([]abi.FSLine, len(one.Lines))
		for j, line := range one.Lines {
			lines[j] = abi.FSLine{Number: line.Number, Text: line.Text, Match: line.Column > 0, Cut: line.Cut}
		}
		matched.Files[i] = abi.FSMatchedFile{Path: file.named(one.Path), Lines: lines, More: one.More}
	}
	return matched, nil, nil
}

func passed(counts fsys.Counts) abi.FSPassed {
	return abi.FSPassed{Asks: counts.Asks, Denied: counts.Denied, Unreadable: counts.Unreadable, Partial: counts.Partial}
}
