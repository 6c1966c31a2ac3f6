package depot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// List answers the digests of a depot's folder, ascending, without opening it: none of
// one that is not there.
func List(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var digests []string
	for _, entry := range entries {
		digest, ok := strings.CutSuffix(entry.Name(), extension)
		if ok && IsDigest(digest) && entry.Type().IsRegular() {
			digests = append(digests, digest)
		}
	}
	return digests, nil
}

// Checked is what a check found in a depot.
type Checked struct {
	Plugins int             `json:"plugins"`
	Bytes   int64           `json:"bytes"`
	Damaged []*DamagedError `json:"-"`
}

// Check reads every plugin of a depot's folder, which a process may have open, and
// compares it with its digest.
func Check(ctx context.Context, folder string) (Checked, error) {
	digests, err := List(folder)
	if err != nil {
		return Checked{}, err
	}
	d := LookInto(folder)
	var found Checked
	for _, digest := range digests {
		if err := context.Cause(ctx); err != nil {
			return found, err
		}
		packed, err := d.Get(digest)
		damaged, isDamaged := errors.AsType[*DamagedError](err)
		switch {
		case errors.Is(err, ErrNotFound): // removed meanwhile
			continue
		case isDamaged:
			found.Damaged = append(found.Damaged, damaged)
		case err != nil:
			return found, err
		}
		found.Plugins++
		found.Bytes += int64(len(packed))
	}
	return found, nil
}
