package fsys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/host/fsys"
)

// TestTimeOfASearch: when it is over, what has been found so far is the answer.
func TestTimeOfASearch(t *testing.T) {
	g := newGrove(t)
	for i := range 40 {
		g.file(fmt.Sprintf("d%02d/f", i), "needle\n")
	}
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	for name, search := range map[string]boundedSearch{
		"grep": func(ctx context.Context, selection fsys.Selection, bounds fsys.Bounds) (int, fsys.Counts, error) {
			result, err := roots.Grep(ctx, fsys.GrepQuery{Selection: selection, Pattern: "needle", Bounds: bounds})
			return result.Matches, result.Counts, err
		},
		"glob": func(ctx context.Context, selection fsys.Selection, bounds fsys.Bounds) (int, fsys.Counts, error) {
			result, err := roots.Glob(ctx, fsys.GlobQuery{Selection: selection, Pattern: "**", Bounds: bounds})
			return len(result.Files), result.Counts, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testTime(t, search) })
		})
	}
}

type boundedSearch func(ctx context.Context, selection fsys.Selection, bounds fsys.Bounds) (int, fsys.Counts, error)

func testTime(t *testing.T, search boundedSearch) {
	// After a while the rules answer only when the time is over.
	var asked atomic.Int64
	slow := func(ctx context.Context, identities []string) ([]fsys.Access, error) {
		if asked.Add(int64(len(identities))) > 10 {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return all(fsys.Allowed)(ctx, identities)
	}
	found, counts, err := search(t.Context(), fsys.Selection{Root: "location", Filter: slow}, fsys.Bounds{Time: time.Minute})
	if err != nil || !counts.Partial || found == 0 || found > 10 {
		t.Errorf("%d found, %+v, %v", found, counts, err)
	}
	found, counts, err = search(t.Context(), fsys.Selection{Root: "location"}, fsys.Bounds{Time: time.Hour})
	if err != nil || counts.Partial || found != 40 {
		t.Errorf("in time: %d found, %+v, %v", found, counts, err)
	}
	// The end of the context is no end of the time.
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("stopped")
	cancel(reason)
	if _, _, err := search(ctx, fsys.Selection{Root: "location"}, fsys.Bounds{Time: time.Hour}); !errors.Is(err, reason) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBytesOfASearch: the answer is the beginning of the whole one.
func TestBytesOfASearch(t *testing.T) {
	g := newGrove(t)
	for i := range 100 {
		g.file(fmt.Sprintf("f%02d", i), strings.Repeat("needle\n", 3))
	}
	roots, err := fsys.New(map[string]string{"location": g.root}, nil)
	must(t, err)
	selection := fsys.Selection{Root: "location"}
	for _, bytes := range []int{1, 8, 9, 10, 21, 22, 500, 2099, 2100, 0} {
		grep, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: selection, Pattern: "needle", Bounds: fsys.Bounds{Bytes: bytes}})
		must(t, err)
		most := bytes
		if bytes == 0 {
			most = 2100
		}
		// A file costs 3 bytes and each line of it 6.
		want := most / 21 * 3
		if rest := most % 21; rest > 3 {
			want += (rest - 3) / 6
		}
		if grep.Matches != want || grep.More != (want < 300) {
			t.Errorf("grep, %d bytes: %d matches, want %d, more %v", bytes, grep.Matches, want, grep.More)
		}
		glob, err := roots.Glob(t.Context(), fsys.GlobQuery{Selection: selection, Pattern: "*", Bounds: fsys.Bounds{Bytes: bytes}})
		must(t, err)
		if want := min(most/3, 100); len(glob.Files) != want || glob.Matched != 100 {
			t.Errorf("glob, %d bytes: %d of %d files, want %d", bytes, len(glob.Files), glob.Matched, want)
		}
	}
}
