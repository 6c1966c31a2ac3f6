package fsys

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
)

// Permit decides whether a commit may be made, on all its files at once.
type Permit struct {
	// Rules are asked about every identity that the commit touches. Where they deny
	// one, no file is looked into. nil allows all.
	Rules Filter
	// Ask is called once, with every identity, when the rules ask for one of them
	// and the commit could be made as things stand. It may take as long as it likes;
	// its error ends the commit. nil denies what would have to be asked.
	Ask func(ctx context.Context, identities []string) error
}

// Commit makes changes below one root, in their order.
//
// First it prepares them: it resolves every path, asks the rules, and compares every
// file with what is expected of it. Then it asks for permission, with nothing open.
// Then it prepares them again, refusing a path that leads elsewhere now, and writes
// all content beside the files. Only after that it begins, and from then on ctx
// cannot stop it. Each file is replaced at once, with its content on the disk:
// whatever happens, even to the process, it is the old one or the new one.
//
// The results are those of the changes, in their order; nil when there are none or
// too many changes. When the error is not nil they say which changes failed and
// which were made: none, unless a file changed or the disk failed in the very last
// moment. Errors are of type *Error, those of permit, or the cause that ctx was
// cancelled for.
func (w *Writer) Commit(ctx context.Context, roots *Roots, root string, changes []Change, permit Permit) ([]Changed, error) {
	if len(changes) == 0 || len(changes) > MaxChanges {
		return nil, &Error{Kind: KindInvalid, Path: root, Text: fmt.Sprintf("a commit has %d changes; it must have 1 to %d", len(changes), MaxChanges)}
	}
	c := &commit{
		writer: w, roots: roots, root: root, changes: changes, permit: permit,
		paths: make([]identities, len(changes)), steps: make([]step, len(changes)), results: make([]Changed, len(changes)),
		folders: make(map[string]directory), unlock: func() {},
	}
	for i := range c.results {
		c.results[i].Outcome = NotDone
	}
	defer c.close()
	err := c.make(ctx)
	return c.results, err
}

// commit is a commit under way.
type commit struct {
	writer    *Writer
	roots     *Roots
	root      string
	canonical string // the root's folder
	changes   []Change
	permit    Permit

	paths   []identities
	asks    bool // the rules want somebody to be asked
	steps   []step
	results []Changed
	folders map[string]directory // by identity, all open ones
	made    []folderMade
	unlock  func()
}

// identities are the canonical paths that a change is about.
type identities struct{ path, to string }

func (i identities) all() []string {
	if i.to == "" {
		return []string{i.path}
	}
	return []string{i.path, i.to}
}

func (c *commit) make(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{
		c.resolve, c.separate, c.rules, c.compare, c.ask,
		c.lock, c.resolveAgain, c.compare, c.stage, c.look,
	} {
		if err := phase(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return commitEnded(ctx)
		}
	}
	return c.swap()
}

func commitEnded(ctx context.Context) error { return fmt.Errorf("commit: %w", context.Cause(ctx)) }

// each calls do for every change and answers the first error.
func (c *commit) each(ctx context.Context, stage string, do func(i int) error) error {
	var first error
	for i := range c.changes {
		c.writer.looked(stage, i)
		err := do(i)
		if ctx.Err() != nil {
			return commitEnded(ctx)
		}
		if err == nil {
			continue
		}
		if err = c.failed(i, err); first == nil {
			first = err
		}
	}
	return first
}

// failed notes the error of a change and answers it.
func (c *commit) failed(i int, err error) error {
	c.results[i].Outcome = Failed
	c.results[i].Err = commitError(c.changes[i].Path, err)
	return c.results[i].Err
}

// identities are all that the commit touches, in the order of the changes.
func (c *commit) identities() []string {
	var all []string
	for _, p := range c.paths {
		for _, identity := range p.all() {
			if !slices.Contains(all, identity) {
				all = append(all, identity)
			}
		}
	}
	return all
}

// separate refuses changes that get in each other's way.
func (c *commit) separate(ctx context.Context) error {
	owner := make(map[string]int)
	err := c.each(ctx, "separate", func(i int) error {
		for _, identity := range c.paths[i].all() {
			if other, ok := owner[identity]; ok && other != i {
				return &Error{Kind: KindInvalid, Path: c.changes[i].Path, Text: fmt.Sprintf("the commit names %q twice; make one change of them", identity)}
			}
			owner[identity] = i
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.each(ctx, "separate", func(i int) error {
		for _, identity := range c.paths[i].all() {
			for folder := path.Dir(identity); folder != "."; folder = path.Dir(folder) {
				if _, ok := owner[folder]; ok {
					return &Error{Kind: KindInvalid, Path: c.changes[i].Path, Text: fmt.Sprintf("the commit takes %q for a file and for a folder", folder)}
				}
			}
		}
		return nil
	})
}

// rules refuses what they deny.
func (c *commit) rules(ctx context.Context) error {
	all := c.identities()
	accesses, err := c.permit.Rules.ask(ctx, all)
	if err != nil {
		return err
	}
	c.asks = slices.Contains(accesses, Asks)
	return c.each(ctx, "rules", func(i int) error {
		for _, identity := range c.paths[i].all() {
			switch access := accesses[slices.Index(all, identity)]; {
			case access == Allowed, access == Asks && c.permit.Ask != nil:
			case access == Asks:
				return &Error{Kind: KindDenied, Path: c.changes[i].Path, Text: fmt.Sprintf("somebody would have to allow a change of %q, and nobody can be asked here", identity)}
			default:
				return &Error{Kind: KindDenied, Path: c.changes[i].Path, Text: fmt.Sprintf("the rules do not allow a change of %q", identity)}
			}
		}
		return nil
	})
}

// ask waits for the permission.
func (c *commit) ask(ctx context.Context) error {
	c.release()
	if !c.asks {
		return nil
	}
	return c.permit.Ask(ctx, c.identities())
}

// lock keeps the other commits of the writer away from the files.
func (c *commit) lock(ctx context.Context) error {
	var places []string
	for _, identity := range c.identities() {
		places = append(places, filepath.Join(c.canonical, identity))
	}
	unlock, err := c.writer.lock(ctx, places)
	if err == nil {
		c.unlock = unlock
	}
	return err
}
