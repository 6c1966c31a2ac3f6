package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// gitProject makes the rig's project a git work tree with a tool that writes "PATH TEXT".
func gitProject(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	command := exec.Command("git", "init", "--quiet", r.project)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.writer()
	return r
}

func (r *rig) writer() {
	r.tool("put", func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
		path, text, _ := strings.Cut(strings.Trim(string(call.Input), `{}"`), `":"`)
		r.write(path, text)
		return sessiontest.Output("ok"), nil
	})
}

func (r *rig) read(name string) string {
	data, err := os.ReadFile(filepath.Join(r.project, name))
	if err != nil {
		return err.Error()[len("open "+filepath.Join(r.project, name)):]
	}
	return string(data)
}

func (r *rig) users(id string) (all []protocol.Message) {
	r.t.Helper()
	for _, message := range got[protocol.MessageList](r, request{method: "GET", path: "/v1/sessions/" + id + "/messages"}).Messages {
		if message.Type == protocol.MessageUser {
			all = append(all, message)
		}
	}
	return all
}

// TestRevertOfARealProject goes from prompt to prompt and back, at the terminal and over
// HTTP, with a real git.
func TestRevertOfARealProject(t *testing.T) {
	r := gitProject(t)
	r.write("a.txt", "zero")
	id := r.session()
	r.settled(id, `call put {"a.txt":"one"}`)
	r.settled(id, `call put {"b.txt":"two"}`)
	r.write("mine.txt", "my own")
	shown := got[protocol.Session](r, request{method: "GET", path: "/v1/sessions/" + id})
	want := &protocol.Changes{Additions: 2, Deletions: 1, Total: 2, Files: []protocol.FileDiff{{Path: "a.txt", Additions: 1, Deletions: 1}, {Path: "b.txt", Additions: 1}}}
	if diff := cmp.Diff(want, shown.Changes); diff != "" {
		t.Error(diff)
	}
	if listed := got[protocol.SessionList](r, request{method: "GET", path: "/v1/sessions"}).Sessions[0].Changes; listed == nil || listed.Total != 2 || listed.Files != nil {
		t.Errorf("the list shows %+v", listed)
	}
	out, notes, code := r.terminal("sessions", "changes", id)
	if code != 0 || out != "+1  -1  a.txt\n+1  -0  b.txt\n+2  -1  2 files\n" {
		t.Errorf("exit %d: %q, %s", code, out, notes)
	}
	second := r.users(id)[1].ID
	out, _, code = r.terminal("sessions", "changes", id, "--message", second, "--patch")
	if code != 0 || !strings.Contains(out, "+++ b/b.txt\n@@ -0,0 +1 @@\n+two\n") || strings.Contains(out, "a.txt") {
		t.Errorf("exit %d: %s", code, out)
	}
	alone := got[protocol.ChangeList](r, request{method: "GET", path: "/v1/sessions/" + id + "/changes?path=a.txt&patch=true"})
	if len(alone.Files) != 1 || alone.Total != 1 || !strings.Contains(alone.Files[0].Patch, "-zero\n") {
		t.Errorf("%+v", alone)
	}
	if p := r.problem(request{method: "GET", path: "/v1/sessions/" + id + "/changes?path=mine.txt"}); p.Code != protocol.NotFound {
		t.Errorf("%+v", p)
	}

	first := r.users(id)[0].ID
	out, notes, code = r.terminal("sessions", "revert", id, first)
	if code != 0 || !strings.Contains(out, "goes back to before "+first) || !strings.Contains(out, "restored a.txt") || !strings.Contains(out, "restored b.txt") {
		t.Errorf("exit %d: %s%s", code, out, notes)
	}
	state := func() string { return r.read("a.txt") + "|" + r.read("b.txt") + "|" + r.read("mine.txt") }
	if got := state(); got != "zero|: no such file or directory|my own" {
		t.Errorf("reverted: %s", got)
	}
	if out, _, code = r.terminal("sessions", "revert", id, "--clear"); code != 0 || !strings.Contains(out, "no revert is staged") || state() != "one|two|my own" {
		t.Errorf("cleared: exit %d, %s, %s", code, out, state())
	}
	if _, notes, code = r.terminal("sessions", "revert", id, "--clear"); code == 0 || !strings.Contains(notes, "has no revert staged; stage one first") {
		t.Errorf("cleared twice: exit %d, %s", code, notes)
	}
	staged := got[protocol.Session](r, request{path: "/v1/sessions/" + id + "/revert", body: `{"message":"` + second + `","files":false}`})
	if staged.Revert == nil || staged.Revert.Files != nil || state() != "one|two|my own" {
		t.Errorf("%+v, %s", staged.Revert, state())
	}
	r.restart()
	r.writer()
	r.settled(id, `call put {"b.txt":"three"}`)
	if left := r.users(id); len(left) != 2 || left[0].ID != first || left[1].ID == second {
		t.Errorf("left %+v", left)
	}
	if out, notes, code = r.terminal("sessions", "revert", id, first, "--json"); code != 0 || !strings.Contains(out, `"message": "`+first+`"`) {
		t.Errorf("exit %d: %s%s", code, out, notes)
	}
	if out, notes, code = r.terminal("sessions", "revert", id, "--commit"); code != 0 || len(r.users(id)) != 0 {
		t.Errorf("committed: exit %d: %s%s", code, out, notes)
	}
	if got := state(); got != "zero|: no such file or directory|my own" {
		t.Errorf("at the end: %s", got)
	}
}

// TestRevertThatLeavesAFile: what is in the way of a file is told everywhere.
func TestRevertThatLeavesAFile(t *testing.T) {
	r := gitProject(t)
	r.write("a.txt", "zero")
	r.write(".gitignore", "ignored")
	id := r.session()
	r.settled(id, `call put {"a.txt":"one"}`)
	r.settled(id, `call put {"b.txt":"two"}`)
	if err := os.Remove(filepath.Join(r.project, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.project, "a.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.write("a.txt/ignored", "my own")
	said := "could not restore a.txt: something that no snapshot has is in its way"
	first := r.users(id)[0].ID
	out, _, code := r.terminal("sessions", "revert", id, first)
	if code != 0 || !strings.Contains(out, said) || strings.Contains(out, "restored a.txt") || !strings.Contains(out, "restored b.txt") {
		t.Errorf("exit %d: %s", code, out)
	}
	shown := got[protocol.Session](r, request{method: "GET", path: "/v1/sessions/" + id})
	if shown.Revert == nil || len(shown.Revert.Unrestored) != 1 || shown.Unrestored != nil {
		t.Errorf("%+v, %v", shown.Revert, shown.Unrestored)
	}
	if out, _, code = r.terminal("sessions", "revert", id, "--commit"); code != 0 || !strings.Contains(out, said) {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, _, code = r.terminal("sessions", "show", id, "--json"); code != 0 || !strings.Contains(out, `"unrestored": [`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestRevertAtTheTerminalWrongly(t *testing.T) {
	r := newRig(t)
	for want, args := range map[string][]string{
		"no message; give the first that is to go":   {none},
		"--clear and --commit exclude each other":    {none, "--clear", "--commit"},
		"give neither a message nor --no-files":      {none, "msg_1", "--clear"},
		"are of the revert that is staged; give":     {none, "--commit", "--no-files"},
		"accepts between 1 and 2 arg(s), received 0": {},
	} {
		if _, notes, code := r.terminal(append([]string{"sessions", "revert"}, args...)...); code != exitUsage || !strings.Contains(notes, want) {
			t.Errorf("%v: exit %d, %s", args, code, notes)
		}
	}
}

// TestARevertIsRepeatable: under its key it has one effect, and one whose first attempt
// died while it restored files is finished.
func TestARevertIsRepeatable(t *testing.T) {
	r := gitProject(t)
	r.write("a.txt", "zero")
	id := r.session()
	r.settled(id, `call put {"a.txt":"one"}`)
	message := r.users(id)[0].ID
	caller := server.Caller{Actor: "test", Key: "k"}
	service := revertService{r.backend}
	staged, err := service.Revert(r.within(), caller, id, protocol.RevertSession{Message: message})
	if err != nil || staged.Revert == nil {
		t.Fatal(staged, err)
	}
	revert := mustGet(t, r, id).Revert
	if _, err := service.Revert(r.within(), caller, id, protocol.RevertSession{Message: "msg_other"}); protocol.AsError(err).Code != protocol.Conflict {
		t.Errorf("another under the key: %v", err)
	}
	if got := r.count(id, is[session.RevertStaged]); got != 2 {
		t.Errorf("%d events", got)
	}
	died := *revert
	died.Restoring = true
	r.record(id, session.RevertStaged{Revert: died})
	r.write("a.txt", "one")
	again, err := service.Revert(r.within(), caller, id, protocol.RevertSession{Message: message})
	if err != nil || again.Revert == nil || again.Revert.Restoring || r.read("a.txt") != "zero" {
		t.Errorf("%+v, %v, %s", again.Revert, err, r.read("a.txt"))
	}
}

func mustGet(t *testing.T, r *rig, id string) session.Session {
	t.Helper()
	s, err := r.backend.sessions.Get(r.within(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTitles: the offline model gives one too, after the first answer.
func TestTitles(t *testing.T) {
	r := newRig(t)
	r.titles = true
	r.restart()
	id := r.session()
	r.settled(id, "count 3")
	renamed := r.decode(r.await(id, -1, is[session.Renamed])).(session.Renamed)
	if want := (session.Renamed{Title: "count 3", Auto: true, Usage: renamed.Usage, Cost: renamed.Cost}); renamed != want || renamed.Usage == nil {
		t.Errorf("%+v", renamed)
	}
	if got := got[protocol.Session](r, request{method: "GET", path: "/v1/sessions/" + id}).Title; got != "count 3" {
		t.Errorf("title %q", got)
	}
}

func TestSnapshotsTurnedOff(t *testing.T) {
	r := gitProject(t)
	r.configure("[snapshots]\nenabled = false\n")
	r.restart()
	r.writer()
	id := r.session()
	r.settled(id, `call put {"a.txt":"one"}`)
	if s := mustGet(t, r, id); s.Changes != nil {
		t.Errorf("%+v", s.Changes)
	}
	staged := got[protocol.Session](r, request{path: "/v1/sessions/" + id + "/revert", body: `{"message":"` + r.users(id)[0].ID + `"}`})
	if staged.Revert == nil || staged.Revert.Files != nil || r.read("a.txt") != "one" {
		t.Errorf("%+v", staged.Revert)
	}
	if _, err := os.Stat(filepath.Join(r.data, "snapshots")); !os.IsNotExist(err) {
		t.Error("a folder of snapshots was made")
	}
}
