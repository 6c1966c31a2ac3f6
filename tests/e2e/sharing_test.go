package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// TestTwoHosts: a second host on the data folder says who has it, and commands use
// the first.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.serve()
	_, notes, code := w.plinth("serve", "--listen", "127.0.0.1:0")
	if want := fmt.Sprintf("is held by process %d on ", h.command.Process.Pid); code != 1 || !strings.Contains(notes, want) || !strings.Contains(notes, "another data folder") {
		t.Errorf("exit %d, want 1 and %q\n%s", code, want, notes)
	}
	if out, notes, code := w.plinth("run", "count 3"); code != 0 || out != "1 2 3\n" {
		t.Errorf("run: exit %d %q\n%s", code, out, notes)
	}
	if list, err := h.client.Sessions(t.Context(), protocol.ListSessions{}); err != nil || len(list.Sessions) != 1 {
		t.Errorf("the run's session is not with the host: %+v, %v", list, err)
	}
}

// TestPrivateFiles: nobody else on the machine reaches what the host keeps.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.serve()
	if _, _, code := w.plinth("run", "count 3"); code != 0 {
		t.Fatal(code)
	}
	data := filepath.Dir(w.socket())
	err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		switch mode := info.Mode(); {
		case err != nil:
			return err
		case path == data && mode.Perm() != 0o700, path == w.socket() && mode.Perm() != 0o600:
			t.Errorf("%s has mode %v", path, mode)
		case filepath.Dir(path) == data && mode.Perm()&0o077 != 0:
			t.Errorf("%s has mode %v", path, mode)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	h.kill()
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, notes, code := w.plinth("serve", "--listen", "127.0.0.1:0"); code != 1 || !strings.Contains(notes, "chmod 700 "+data) {
		t.Errorf("a folder that others can read: exit %d\n%s", code, notes)
	}
}

// TestRunsAtOnce: several runs without a host share one and all get their answers.
func TestRunsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			if out, notes, code := w.plinth("run", fmt.Sprint("repeat ", i)); code != 0 || out != fmt.Sprintln(i) {
				t.Errorf("exit %d %q\n%s", code, out, notes)
			}
		})
	}
	group.Wait()
	if _, err := os.Lstat(w.socket()); err == nil {
		t.Error("the socket is left behind")
	}
	out, _, _ := w.plinth("sessions")
	if n := strings.Count(out, "ses_"); n != 6 {
		t.Errorf("%d sessions\n%s", n, out)
	}
}

// TestCommandsDoNotWake: a command with a host of its own leaves pending prompts of
// other sessions to a host that stays.
func TestCommandsDoNotWake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := w.held()
	w.recovering(model.Server, session.RecoverOff)
	h := w.serve()
	id := h.session(w)
	if _, err := h.client.Prompt(t.Context(), id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "slow"}}); err != nil {
		t.Fatal(err)
	}
	<-model.began
	waiting, err := h.client.Prompt(t.Context(), id, protocol.Prompt{Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: "next"}})
	if err != nil {
		t.Fatal(err)
	}
	h.kill()
	model.free.Store(true)
	asked := len(model.Requests())
	for _, line := range [][]string{{"sessions"}, {"events", id}, {"token", "list"}, {"plugins"}, {"run", "good"}} {
		if _, notes, code := w.plinth(line...); code != 0 {
			t.Errorf("plinth %v: exit %d\n%s", line, code, notes)
		}
	}
	if n := len(model.Requests()) - asked; n != 1 {
		t.Errorf("%d requests were made, want the run's own", n)
	}
	h = w.serve()
	answer, err := h.client.PromptAndWait(t.Context(), id, protocol.Prompt{ID: waiting.ID, Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: "next"}})
	if err != nil || answer.Result.Outcome != protocol.OutcomeCompleted {
		t.Errorf("%+v, %v", answer, err)
	}
}
