package skill_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/skill"
	"github.com/plinthhost/plinth/session"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + name + "\nallowed-tools: Read\nmetadata:\n  author: me\n---\n" + body
}

// TestSkillsOfAPlace: the operator's go before the project's, an earlier folder before a
// later one; a project's count only where they may.
func TestSkillsOfAPlace(t *testing.T) {
	base := t.TempDir()
	first, second, root := filepath.Join(base, "first"), filepath.Join(base, "second"), filepath.Join(base, "project")
	write(t, filepath.Join(first, "one/SKILL.md"), text("one", "first"))
	write(t, filepath.Join(second, "one/SKILL.md"), text("one", "second"))
	write(t, filepath.Join(second, "two/SKILL.md"), text("two", "second"))
	write(t, filepath.Join(root, ".plinth/skills/two/SKILL.md"), text("two", "project"))
	write(t, filepath.Join(root, ".plinth/skills/three/SKILL.md"), text("three", "project"))
	write(t, filepath.Join(root, ".claude/skills/three/SKILL.md"), text("three", "claude"))
	write(t, filepath.Join(root, ".claude/skills/four/SKILL.md"), text("four", "claude"))
	write(t, filepath.Join(root, ".claude/skills/none/README.md"), "nothing")
	write(t, filepath.Join(root, ".claude/skills/file.md"), "nothing")
	location := session.Location{Directory: filepath.Join(root, "sub"), Root: root}
	for project, want := range map[bool][]string{
		true:  {"four: claude", "one: first", "three: project", "two: second"},
		false: {"one: first", "two: second"},
	} {
		finder := skill.NewFinder(skill.Options{Folders: []string{first, second}, Project: project, Logger: hclog.NewNullLogger()})
		skills, wrong, err := finder.Look(t.Context(), location)
		if err != nil || len(wrong) != 0 {
			t.Fatal(err, wrong)
		}
		var got []string
		for _, one := range skills {
			got = append(got, one.Name+": "+one.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("project %t: %s", project, diff)
		}
	}
	finder := skill.NewFinder(skill.Options{Project: true, Logger: hclog.NewNullLogger()})
	got, err := finder.Skill(t.Context(), location, "three")
	want := session.Skill{Name: "three", Description: "About three", Text: "project", Directory: filepath.Join(root, ".plinth/skills/three")}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := finder.Skill(t.Context(), location, "five"); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	if skills, err := finder.Skills(t.Context(), session.Location{}); len(skills) != 0 || err != nil {
		t.Errorf("nowhere: %v, %v", skills, err)
	}
}

// TestMistakesAreLoggedOnce, and keep only their own skill out.
func TestMistakesAreLoggedOnce(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"good": text("good", "x"), "unnamed": "---\ndescription: d\n---\nx", "shout": text("SHOUT", "x"), "dash": text("a--b", "x"), "empty": text("empty", " "),
		"mute": "---\nname: mute\n---\nx", "long": "---\nname: long\ndescription: " + strings.Repeat("x", skill.MaxDescription+1) + "\n---\nx",
		"longname": text(strings.Repeat("x", skill.MaxName+1), "x"), "fits": "---\nname: " + strings.Repeat("y", skill.MaxName) + "\ndescription: " + strings.Repeat("x", skill.MaxDescription) + "\n---\nx",
	} {
		write(t, filepath.Join(folder, name, "SKILL.md"), content)
	}
	var log bytes.Buffer
	finder := skill.NewFinder(skill.Options{Folders: []string{folder}, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	for range 2 {
		skills, wrong, err := finder.Look(t.Context(), session.Location{})
		if err != nil || len(skills) != 2 || len(wrong) != 7 {
			t.Fatalf("%v, %v, %v", skills, wrong, err)
		}
	}
	if n := strings.Count(log.String(), "a skill is left out"); n != 7 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	for _, want := range []string{"shout/SKILL.md:2: name: must have small letters", "unnamed/SKILL.md:1: name: is missing", "mute/SKILL.md:1: description: is missing",
		"long/SKILL.md:3: description: has 1025 bytes, the limit is 1024", "empty/SKILL.md: has no text"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log.String())
		}
	}
}

// TestProjectSkillsLeadNowhereElse: what a project's folders link to outside of it is no
// skill, and no file beside one.
func TestProjectSkillsLeadNowhereElse(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "project"), filepath.Join(base, "outside")
	write(t, filepath.Join(outside, "other/SKILL.md"), text("other", "secret"))
	write(t, filepath.Join(root, ".plinth/skills/one/SKILL.md"), text("one", "x"))
	write(t, filepath.Join(root, ".plinth/skills/one/data.txt"), "x")
	for name, target := range map[string]string{".plinth/skills/other": filepath.Join(outside, "other"), ".plinth/skills/one/out": outside} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	finder := skill.NewFinder(skill.Options{Project: true, Logger: hclog.NewNullLogger()})
	skills, wrong, err := finder.Look(t.Context(), session.Location{Root: root})
	if err != nil || len(skills) != 1 || len(wrong) != 1 {
		t.Fatalf("%v, %v, %v", skills, wrong, err)
	}
	one, err := finder.Skill(t.Context(), session.Location{Root: root}, "one")
	if err != nil || !cmp.Equal(one.Files, []string{"data.txt"}) {
		t.Errorf("%v, %v", one.Files, err)
	}
}
