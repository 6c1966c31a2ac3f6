package main

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// configure sets the host's settings until the test ends.
func configure(t *testing.T, s settings) {
	before := configured
	configured = s
	t.Cleanup(func() { configured = before })
}

// globs gives the sampler's host fs.glob, with what it says besides of what it passed.
func (s *sampler) globs(passed abi.FSPassed) {
	s.host.Operations = map[string]plinthtest.Operation{}
	s.host.Operations[abi.OpFSGlob] = func(request json.RawMessage, _ []byte) (any, []byte, error) {
		var query abi.FSGlob
		if err := json.Unmarshal(request, &query); err != nil {
			return nil, nil, err
		}
		found := abi.FSFound{Files: []abi.FileInfo{}, FSPassed: passed}
		names, err := fs.Glob(s.host.Roots[query.Root], strings.TrimPrefix(path.Join(query.Path.Path, query.Pattern), "/"))
		for _, name := range names {
			if found.Matched++; len(found.Files) < query.Limit {
				if query.Root == "operator" {
					name = "/" + name
				}
				found.Files = append(found.Files, abi.FileInfo{Path: name, Name: path.Base(name), Kind: abi.FileRegular})
			}
		}
		return found, nil, err
	}
}

func TestConfiguredFilesComeAsConfigured(t *testing.T) {
	s := newSampler(t)
	s.globs(abi.FSPassed{})
	configure(t, settings{Files: []configuredFile{
		{Root: "operator", Path: "/home/ann/style.md"}, {Root: "project", Path: "docs/rules", Pattern: "*.md"},
		{Root: "project", Path: "missing.md"}, {Root: "project", Path: "docs/rules/b.md"}, {Root: "project", Path: "AGENTS.md"},
	}})
	s.host.Roots["operator"] = fstest.MapFS{"home/ann/style.md": file("tabs")}
	s.project["AGENTS.md"] = file("root")
	s.project["docs/rules/b.md"], s.project["docs/rules/a.md"], s.project["docs/rules/c.txt"] = file("rule b"), file("rule a"), file("no rule")
	states := s.observe(t)
	want := "Instructions from: /home/ann/style.md\ntabs\n\nInstructions from: /p/docs/rules/a.md\nrule a\n\nInstructions from: /p/docs/rules/b.md\nrule b"
	if got := states[configuredKey]; got.Baseline != want || got.Removed == "" || got.Update != "" {
		t.Errorf("%q, update %q", got.Baseline, got.Update)
	}
	if got := states[instructionsKey]; got.Baseline != "Instructions from: /p/AGENTS.md\nroot" {
		t.Errorf("what two sources find: %q", got.Baseline)
	}
	delete(s.project, "docs/rules/a.md")
	state := s.observe(t)[configuredKey]
	if !strings.Contains(state.Update, "supersede") || !strings.HasSuffix(state.Update, "\n\n"+state.Baseline) || strings.Contains(state.Baseline, "rule a") {
		t.Errorf("one of three is gone: %q", state.Update)
	}
	configured.WithoutProject = true
	if state := s.observe(t)[configuredKey]; state.Baseline != "Instructions from: /home/ann/style.md\ntabs" {
		t.Errorf("without the project: %q", state.Baseline)
	}
	s.host.Roots["operator"] = fstest.MapFS{}
	if state := s.observe(t)[configuredKey]; state.State != abi.SourceAbsent {
		t.Errorf("nothing left: %+v", state)
	}
}

func TestConfiguredFilesThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		passed abi.FSPassed
		refuse error
		state  string
		text   string
	}{
		"a file":               {refuse: &abi.Error{Kind: abi.KindFailed, Message: "no"}, state: abi.SourceUnavailable},
		"gone since the glob":  {refuse: &abi.Error{Kind: abi.KindNotFound, Message: "no"}, state: abi.SourceUnavailable},
		"a folder of the glob": {passed: abi.FSPassed{Unreadable: 1}, state: abi.SourceUnavailable},
		"the rules":            {refuse: &abi.Error{Kind: abi.KindDenied, Message: "no"}, state: abi.SourceValue, text: "(This file is there, but the permission rules"},
		"the rules, by a glob": {passed: abi.FSPassed{Denied: 2, Asks: 1}, state: abi.SourceValue, text: "Instructions from: /p/docs/*.md\n(3 files that fit"},
	} {
		s := newSampler(t)
		s.globs(c.passed)
		configure(t, settings{Files: []configuredFile{{Root: "project", Path: "docs", Pattern: "*.md"}}})
		s.project["AGENTS.md"], s.project["docs/a.md"] = file("root"), file("rule")
		s.host.Refuse = func(operation string, at abi.Path) error {
			if at.Path == "docs/a.md" {
				return c.refuse
			}
			return nil
		}
		states := s.observe(t)
		if got := states[configuredKey]; got.State != c.state || !strings.Contains(got.Baseline, c.text) {
			t.Errorf("%s: %+v", name, got)
		}
		if states[instructionsKey].State != abi.SourceValue || states[nestedKey].State != abi.SourceAbsent {
			t.Errorf("%s: the others: %+v", name, states)
		}
	}
}

func TestTheBoundsOfASource(t *testing.T) {
	s := newSampler(t)
	s.globs(abi.FSPassed{})
	configure(t, settings{Files: []configuredFile{{Root: "project", Path: "r", Pattern: "*.md"}}})
	name := func(i int) string { return "r/" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ".md" }
	for i := range maxFiles {
		s.project[name(i)] = file("rule")
	}
	if state := s.observe(t)[configuredKey]; strings.Contains(state.Baseline, "left out") || strings.Count(state.Baseline, "rule") != maxFiles {
		t.Errorf("as many as may be: %q", state.Baseline)
	}
	for i := range maxFiles + maxNamed + 5 {
		s.project[name(i)] = file("rule")
	}
	state := s.observe(t)[configuredKey]
	if strings.Count(state.Baseline, "\nrule") != maxFiles || !strings.Contains(state.Baseline, "\n\n(25 more instruction files are left out: at most 32 files of 262144 bytes") ||
		!strings.Contains(state.Baseline, "/p/"+name(maxFiles)+", ") || !strings.HasSuffix(state.Baseline, ", …)") {
		t.Errorf("more than may be: %q", state.Baseline)
	}
	if again := s.observe(t)[configuredKey]; again.Update != "" {
		t.Error("unchanged, and an update")
	}
	for _, extra := range []int{0, 1} {
		clear(s.project)
		s.project["r/aa.md"], s.project["r/bb.md"] = file(strings.Repeat("x", maxTotal-10)), file(strings.Repeat("y", 10+extra))
		if state := s.observe(t)[configuredKey]; strings.Contains(state.Baseline, "(1 more instruction files are left out") != (extra == 1) || strings.Contains(state.Baseline, "yyy") != (extra == 0) {
			t.Errorf("%d bytes more: %.200q … %q", extra, state.Baseline, state.Baseline[len(state.Baseline)-200:])
		}
	}
}

func TestTheFallbackNames(t *testing.T) {
	s := newSampler(t)
	s.config["CLAUDE.md"] = file("global claude")
	s.project["a/b/CONTEXT.md"] = file("context")
	s.project["a/CLAUDE.md"], s.project["a/CONTEXT.md"] = file("claude"), file("not told")
	s.project["AGENTS.md/x"], s.project["CLAUDE.md"] = file("a directory of that name"), file("root claude")
	want := "Instructions from: CLAUDE.md of the user's configuration\nglobal claude\n\nInstructions from: /p/a/b/CONTEXT.md\ncontext\n\n" +
		"Instructions from: /p/a/CLAUDE.md\nclaude\n\nInstructions from: /p/CLAUDE.md\nroot claude"
	if state := s.observe(t)[instructionsKey]; state.Baseline != want {
		t.Errorf("%q", state.Baseline)
	}
	s.project["a/AGENTS.md"] = file(" ")
	if state := s.observe(t)[instructionsKey]; strings.Contains(state.Baseline, "\nclaude") {
		t.Errorf("an empty file is there: %q", state.Baseline)
	}
	delete(s.config, "CLAUDE.md")
	s.config["CONTEXT.md"] = file("not of the user")
	if state := s.observe(t)[instructionsKey]; strings.Contains(state.Baseline, "not of the user") {
		t.Errorf("%q", state.Baseline)
	}
}

func TestInstructionsBesideFilesThatWereRead(t *testing.T) {
	s := newSampler(t)
	for _, path := range []string{"AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md", "a/b/c/d/AGENTS.md", "a/b/c/AGENTS.md", "x/y/CLAUDE.md", "z/AGENTS.md"} {
		s.project[path] = file("of " + path)
	}
	if state := s.observe(t)[nestedKey]; state.State != abi.SourceAbsent {
		t.Errorf("nothing was read: %+v", state)
	}
	s.directories = []string{"a", "a/b", "a/b/c/d"}
	first := s.observe(t)[nestedKey]
	want := nestedWording.lead + "Instructions from: /p/a/b/c/AGENTS.md\nof a/b/c/AGENTS.md\n\nInstructions from: /p/a/b/c/d/AGENTS.md\nof a/b/c/d/AGENTS.md"
	if first.Baseline != want || first.Update != "" {
		t.Errorf("%q, update %q", first.Baseline, first.Update)
	}
	s.directories = append(s.directories, "x/y")
	second := s.observe(t)[nestedKey]
	if second.Update != nestedWording.changed+second.Baseline || second.Baseline != want+"\n\nInstructions from: /p/x/y/CLAUDE.md\nof x/y/CLAUDE.md" {
		t.Errorf("one more: %q", second.Update)
	}
	delete(s.project, "a/b/c/AGENTS.md")
	if state := s.observe(t)[nestedKey]; strings.Contains(state.Update, "/c/AGENTS.md\n") || !strings.Contains(state.Update, "x/y/CLAUDE.md") {
		t.Errorf("one less: %q", state.Update)
	}
	s.location.Directory = "/elsewhere"
	if state := s.observe(t)[nestedKey]; state.State != abi.SourceAbsent {
		t.Errorf("outside of the root: %+v", state)
	}
}

func TestTheProjectCanBeLeftOut(t *testing.T) {
	s := newSampler(t)
	configure(t, settings{WithoutProject: true})
	s.config["AGENTS.md"], s.project["AGENTS.md"], s.project["x/AGENTS.md"] = file("global"), file("root"), file("beside")
	s.directories = []string{"x"}
	states := s.observe(t)
	if states[instructionsKey].Baseline != "Instructions from: AGENTS.md of the user's configuration\nglobal" || states[nestedKey].State != abi.SourceAbsent {
		t.Errorf("%+v", states)
	}
	if i := slices.IndexFunc(s.host.Asked, func(asked string) bool { return strings.Contains(asked, "project:") }); i >= 0 {
		t.Errorf("it looks into the project: %s", s.host.Asked[i])
	}
}

func TestManyFoldersAreBounded(t *testing.T) {
	s := newSampler(t)
	for i := range maxPlaces + 10 {
		s.directories = append(s.directories, "d"+string(rune('a'+i/26/26))+string(rune('a'+i/26%26))+string(rune('a'+i%26)))
	}
	s.observe(t)
	var looked int
	for _, asked := range s.host.Asked {
		if strings.HasPrefix(asked, "fs.stat project:d") {
			looked++
		}
	}
	if looked != maxPlaces*len(projectNames) || len(s.host.Lines) != 1 || !strings.Contains(s.host.Lines[0], "the first 512") {
		t.Errorf("%d looked at, log %q", looked, s.host.Lines)
	}
}
