package sqlite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// What a dead process left to one it had just started is waited for; who lives is not.
func TestTheLockOfADeadProcess(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lock")
	held, err := acquireLock(path)
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := acquireLock(path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("the lock of a process that lives: %v", err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "pid %d\nhost %s\nsince %s\n", dead.Process.Pid, host, time.Now().UTC().Format(time.RFC3339)), 0o600); err != nil {
		t.Fatal(err)
	}
	given := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { given <- held.file.Close() }) // as the kernel does
	again, err := acquireLock(path)
	if err != nil {
		t.Fatalf("the lock of a process that is dead: %v", err)
	}
	if err := errors.Join(<-given, again.release()); err != nil {
		t.Error(err)
	}
}
