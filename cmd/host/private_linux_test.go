package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A command that runs as the same user cannot read the host's environment.
func TestMemoryIsPrivate(t *testing.T) {
	if os.Getenv(keptPrivate) != "" {
		if err := keepPrivate(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("private")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	program := os.Args[0]
	var user *syscall.Credential
	if os.Getuid() == 0 { // root is not kept out
		user = &syscall.Credential{Uid: 65534, Gid: 65534}
		program = copied(t, program)
	}
	host := exec.Command(program, "-test.run=^TestMemoryIsPrivate$")
	host.Dir, host.SysProcAttr = "/", &syscall.SysProcAttr{Credential: user}
	host.Env = append(os.Environ(), keptPrivate+"=1")
	input, err := host.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "private\n" {
		t.Fatalf("%q, %v", line, err)
	}
	look := exec.Command("cat", fmt.Sprintf("/proc/%d/environ", host.Process.Pid))
	look.Dir, look.SysProcAttr = "/", &syscall.SysProcAttr{Credential: user}
	if seen, err := look.CombinedOutput(); err == nil {
		t.Errorf("%d bytes of the environment are seen", len(seen))
	}
	if err := input.Close(); err != nil {
		t.Error(err)
	}
	if err := host.Wait(); err != nil {
		t.Error(err)
	}
}

// copied is the program where everybody may run it.
func copied(t *testing.T, program string) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "plinth-private-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "program")
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}
