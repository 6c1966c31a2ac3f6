package fsys_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
)

// exchange makes "folder" and "file" below the root by turns what they are and
// links outside, until it is stopped.
func exchange(g *grove, stop chan struct{}) error {
	for {
		if err := errors.Join(
			os.Rename(g.path("p/folder"), g.path("p/.away")),
			os.Symlink("../outside", g.path("p/folder")),
			os.Symlink("../outside/secret", g.path("p/.link")),
			os.Rename(g.path("p/.link"), g.path("p/file")),
			os.Remove(g.path("p/folder")),
			os.Rename(g.path("p/.away"), g.path("p/folder")),
			os.WriteFile(g.path("p/.file"), []byte("inside needle\n"), 0o600),
			os.Rename(g.path("p/.file"), g.path("p/file")),
		); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// TestSwappingWhileSearchingAndWriting: whoever wins, nothing outside is opened or
// changed, and no error is an odd one.
func TestSwappingWhileSearchingAndWriting(t *testing.T) {
	g := newGrove(t)
	g.file("outside/secret", "outside needle\n")
	g.file("outside/deep/secret", "outside needle\n")
	g.file("p/folder/deep/secret", "inside needle\n")
	g.file("p/folder/secret", "inside needle\n")
	g.file("p/file", "inside needle\n")
	roots, err := fsys.New(map[string]string{"location": g.path("p")}, nil)
	must(t, err)
	before := g.files("outside")
	opened := watchOpens(t, g.path("outside"), g.path("outside/deep"))
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- exchange(g, stop) }()
	for range 1000 {
		result, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "needle"})
		must(t, err)
		for _, line := range lines(result) {
			if strings.Contains(line, "outside") {
				t.Errorf("found %s", line)
			}
		}
		_, err = roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: "location"}, Pattern: "**"})
		must(t, err)
	}
	made := 0
	for tries := 0; made < 20 && tries < 20_000 || tries < 300; tries++ {
		_, err := commit(t, roots, write("folder/secret", "inside needle\n", ""), write("folder/deep/secret", "inside needle\n", ""))
		var failed *fsys.Error
		if err == nil {
			made++
		} else if !errors.As(err, &failed) || failed.Kind == fsys.KindFailed {
			t.Errorf("commit: %v", err)
		}
	}
	close(stop)
	must(t, <-ended)
	if opened() {
		t.Error("something outside was opened")
	}
	if diff := cmp.Diff(before, g.files("outside")); diff != "" {
		t.Errorf("something outside was changed: %s", diff)
	}
	if made == 0 {
		t.Error("no commit was made, so none was tested")
	}
}
