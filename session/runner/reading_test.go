package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// reads is a tool that reads the files of its input, and then fails if it is to.
func reads() session.Tool {
	return Tool{Define: session.ToolDefinition{Name: "read"}, Run: func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
		var input struct {
			Paths []string
			Fail  bool
		}
		if err := json.Unmarshal(call.Input, &input); err != nil {
			return session.ToolOutput{}, err
		}
		for _, path := range input.Paths {
			call.Host.(session.ReadObserver).Read(path)
		}
		if input.Fail {
			return session.ToolOutput{}, &session.ToolError{Kind: "failed", Message: "half way"}
		}
		return Output("read"), nil
	}}
}

// observing keeps the directories that each observation has.
func observing(w *World) *[][]string {
	var seen [][]string
	w.Contribute("core/nested", w.Kinds.Contexts.Contribute("core/nested", 0, Source{Names: []string{"core/nested"},
		Run: func(_ context.Context, o session.Observation) ([]session.SourceState, error) {
			seen = append(seen, o.Directories)
			value, err := json.Marshal(o.Directories)
			return []session.SourceState{{Key: "core/nested", State: session.SourceValue, Value: value, Baseline: "instructed"}}, err
		}}))
	return &seen
}

// The directories of what tools read are recorded with the call's settlement, once for
// the session, and the next boundary knows them.
func TestWhatToolsReadIsRemembered(t *testing.T) {
	w := New(t, allowed())
	w.Contribute("core/tools", w.Kinds.Tools.Contribute("read", 0, reads()))
	seen := observing(w)
	w.Provider.Script(
		Calls("read", `{"paths":["/work/b/x.go","/work/a/y.go","/work/a/z.go","/work/main.go","/elsewhere/c.go","/workshop/d.go","/work/../etc/passwd"]}`),
		Calls("read", `{"paths":["/work/a/y.go","/work/a/deep/v.go"],"fail":true}`), Calls("read", `{"paths":["/work/b/x.go"]}`), Say("Done"))
	id := w.Create()
	settled(t, w, id)
	want := []session.DirectoriesRead{{Directories: []string{"/work/a", "/work/b"}}, {Directories: []string{"/work/a/deep"}}}
	if diff := cmp.Diff(want, payloads[session.DirectoriesRead](w, id)); diff != "" {
		t.Error(diff)
	}
	first, all := []string{"/work/a", "/work/b"}, []string{"/work/a", "/work/a/deep", "/work/b"}
	if diff := cmp.Diff([][]string{nil, first, all, all}, *seen); diff != "" {
		t.Error(diff)
	}
	for i, event := range events(w, id) {
		if event.Type != "session.directories.read" {
			continue
		}
		if next := events(w, id)[i+1]; next.Type != "session.tool.success" && next.Type != "session.tool.failed" || next.Cause != event.Cause {
			t.Errorf("it is followed by %s", next.Type)
		}
	}
}

// At another place the directories outside of its root are not passed on; back again
// they are.
func TestWhatWasReadStaysAtItsPlace(t *testing.T) {
	w := New(t, allowed())
	w.Contribute("core/tools", w.Kinds.Tools.Contribute("read", 0, reads()))
	seen := observing(w)
	id := w.Create()
	for i, place := range []string{"/work", "/work/a", "/there", "/work"} {
		moved(w, id, place)
		w.Provider.Script(Calls("read", fmt.Sprintf(`{"n":%d,"paths":["/work/a/b/x.go","/work/c/y.go","/there/z/v.go"]}`, i)), Say("Done"))
		w.Prompt(id, "Go", session.Steer)
		idle(w, id)
	}
	read := func(paths ...string) []string { return paths }
	want := [][]string{nil, read("/work/a/b", "/work/c"), read("/work/a/b"), read("/work/a/b"), nil, read("/there/z"), read("/work/a/b", "/work/c"), read("/work/a/b", "/work/c")}
	if diff := cmp.Diff(want, *seen); diff != "" {
		t.Error(diff)
	}
}

// A session remembers 256 directories; what is beyond is told to the operator once.
func TestTheDirectoriesAreBounded(t *testing.T) {
	w := New(t, allowed())
	w.Contribute("core/tools", w.Kinds.Tools.Contribute("read", 0, reads()))
	seen := observing(w)
	var paths []string
	for i := range 260 {
		paths = append(paths, filepath.Join("/work", fmt.Sprintf("d%03d", i), "x.go"))
	}
	encoded, err := json.Marshal(map[string]any{"paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	w.Provider.Script(Calls("read", `{"paths":["/work/first/x.go"]}`), Calls("read", string(encoded)), Calls("read", `{"paths":["/work/z/x.go"]}`), Say("Done"))
	id := w.Create()
	settled(t, w, id)
	last := (*seen)[len(*seen)-1]
	if len(last) != 256 || last[254] != "/work/d254" || last[255] != "/work/first" {
		t.Errorf("%d: %v", len(last), last)
	}
}
