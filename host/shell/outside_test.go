package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/shell"
)

// TestOutside follows links and ".." as the system does, on real files.
func TestOutside(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(root, "project")
	for _, folder := range []string{"project/sub/deep", "other/deep", "projects"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"project/out": "../other", "project/in": "sub/deep", "project/absolute": filepath.Join(root, "other", "deep"),
		"project/missing": "../gone/x", "other/back": "../project", "project/chain": "out/deep",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(project, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want []string
	}{
		{"rm x sub/x in/x", nil},
		{"rm ../x", []string{"x"}},
		{"rm ../projects/x", []string{"projects/x"}},
		{"rm ../project/x", nil},
		{"rm out", []string{"other"}},
		{"rm out/x", []string{"other/x"}},
		{"rm in/../x", nil},
		{"rm out/../x", []string{"x"}},
		{"rm absolute/x", []string{"other/deep/x"}},
		{"rm absolute/../../x", []string{"x"}},
		{"rm out/back/x", nil},
		{"rm chain/x", []string{"other/deep/x"}},
		{"rm missing", []string{"gone/x"}},
		{"rm new/folder/../../..", []string{"."}},
		{"rm file/x", nil},
		{"rm " + strings.Repeat("x", 300), nil},
		{"cd out && rm x", []string{"other", "other/x"}},
		{"cd out; cd ..; rm x", []string{"other", "x", ".", "other/x"}},
		{"cat ROOT/other/x ROOT/project/x", []string{"other/x"}},
		{"tool ROOT/other ROOT/nothing", []string{"other"}},
		{"echo x > out/log", []string{"other/log"}},
	} {
		line := shell.Parse(strings.ReplaceAll(c.text, "ROOT", root), shell.Options{Directory: project})
		found, err := shell.Outside(line.Paths, project)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, place := range found {
			relative, err := filepath.Rel(root, place)
			if err != nil {
				t.Fatal(err)
			}
			got[relative] = true
		}
		want := map[string]bool{}
		for _, place := range c.want {
			want[place] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
	}
}

// TestOutsideRefuses holds that a path that cannot be followed is not taken for
// one inside.
func TestOutsideRefuses(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink("loop", filepath.Join(folder, "loop")); err != nil {
		t.Fatal(err)
	}
	_, err := shell.Outside([]shell.Path{{Path: filepath.Join(folder, "loop", "x"), Access: shell.Read}}, folder)
	if err == nil || !strings.Contains(err.Error(), "more than 40 links") {
		t.Errorf("a link to itself gives %v", err)
	}
}
