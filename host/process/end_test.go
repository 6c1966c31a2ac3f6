package process

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTimeout(t *testing.T) {
	r := newRunner(t, Options{})
	began := time.Now()
	result := run(t, r, Command{Argv: []string{"sleep", "3600"}, Timeout: 50 * time.Millisecond})
	if result.Stopped != Timeout || result.Signal != "SIGTERM" || result.ExitCode != -1 || result.Survivors != 0 {
		t.Errorf("%+v", result)
	}
	if result.Duration < 50*time.Millisecond || time.Since(began) > 30*time.Second {
		t.Errorf("it took %v", result.Duration)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the turn took too long"))
	defer cancel()
	result, err := r.Run(ctx, Command{Argv: []string{"sleep", "3600"}, Directory: "/"})
	if err != nil || result.Stopped != Timeout {
		t.Errorf("a deadline of the context: %+v, %v", result, err)
	}
}

// The time runs from the start, not while the call waits for a place.
func TestTimeoutIsRunningTime(t *testing.T) {
	r := newRunner(t, Options{Running: 1})
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan Result)
	first, err := r.Run(ctx, Command{Line: "echo ready; exec sleep 3600", Directory: "/", Progress: func(Progress) {
		go func() {
			result, err := r.Run(t.Context(), Command{Line: "echo ran", Directory: "/", Timeout: 30 * time.Second})
			if err != nil {
				t.Error(err)
			}
			second <- result
		}()
		cancel()
	}})
	if err != nil || first.Stopped != Cancelled {
		t.Errorf("%+v, %v", first, err)
	}
	if result := <-second; result.Stopped != "" || result.Output.Head != "ran\n" {
		t.Errorf("%+v", result)
	}
}

func TestSIGTERM(t *testing.T) {
	r := newRunner(t, Options{Grace: time.Minute})
	// Its own last words and answer are kept.
	result := runUntil(t, r, Command{Line: "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"})
	if result.Stopped != Cancelled || result.ExitCode != 7 || result.Signal != "" || !strings.HasSuffix(result.Output.Head, "bye\n") {
		t.Errorf("%+v", result)
	}
	// What is stopped is told to go on.
	result = runUntil(t, r, Command{Line: "trap 'echo bye; exit 7' TERM; echo ready; kill -STOP $$; exit 1"})
	if result.ExitCode != 7 || !strings.HasSuffix(result.Output.Head, "bye\n") {
		t.Errorf("%+v", result)
	}
}

func TestSIGTERMIgnored(t *testing.T) {
	const grace = 200 * time.Millisecond
	r := newRunner(t, Options{Grace: grace})
	result := runUntil(t, r, Command{Line: "trap '' TERM; sleep 3600 & echo $! ready; while :; do sleep 3600; done"})
	if result.Stopped != Cancelled || result.Signal != "SIGKILL" || result.ExitCode != -1 || result.Survivors != 0 || result.Duration < grace {
		t.Errorf("%+v", result)
	}
	checkGone(t, pids(t, result.Output.Head, 1))
}

// All that a command started ends with it, other process groups of its session too.
func TestWholeGroupEnds(t *testing.T) {
	line := "sleep 3600 & echo $!; (sleep 3600 >/dev/null 2>&1 & echo $!); set -m; sleep 3600 & echo $!; (trap '' HUP TERM; exec sleep 3600) & echo $!; "
	for name, end := range map[string]string{"cancelled": "echo ready; wait", "by itself": "exit 3"} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, Options{Grace: 100 * time.Millisecond})
			var result Result
			if end == "exit 3" {
				result = run(t, r, Command{Line: line + end})
				if result.Stopped != "" || result.ExitCode != 3 || result.Background != 4 {
					t.Errorf("%+v", result)
				}
			} else {
				result = runUntil(t, r, Command{Line: line + end})
				if result.Stopped != Cancelled || result.Background != 0 {
					t.Errorf("%+v", result)
				}
			}
			checkGone(t, pids(t, result.Output.Head, 4))
			if result.Survivors != 0 {
				t.Errorf("%d survivors", result.Survivors)
			}
		})
	}
}

// What goes on in the background may print for a while after the program has ended.
func TestLateOutput(t *testing.T) {
	r := newRunner(t, Options{})
	r.linger = time.Minute
	result := run(t, r, Command{Line: "(sleep 0.3; echo late) & exit 4"})
	if result.ExitCode != 4 || result.Output.Head != "late\n" {
		t.Errorf("%+v", result)
	}
}

// What leaves the session lives on, and does not hold up the call although it has
// the output open.
func TestDaemon(t *testing.T) {
	path := fifo(t)
	began := time.Now()
	result := run(t, newRunner(t, Options{}), Command{
		Line:    `perl -MPOSIX -e 'POSIX::setsid(); open(F, ">", $ARGV[0]); print F "$$\n"; close(F); exec "sleep", "3600"' ` + path + ` & read pid <` + path + `; echo $pid`,
		Timeout: time.Minute,
	})
	daemon := pids(t, result.Output.Head, 1)[0]
	if !alive(daemon) {
		t.Error("it ended")
	}
	if err := unix.Kill(daemon, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	if result.ExitCode != 0 || result.Stopped != "" || result.Background != 0 || result.Survivors != 0 || time.Since(began) > 30*time.Second {
		t.Errorf("%+v after %v", result, time.Since(began))
	}
}

// A slow listener does not keep a command running: this one waits for its end.
func TestProgressBlocks(t *testing.T) {
	path := fifo(t)
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result := run(t, newRunner(t, Options{}), Command{
		Line: "exec 3>" + path + "; echo ready; exec sleep 3600", Timeout: 2 * reportEvery,
		Progress: func(Progress) {
			if _, err := io.Copy(io.Discard, file); err != nil {
				t.Error(err)
			}
		},
	})
	if result.Stopped != Timeout || result.Output.Head != "ready\n" {
		t.Errorf("%+v", result)
	}
}

// A bomb of 511 processes at most: each starts two.
const bomb = `grow() { if [ $1 -gt 0 ]; then grow $(($1-1)) & grow $(($1-1)) & fi; trap '' TERM; sleep 60; }; grow 8`

func TestCrowd(t *testing.T) {
	r := newRunner(t, Options{Processes: 40, Grace: time.Minute})
	began := time.Now()
	result := run(t, r, Command{Line: bomb, Timeout: 50 * time.Second})
	if result.Stopped != Crowd || result.Signal != "SIGKILL" || result.Survivors != 0 || time.Since(began) > 40*time.Second {
		t.Errorf("%+v after %v", result, time.Since(began))
	}
	// As many as allowed are left alone.
	result = run(t, r, Command{Line: "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; wait; echo done"})
	if result.Stopped != "" || result.Output.Head != "done\n" {
		t.Errorf("%+v", result)
	}
}

// Who cannot be signalled, as after sudo, does not hold up the call either.
func TestSurvivor(t *testing.T) {
	r := newRunner(t, Options{Grace: 50 * time.Millisecond})
	r.signal = func(int, syscall.Signal) error { return unix.EPERM }
	result := runUntil(t, r, Command{Line: "echo $$ ready; exec sleep 3600"})
	survivor := pids(t, result.Output.Head, 1)[0]
	if result.Stopped != Cancelled || result.ExitCode != -1 || result.Signal != "" || result.Survivors != 1 || !alive(survivor) {
		t.Errorf("%+v", result)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(survivor, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

// Whatever a command does, nothing of it is left in the host.
func TestNothingIsLeft(t *testing.T) {
	r := newRunner(t, Options{Grace: time.Second})
	commands := []Command{
		{Line: "echo one; sleep 3600 >/dev/null 2>&1 & exit 1", Output: Capture{Apart: true}},
		{Argv: []string{"cat"}, Input: make([]byte, 100_000), Progress: func(Progress) {}},
		{Argv: []string{"sleep", "3600"}, Timeout: time.Millisecond},
		{Argv: []string{"no-such-program"}},
		{Argv: []string{"/"}},
	}
	rounds := func(n int) int {
		for range n {
			for _, c := range commands {
				c.Directory = "/"
				_, err := r.Run(t.Context(), c)
				if refusal, ok := errors.AsType[*Error](err); err != nil && (!ok || len(c.Argv) != 1 || c.Argv[0] == "cat" || refusal.Kind == KindBusy) {
					t.Fatal(err)
				}
			}
		}
		names, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	before := rounds(2)
	if after := rounds(25); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if n := children(); n > 0 {
		t.Errorf("%d children", n)
	}
}
