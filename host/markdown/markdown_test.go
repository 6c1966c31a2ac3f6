package markdown_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/markdown"
)

type note struct {
	Title string   `yaml:"title"`
	Count int      `yaml:"count"`
	Tags  []string `yaml:"tags"`
	Parts []struct {
		Name string `yaml:"name"`
		Size int    `yaml:"size"`
	} `yaml:"parts"`
	Body string `yaml:"-"`
	Name string `yaml:"-"`
}

func notes() *markdown.Files[note] {
	return markdown.New(func(file markdown.File) (n note, err error) {
		err = file.Front(&n)
		n.Body, n.Name = file.Body, file.Name
		return n, err
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreRead(t *testing.T) {
	folder := t.TempDir()
	files := notes()
	for name, text := range map[string]string{
		"a.md": "---\ntitle: A\ncount: 3\ntags: [x, y]\n---\n\nBody of a\n---\nmore\n\n", "b.md": "\ufeff---\r\ntitle: B\r\n---\r\nBody\r\nof b\r\n",
		"c.md": "no front matter\n", "d.md": "---\n---\nempty front matter", "e.txt": "another", "f.md/g.md": "below", "g.md": "---\ntitle: G\n---",
	} {
		write(t, filepath.Join(folder, name), text)
	}
	got, wrong := files.In(markdown.Folder{Path: folder}, "")
	want := []note{{Title: "A", Count: 3, Tags: []string{"x", "y"}, Body: "Body of a\n---\nmore", Name: "a"}, {Title: "B", Body: "Body\nof b", Name: "b"},
		{Body: "no front matter", Name: "c"}, {Body: "empty front matter", Name: "d"}, {Title: "G", Name: "g"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(wrong) != 1 || wrong[0].Error() != filepath.Join(folder, "f.md")+": is not a regular file" {
		t.Errorf("%v", wrong)
	}
	each, wrong := files.In(markdown.Folder{Path: folder}, "g.md")
	if len(each) != 1 || each[0].Name != "f.md" || each[0].Body != "below" || len(wrong) != 0 {
		t.Errorf("%+v, %v", each, wrong)
	}
	if none, wrong := files.In(markdown.Folder{Path: filepath.Join(folder, "none")}, ""); none != nil || wrong != nil {
		t.Errorf("%v, %v", none, wrong)
	}
}

// TestMistakesNameTheLine: what is wrong with a file is told with its line and the fix, and
// keeps only that file out.
func TestMistakesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"---\ntitle: A\nwrong: 1\n---\n":        `:3: unknown key "wrong"; known here: title, count, tags, parts`,
		"---\ntitle: A\n\ncount: many\n---\n":   `:4: "many" must be a whole number`,
		"---\ntitle: [a]\n---\n":                `:2: a list must be a text`,
		"---\ntags: x\n---\n":                   `:2: "x" must be a list`,
		"---\ntitle: Use when: asked\n---\n":    `:2: mapping values are not allowed in this context; put a text that has a colon in it into quotes`,
		"---\ntitle: A\n\tcount: 1\n---\n":      `; indent with spaces`,
		"---\nparts:\n  - {nam: x}\n---\n":      `:3: unknown key "nam"; known here: name, size`,
		"---\ntitle: A\n":                       `:1: its front matter does not end; write --- alone on a line behind it`,
		"---\n- a\n---\n":                       `:2: its front matter must have keys and values, like description: Reads a change`,
		"---\ntitle: \"A\n---\n":                `found unexpected end of stream`,
		"---\ntitle: A\ntitle: B\n---\n":        `already defined`,
		"\xff":                                  `: is not text in UTF-8`,
		"a\x00":                                 `: is not text in UTF-8`,
		strings.Repeat("x", markdown.MaxFile+1): `: has more than 128 KiB; shorten it`,
		"---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n---\n": `unknown key`,
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "a.md"), text)
		write(t, filepath.Join(folder, "b.md"), "fine")
		got, wrong := notes().In(markdown.Folder{Path: folder}, "")
		if len(got) != 1 || got[0].Body != "fine" || len(wrong) != 1 {
			t.Fatalf("%.40q: %v, %v", text, got, wrong)
		}
		mistake, ok := errors.AsType[*markdown.Error](wrong[0])
		if !ok || mistake.Path != filepath.Join(folder, "a.md") || !strings.Contains(mistake.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, wrong[0], want)
		}
	}
}

func TestLargestFileIsRead(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.md"), strings.Repeat("x", markdown.MaxFile))
	if got, wrong := notes().In(markdown.Folder{Path: folder}, ""); len(got) != 1 || len(wrong) != 0 {
		t.Errorf("%d files, %v", len(got), wrong)
	}
}

func TestFilesOfAFolderAreBounded(t *testing.T) {
	folder := t.TempDir()
	for i := range markdown.MaxFiles + 1 {
		write(t, filepath.Join(folder, fmt.Sprintf("%04d.md", i)), "x")
	}
	got, wrong := notes().In(markdown.Folder{Path: folder}, "")
	if len(got) != markdown.MaxFiles || len(wrong) != 1 || wrong[0].Error() != folder+": has more than 256 files; the others are left out" {
		t.Errorf("%d, %v", len(got), wrong)
	}
}

// TestUnchangedFilesAreNotParsedAgain: a change is seen, and nothing else is read again.
func TestUnchangedFilesAreNotParsedAgain(t *testing.T) {
	folder, parsed := t.TempDir(), 0
	files := markdown.New(func(file markdown.File) (string, error) {
		parsed++
		return file.Body, nil
	})
	path := filepath.Join(folder, "a.md")
	for i, text := range []string{"one", "one", "other", "other"} {
		if i%2 == 0 {
			write(t, path, text)
		}
		if got, wrong := files.In(markdown.Folder{Path: folder}, ""); len(got) != 1 || got[0] != text || len(wrong) != 0 || parsed != 1+i/2 {
			t.Errorf("%d: %v, %v, parsed %d times", i, got, wrong, parsed)
		}
	}
}

// TestNothingLeadsOutOfAProject: no link does, where the folder is confined, and a pipe
// holds nobody up.
func TestNothingLeadsOutOfAProject(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "project"), filepath.Join(base, "outside")
	write(t, filepath.Join(outside, "secret.md"), "secret")
	write(t, filepath.Join(root, "inside.md"), "inside")
	folder := filepath.Join(root, ".plinth", "agents")
	write(t, filepath.Join(folder, "a.md"), "a")
	for name, target := range map[string]string{"in.md": "../../inside.md", "out.md": "../../../outside/secret.md", "away.md": filepath.Join(outside, "secret.md")} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies := func(in markdown.Folder) (bodies []string, mistakes int) {
		got, wrong := notes().In(in, "")
		for _, one := range got {
			bodies = append(bodies, one.Body)
		}
		return bodies, len(wrong)
	}
	if got, wrong := bodies(markdown.Folder{Path: folder, Within: root}); !cmp.Equal(got, []string{"a", "inside"}) || wrong != 3 {
		t.Errorf("confined: %q, %d mistakes", got, wrong)
	}
	if got, wrong := bodies(markdown.Folder{Path: folder}); !cmp.Equal(got, []string{"a", "secret", "inside", "secret"}) || wrong != 1 {
		t.Errorf("the operator's: %q, %d mistakes", got, wrong)
	}
	linked := filepath.Join(root, "linked")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	if got, wrong := bodies(markdown.Folder{Path: linked, Within: root}); len(got) != 0 || wrong != 1 {
		t.Errorf("a folder that is a link: %q, %d mistakes", got, wrong)
	}
}
