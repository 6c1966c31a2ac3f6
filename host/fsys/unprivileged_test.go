package fsys_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unprivileged has the test run by a user that permission bits hold back: when this
// is root, in a process of its own under another name. It reports whether that is
// done.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	const nobody = 65534
	folder, err := os.MkdirTemp("", "plinth-fsys-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	must(t, os.Chown(folder, nobody, nobody))
	program, err := os.Executable()
	must(t, err)
	image, err := os.ReadFile(program)
	must(t, err)
	program = filepath.Join(folder, "fsys.test")
	must(t, os.WriteFile(program, image, 0o755))

	child := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	child.Dir = folder
	child.Env = []string{"TMPDIR=" + folder, "HOME=" + folder, "PATH=" + os.Getenv("PATH")}
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, output)
	}
	return true
}
