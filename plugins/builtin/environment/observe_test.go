package main

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// sampler observes the sources with what was admitted before.
type sampler struct {
	host        *plinthtest.Host
	project     fstest.MapFS
	config      fstest.MapFS
	location    abi.Location
	now         int64
	model       string
	directories []string
	previous    map[string]json.RawMessage
}

func newSampler(t *testing.T) *sampler {
	s := &sampler{
		project:  fstest.MapFS{},
		config:   fstest.MapFS{},
		location: abi.Location{Directory: "/p/a/b", Root: "/p", Git: true, Platform: "linux"},
		now:      1795262400000, // Sat Nov 21 2026 12:00:00 UTC
		previous: map[string]json.RawMessage{},
	}
	s.host = &plinthtest.Host{Roots: map[string]fs.FS{"project": s.project, "config": s.config}}
	s.host.Serve(t)
	return s
}

// observe answers the states by key and takes the values as admitted.
func (s *sampler) observe(t *testing.T) map[string]abi.SourceState {
	t.Helper()
	observed, err := plinthtest.Call[abi.ContextObserved](t, abi.ExportContext, abi.ContextObserve{Location: s.location, NowMS: s.now, Model: s.model, Directories: s.directories, Previous: s.previous})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	states := map[string]abi.SourceState{}
	for _, state := range observed.Sources {
		keys = append(keys, state.Key)
		states[state.Key] = state
		switch state.State {
		case abi.SourceValue:
			s.previous[state.Key] = state.Value
		case abi.SourceAbsent:
			delete(s.previous, state.Key)
		}
	}
	if want := []string{environmentKey, dateKey, modelKey, instructionsKey, configuredKey, remoteKey, nestedKey}; !slices.Equal(keys, want) {
		t.Fatalf("keys %v, want %v", keys, want)
	}
	return states
}

func file(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }

func TestTheModel(t *testing.T) {
	s := newSampler(t)
	if state := s.observe(t)[modelKey]; state.State != abi.SourceAbsent {
		t.Errorf("without a model: %+v", state)
	}
	for _, c := range []struct{ model, told string }{{"local/a", "local/a"}, {"local/b \"x\"", "local/b \"x\""}, {"", "local/b \"x\""}} {
		s.model = c.model
		want := abi.SourceState{Key: modelKey, State: abi.SourceValue, Value: s.previous[modelKey],
			Baseline: "You run on the model " + c.told + ".", Update: "You now run on the model " + c.told + ". Earlier answers may be another one's."}
		if c.model != "" {
			value, err := json.Marshal(modelValue{Model: c.told})
			if err != nil {
				t.Fatal(err)
			}
			want.Value = value
		}
		if state := s.observe(t)[modelKey]; !reflect.DeepEqual(state, want) {
			t.Errorf("%q: %+v, want %+v", c.model, state, want)
		}
	}
}

func TestEnvironmentAndDate(t *testing.T) {
	s := newSampler(t)
	states := s.observe(t)
	environment := states[environmentKey]
	if want := "The environment you work in:\nWorking directory: /p/a/b\nProject root: /p\nGit repository: yes\nPlatform: linux"; environment.Baseline != want {
		t.Errorf("baseline %q", environment.Baseline)
	}
	if want := `{"directory":"/p/a/b","root":"/p","git":true,"platform":"linux"}`; string(environment.Value) != want {
		t.Errorf("value %s", environment.Value)
	}
	if environment.Removed != "" || states[dateKey].Removed != "" {
		t.Error("what cannot be removed has a removal text")
	}
	s.location.Git = false
	if update := s.observe(t)[environmentKey].Update; !strings.Contains(update, "is now:") || !strings.Contains(update, "Git repository: no") {
		t.Errorf("update %q", update)
	}
}

func TestTheDayIsTheUsers(t *testing.T) {
	s := newSampler(t)
	for _, c := range []struct {
		now    int64
		offset int
		value  string
		day    string
	}{
		{1795262400000, 0, `{"date":"2026-11-21"}`, "Sat Nov 21 2026"},
		{1795262400000, 13 * 60, `{"date":"2026-11-22"}`, "Sun Nov 22 2026"},
		{1795262400000, -12*60 - 1, `{"date":"2026-11-20"}`, "Fri Nov 20 2026"},
		{1795305599999, 0, `{"date":"2026-11-21"}`, "Sat Nov 21 2026"},
		{1795305600000, 0, `{"date":"2026-11-22"}`, "Sun Nov 22 2026"},
		{1793491200000, 330, `{"date":"2026-11-01"}`, "Sun Nov 01 2026"},
	} {
		s.now, s.location.UTCOffset = c.now, c.offset
		date := s.observe(t)[dateKey]
		if string(date.Value) != c.value || date.Baseline != "Today's date: "+c.day || date.Update != "Today's date is now: "+c.day {
			t.Errorf("%d %+d: %s %q %q, want %s %s", c.now, c.offset, date.Value, date.Baseline, date.Update, c.value, c.day)
		}
	}
}

func TestInstructionsComeNearestFirst(t *testing.T) {
	s := newSampler(t)
	s.config["AGENTS.md"] = file("global\n")
	s.project["AGENTS.md"] = file("root")
	s.project["a/AGENTS.md"] = file("between\nlines")
	s.project["a/b/c/AGENTS.md"] = file("below, not looked at")
	got := s.observe(t)[instructionsKey]
	want := "Instructions from: AGENTS.md of the user's configuration\nglobal\n\n" +
		"Instructions from: /p/a/AGENTS.md\nbetween\nlines\n\n" +
		"Instructions from: /p/AGENTS.md\nroot"
	if got.State != abi.SourceValue || got.Baseline != want || got.Update != "" || got.Removed == "" {
		t.Errorf("state %s, update %q, removed %q\n got %q\nwant %q", got.State, got.Update, got.Removed, got.Baseline, want)
	}
	asked := []string{
		"fs.stat config:AGENTS.md", "fs.read config:AGENTS.md", "fs.stat project:a/b/AGENTS.md", "fs.stat project:a/b/CLAUDE.md", "fs.stat project:a/b/CONTEXT.md",
		"fs.stat project:a/AGENTS.md", "fs.read project:a/AGENTS.md", "fs.stat project:AGENTS.md", "fs.read project:AGENTS.md",
	}
	if !slices.Equal(s.host.Asked, asked) {
		t.Errorf("asked %q", s.host.Asked)
	}
}

func TestInstructionsFollowTheFiles(t *testing.T) {
	s := newSampler(t)
	if state := s.observe(t)[instructionsKey]; state.State != abi.SourceAbsent {
		t.Fatalf("without files: %+v", state)
	}
	s.project["AGENTS.md"], s.project["a/AGENTS.md"] = file("root"), file("a")
	s.observe(t)
	if state := s.observe(t)[instructionsKey]; state.Update != "" {
		t.Errorf("unchanged, and an update %q", state.Update)
	}
	delete(s.project, "a/AGENTS.md")
	s.project["AGENTS.md"] = file("root")
	state := s.observe(t)[instructionsKey]
	if !strings.Contains(state.Update, "supersede") || !strings.HasSuffix(state.Update, "\n\n"+state.Baseline) || state.Baseline != "Instructions from: /p/AGENTS.md\nroot" {
		t.Errorf("update %q, baseline %q", state.Update, state.Baseline)
	}
	s.project["AGENTS.md"] = file("root, other")
	if update := s.observe(t)[instructionsKey].Update; !strings.Contains(update, "root, other") {
		t.Errorf("update %q", update)
	}
	s.project["AGENTS.md"] = file(" \n")
	if state := s.observe(t)[instructionsKey]; state.State != abi.SourceAbsent {
		t.Errorf("an empty file: %+v", state)
	}
	s.project["AGENTS.md/x"] = file("a directory of that name")
	delete(s.project, "AGENTS.md")
	if state := s.observe(t)[instructionsKey]; state.State != abi.SourceAbsent {
		t.Errorf("a directory: %+v", state)
	}
}

func TestInstructionsThatCannotBeReadAreUnavailable(t *testing.T) {
	for kind, want := range map[abi.Kind]string{
		abi.KindNotFound: abi.SourceUnavailable, // it was there a moment ago
		abi.KindFailed:   abi.SourceUnavailable,
	} {
		s := newSampler(t)
		s.project["AGENTS.md"] = file("root")
		s.host.Refuse = func(operation string, _ abi.Path) error {
			if operation == abi.OpFSRead {
				return &abi.Error{Kind: kind, Message: "no"}
			}
			return nil
		}
		states := s.observe(t)
		if states[instructionsKey].State != want || states[dateKey].State != abi.SourceValue {
			t.Errorf("%s: %+v", kind, states)
		}
		if len(s.host.Lines) != 1 || !strings.Contains(s.host.Lines[0], "AGENTS.md") {
			t.Errorf("%s: the log has %q", kind, s.host.Lines)
		}
	}
}

func TestInstructionsThatTheRulesKeepAreNamed(t *testing.T) {
	for _, refused := range []string{abi.OpFSStat, abi.OpFSRead} {
		s := newSampler(t)
		s.project["AGENTS.md"], s.project["a/AGENTS.md"] = file("root"), file("between")
		s.host.Refuse = func(operation string, path abi.Path) error {
			if operation == refused && path.Path == "AGENTS.md" && path.Root == "project" {
				return &abi.Error{Kind: abi.KindDenied, Message: "no"}
			}
			return nil
		}
		state := s.observe(t)[instructionsKey]
		if state.State != abi.SourceValue || !strings.Contains(state.Baseline, "Instructions from: /p/a/AGENTS.md\nbetween") ||
			!strings.Contains(state.Baseline, "Instructions from: /p/AGENTS.md\n(This file is there, but the permission rules") {
			t.Errorf("%s refused: %+v", refused, state)
		}
		s.host.Refuse = nil
		if update := s.observe(t)[instructionsKey].Update; !strings.Contains(update, "/p/AGENTS.md\nroot") {
			t.Errorf("after %s was allowed: %q", refused, update)
		}
	}
}

func TestInstructionsOutsideOfTheProjectAreTheUsersAlone(t *testing.T) {
	for _, directory := range []string{"/q", "/project", "/"} {
		s := newSampler(t)
		s.location.Directory = directory
		s.config["AGENTS.md"], s.project["AGENTS.md"] = file("global"), file("root")
		if state := s.observe(t)[instructionsKey]; state.Baseline != "Instructions from: AGENTS.md of the user's configuration\nglobal" {
			t.Errorf("%s: %q", directory, state.Baseline)
		}
	}
	s := newSampler(t)
	s.location = abi.Location{Directory: "/x", Root: "/"}
	s.project["AGENTS.md"] = file("of the whole disk")
	if state := s.observe(t)[instructionsKey]; state.Baseline != "Instructions from: /AGENTS.md\nof the whole disk" {
		t.Errorf("root /: %q", state.Baseline)
	}
}

func TestOneFileIsToldOnce(t *testing.T) {
	s := newSampler(t)
	s.project["AGENTS.md"] = file("root")
	s.host.Canonical = func(_, name string) string { return strings.TrimPrefix(name, "a/") }
	s.project["a/AGENTS.md"] = file("root")
	if state := s.observe(t)[instructionsKey]; state.Baseline != "Instructions from: /p/AGENTS.md\nroot" {
		t.Errorf("%q", state.Baseline)
	}
}

func TestALongFileIsLeftOutAndSaidSo(t *testing.T) {
	s := newSampler(t)
	s.project["AGENTS.md"] = file(strings.Repeat("x", maxFile))
	if state := s.observe(t)[instructionsKey]; len(state.Baseline) != maxFile+len("Instructions from: /p/AGENTS.md\n") {
		t.Errorf("%d bytes", len(state.Baseline))
	}
	s.project["AGENTS.md"] = file(strings.Repeat("x", maxFile+1))
	state := s.observe(t)[instructionsKey]
	if !strings.Contains(state.Update, "262145 bytes") || !strings.Contains(state.Update, "more than 262144 bytes") || len(state.Update) > 500 {
		t.Errorf("%.300q", state.Update)
	}
}
