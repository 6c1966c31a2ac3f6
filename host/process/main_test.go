package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is a host that another test watches.
func TestMain(m *testing.M) {
	if helper, ok := helpers[os.Getenv("PLINTH_PROCESS_HELPER")]; ok {
		if err := helper(os.Args[1:]); err != nil {
			fmt.Println("helper:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// helpers are hosts that run in a process of their own.
var helpers = map[string]func(arguments []string) error{
	"run": func(arguments []string) error {
		_, err := helperRun(arguments[0])
		return err
	},
	"adopt": adopt, "truncate": truncate, "dial": dial,
}

func helperRun(line string) (Result, error) {
	runner, err := New(Options{})
	if err != nil {
		return Result{}, err
	}
	defer runner.Close()
	return runner.Run(context.Background(), Command{Line: line, Directory: "/", Timeout: time.Hour})
}

func newRunner(t *testing.T, o Options) *Runner {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// run runs a command that must start.
func run(t *testing.T, r *Runner, c Command) Result {
	t.Helper()
	if c.Directory == "" && c.Handle == nil {
		c.Directory = t.TempDir()
	}
	result, err := r.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// runUntil runs a command until it has printed "ready", and cancels it then.
func runUntil(t *testing.T, r *Runner, c Command) Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Directory, c.Timeout = t.TempDir(), time.Minute
	c.Progress = func(p Progress) {
		if strings.Contains(p.Lines, "ready") {
			cancel()
		}
	}
	result, err := r.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// pids are the numbers in a text, of processes.
func pids(t *testing.T, text string, want int) []int {
	t.Helper()
	var all []int
	for field := range strings.FieldsSeq(text) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			all = append(all, pid)
		}
	}
	if len(all) != want {
		t.Fatalf("%d processes in %q, want %d", len(all), text, want)
	}
	return all
}

// checkGone fails for every process that has not ended.
func checkGone(t *testing.T, all []int) {
	t.Helper()
	for _, pid := range all {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := mkfifo(path); err != nil {
		t.Fatal(err)
	}
	return path
}
