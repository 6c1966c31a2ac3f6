package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, r *Runner, c Command) *Peer {
	t.Helper()
	c.Directory = t.TempDir()
	peer, err := r.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	return peer
}

func TestAPeerIsSpokenWith(t *testing.T) {
	r := newRunner(t, Options{Grace: 50 * time.Millisecond})
	var said bytes.Buffer
	peer := open(t, r, Command{Line: `echo "key is $KEY" >&2; while read -r line; do echo "you said $line"; done; exit 4`,
		Environment: map[string]string{"KEY": "k"}, Output: Capture{SaveErrors: &said}})
	answers := bufio.NewReader(peer.Output())
	for _, word := range []string{"one", "two"} {
		if _, err := fmt.Fprintln(peer.Input(), word); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); line != "you said "+word+"\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
	result := peer.Close() // the end of its input ends it
	if result.ExitCode != 4 || result.Stopped != "" || result.Errors.Head != "key is k\n" || said.String() != "key is k\n" {
		t.Errorf("%+v, saved %q", result, said.String())
	}
	if _, err := answers.ReadByte(); err == nil {
		t.Error("it still speaks")
	}
	if again := peer.Close(); again.ExitCode != 4 {
		t.Errorf("%+v", again)
	}
}

// What a peer started ends with it, also when neither heeds a signal.
func TestAPeerEndsWithAllItStarted(t *testing.T) {
	r := newRunner(t, Options{Grace: 50 * time.Millisecond})
	peer := open(t, r, Command{Line: `trap "" TERM; sleep 1000 & echo $! $$; while :; do sleep 1000; done`})
	line, err := bufio.NewReader(peer.Output()).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if result := peer.Close(); result.Stopped != Cancelled || result.Signal != "SIGKILL" || result.Survivors != 0 {
		t.Errorf("%+v", result)
	}
	checkGone(t, pids(t, line, 2))
}

// A peer that ends by itself is known to have, and the runner's end is the peer's.
func TestTheEndOfAPeer(t *testing.T) {
	r := newRunner(t, Options{Grace: 50 * time.Millisecond})
	peer := open(t, r, Command{Argv: []string{"sh", "-c", "exit 9"}})
	<-peer.Done()
	if result := peer.Result(); result.ExitCode != 9 {
		t.Errorf("%+v", result)
	}
	if _, err := io.ReadAll(peer.Output()); err != nil {
		t.Error(err)
	}
	other := open(t, r, Command{Argv: []string{"sleep", "1000"}})
	r.Close()
	<-other.Done()
	if _, err := r.Open(Command{Argv: []string{"true"}, Directory: "/"}); err == nil {
		t.Error("a closed runner starts a program")
	}
}

func TestPeersThatAreNotStarted(t *testing.T) {
	r := newRunner(t, Options{})
	for want, c := range map[string]Command{
		"no-such-program":  {Argv: []string{"no-such-program"}, Directory: "/"},
		"Directory":        {Argv: []string{"true"}},
		"would make a she": {Argv: []string{"true"}, Directory: "/", Environment: map[string]string{"BASH_ENV": "x"}},
	} {
		var known *Error
		if _, err := r.Open(c); !errors.As(err, &known) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
