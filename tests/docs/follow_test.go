package docs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestTheExampleClientFollows runs docs/examples/follow against a host that is killed
// and started again under it, and stops and starts the client too: every event is
// printed once and in order.
func TestTheExampleClientFollows(t *testing.T) {
	home := newHome(t)
	first := home.serve(t)
	token := strings.TrimSpace(home.plinth(t, "token", "create", "follow", "--scope", "session:read"))
	home.plinth(t, "run", "count 3")
	session, _, _ := strings.Cut(home.plinth(t, "sessions"), " ")

	client := home.follow(t, first.address, token, session)
	seq := client.untilEnded(t, 0)
	home.plinth(t, "run", "--session", session, "count 2")
	seq = client.untilEnded(t, seq)

	first.kill()
	home.serve(t, "--listen", strings.TrimPrefix(first.address, "http://"))
	home.plinth(t, "run", "--session", session, "count 4")
	seq = client.untilEnded(t, seq)

	client.stop(t)
	home.plinth(t, "run", "--session", session, "count 5")
	home.follow(t, first.address, token, session).untilEnded(t, seq)
}

// TestTheExampleClientGivesUp: a refusal is no reason to try for ever.
func TestTheExampleClientGivesUp(t *testing.T) {
	home := newHome(t)
	host := home.serve(t)
	token := strings.TrimSpace(home.plinth(t, "token", "create", "follow"))
	for _, c := range []struct{ name, token, session, want string }{
		{"token", "nonsense", "ses_x", "the token is not known"},
		{"session", token, "ses_x", "ses_x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := exec.Command(program("follow"), host.address, c.session, home.path("place"))
			command.Env = append(home.environ, "PLINTH_TOKEN="+c.token)
			output, err := command.CombinedOutput()
			if command.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), c.want) {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

// followed is the example client as it runs.
type followed struct {
	command *exec.Cmd
	lines   *bufio.Scanner
	end     sync.Once
}

func (h *home) follow(t *testing.T, address, token, session string) *followed {
	t.Helper()
	command := exec.Command(program("follow"), address, session, h.path("place"))
	command.Env = append(h.environ, "PLINTH_TOKEN="+token)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = io.Discard // it says there that the host was away
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	f := &followed{command: command, lines: bufio.NewScanner(output)}
	f.lines.Buffer(nil, 1<<20)
	t.Cleanup(func() { f.stop(t) })
	return f
}

// stop ends the client as Ctrl-C would. Killed, it might print its last event again.
func (f *followed) stop(t *testing.T) {
	t.Helper()
	f.end.Do(func() {
		if err := errors.Join(f.command.Process.Signal(os.Interrupt), f.command.Wait()); err != nil {
			t.Errorf("the client ended with %v", err)
		}
	})
}

// untilEnded reads events until an activity has ended, each with the next sequence,
// and answers the sequence that follows.
func (f *followed) untilEnded(t *testing.T, seq int64) int64 {
	t.Helper()
	for f.lines.Scan() {
		if !strings.HasPrefix(f.lines.Text(), fmt.Sprintf("%d session.", seq)) {
			t.Fatalf("event %d is due, the client printed %s", seq, f.lines.Text())
		}
		seq++
		if strings.Contains(f.lines.Text(), " session.activity.ended ") {
			return seq
		}
	}
	t.Fatalf("the client printed nothing more before event %d: %v", seq, f.lines.Err())
	return 0
}
