package fsys

import (
	"cmp"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// files visits those of a branch's files that are chosen and may be read.
func (t *tree) files(worker int, b *branch, files []entry) error {
	for _, file := range t.readable(files) {
		if t.queue.failed() {
			return nil
		}
		if err := t.visit(worker, b, file); err != nil {
			if err := t.skip(file.path, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// readable answers those of files that are chosen and that the filter allows. Links
// are not asked about.
func (t *tree) readable(files []entry) (readable []entry) {
	var chosen []entry
	var identities []string
	for _, file := range files {
		if t.choose(file) {
			chosen = append(chosen, file)
			if !file.link {
				identities = append(identities, file.path)
			}
		}
	}
	allowed := t.allowed(identities)
	for _, file := range chosen {
		if !file.link {
			yes := allowed[0]
			if allowed = allowed[1:]; !yes {
				continue
			}
		}
		readable = append(readable, file)
	}
	return readable
}

// allowed asks the filter and counts what it does not allow. When the filter fails
// the walk ends.
func (t *tree) allowed(identities []string) []bool {
	answers := make([]bool, len(identities))
	accesses, err := t.selection.Filter.ask(t.ctx, identities)
	if err != nil {
		t.queue.fail(cmp.Or(t.ended(), err))
	}
	for i, access := range accesses {
		switch access {
		case Allowed:
			answers[i] = true
		case Asks:
			t.asks.Add(1)
		default:
			t.denied.Add(1)
		}
	}
	return answers
}

// skip passes over what cannot be read: without a word when it has gone, changed
// its kind or is nobody's to read, counted when the system refuses it. Some errors
// end the walk, and so does every error of a file that was named.
func (t *tree) skip(identity string, err error) error {
	var failed *Error
	switch {
	case errors.As(err, &failed):
		return err
	case t.named, errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return systemError(identity, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ELOOP), errors.Is(err, errMoved), errors.Is(err, errProcess):
		return nil
	}
	t.unreadable.Add(1)
	return nil
}

// search walks and answers what was passed over. That the time is over is no error.
func (t *tree) search(first work) (Counts, error) {
	err := t.walk(first)
	counts := Counts{Asks: int(t.asks.Load()), Denied: int(t.denied.Load()), Unreadable: int(t.unreadable.Load())}
	if errors.Is(err, errTime) {
		counts.Partial, err = true, nil
	}
	return counts, err
}
