package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A program has a process session of its own, so it has no terminal, whatever the
// host has.
func TestNoTerminal(t *testing.T) {
	result := run(t, newRunner(t, Options{}), Command{Argv: []string{"cat", "/proc/self/stat"}})
	var pid, parent, group, session, terminal int
	var name, state string
	if _, err := fmt.Sscan(result.Output.Head, &pid, &name, &state, &parent, &group, &session, &terminal); err != nil {
		t.Fatal(err)
	}
	if group != pid || session != pid || terminal != 0 {
		t.Errorf("process %d: group %d, session %d, terminal %d", pid, group, session, terminal)
	}
}

// The working directory is the one that is open, whatever its path leads to.
func TestHandleFollowsItsDirectory(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	before, after := filepath.Join(top, "before"), filepath.Join(top, "after")
	if err := os.Mkdir(before, 0o700); err != nil {
		t.Fatal(err)
	}
	handle, err := os.Open(before)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	if err := os.Rename(before, after); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", before); err != nil {
		t.Fatal(err)
	}
	result := run(t, newRunner(t, Options{}), Command{Line: `pwd -P; echo "$PWD"`, Handle: handle})
	if result.Output.Head != after+"\n"+after+"\n" {
		t.Errorf("%+v", result)
	}
}

// helper starts this test program as a host of its own.
func helper(t *testing.T, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), "PLINTH_PROCESS_HELPER="+name)
	return command
}

// When the host is killed, so is the program.
func TestHostIsKilled(t *testing.T) {
	path := fifo(t)
	host := helper(t, "run", "exec 3>"+path+"; echo $$ >&3; exec sleep 3600")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer host.Wait()
	defer host.Process.Kill()
	file, err := os.Open(path) // waits for the program
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	if line, err := reader.ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 { // ends with the program
		t.Errorf("%q, %v", rest, err)
	}
}

// As the first process of a container the host gets what others leave behind, and
// reaps it.
func TestOrphansAreReaped(t *testing.T) {
	if out, err := helper(t, "adopt").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func adopt([]string) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	for range 10 {
		result, err := helperRun("exec >/dev/null 2>&1; sleep 3600 & (sleep 3600 & sleep 3600) & (exit 1) & exit 2")
		if err != nil {
			return err
		}
		if result.ExitCode != 2 || result.Survivors != 0 || result.Background == 0 {
			return fmt.Errorf("%+v", result)
		}
	}
	if n := children(); n > 0 {
		return errors.New(strings.Repeat("a child is left; ", n))
	}
	return nil
}
