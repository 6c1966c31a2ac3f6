package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// needStrace skips on a developer's machine without strace; CI must have it:
// killing a process proves nothing about what reached the disk.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("strace is missing; install it, this test must run in CI")
	}
	t.Skip("strace is missing")
}

// runTraced runs a child under strace and answers its output.
func runTraced(t *testing.T, role, dir string, options ...string) string {
	t.Helper()
	needStrace(t)
	cmd := childCommand(t, role, dir, append([]string{"strace", "-f", "-qq"}, options...)...)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s under strace: %v", role, err)
	}
	return string(output)
}

var (
	walWrite   = regexp.MustCompile(`^\d+ +p?write(?:64|v)?\(\d+<[^>]*/plinth\.db-wal>`)
	walSync    = regexp.MustCompile(`^(\d+) +f(?:data)?sync\(\d+<[^>]*/plinth\.db-wal>(?:\) += (\S+)| <unfinished)`)
	syncResult = regexp.MustCompile(`^(\d+) +<\.\.\. f(?:data)?sync resumed>\) += (\S+)`)
	answer     = regexp.MustCompile(`^\d+ +write\(1<[^>]*>, "acknowledged (\d+)`)
)

// TestSyncBeforeAnswer follows the system calls of a process: whenever it says
// that everything so far is acknowledged, the WAL was synced after its last
// write, and there were as many syncs as groups.
func TestSyncBeforeAnswer(t *testing.T) {
	dir, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	runTraced(t, "rounds", dir, "-y", "-s", "40", "-e", "trace=write,pwrite64,pwritev,fsync,fdatasync", "-o", trace)
	file, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var writes, syncs, answers, unsynced int
	pending := make(map[string]bool)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text := lines.Text()
		switch {
		case walWrite.MatchString(text):
			writes++
			unsynced++
		case walSync.MatchString(text):
			found := walSync.FindStringSubmatch(text)
			if found[2] == "0" {
				syncs, unsynced = syncs+1, 0
			}
			pending[found[1]] = found[2] == ""
		case syncResult.MatchString(text):
			if found := syncResult.FindStringSubmatch(text); pending[found[1]] && found[2] == "0" {
				syncs, unsynced = syncs+1, 0
				pending[found[1]] = false
			}
		case answer.MatchString(text):
			answers++
			var groups int
			fmt.Sscan(answer.FindStringSubmatch(text)[1], &groups)
			if unsynced > 0 || syncs < groups || writes == 0 {
				t.Errorf("answer %d: %d writes since the last sync, %d syncs for %d groups", answers, unsynced, syncs, groups)
			}
		}
	}
	if err := lines.Err(); err != nil || answers != 30 {
		t.Fatalf("%d answers in the trace, %v", answers, err)
	}
}

// TestFailedSync lets the disk fail a sync: the append is refused, the process is
// told once, and nothing is accepted any more.
func TestFailedSync(t *testing.T) {
	dir := makeStoreIn(t, countOptions(t.TempDir())) // so the child has no migrations to run
	output := runTraced(t, "fail", dir, "-o", "/dev/null", "-P", filepath.Join(dir, "plinth.db-wal"),
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=9+")
	if output != "as it must be\n" {
		t.Errorf("the child said %q", output)
	}
}

// TestFullDisk lets the disk be full for a while: what was acknowledged stays,
// what was refused is not there, and the log goes on.
func TestFullDisk(t *testing.T) {
	dir := makeStoreIn(t, countOptions(t.TempDir())) // so the child has no migrations to run
	output := runTraced(t, "full", dir, "-o", "/dev/null", "-P", filepath.Join(dir, "plinth.db-wal"),
		"-e", "trace=write,pwrite64", "-e", "inject=write,pwrite64:error=ENOSPC:when=101..120")
	s := mustOpen(t, countOptions(dir))
	page, err := s.Read(t.Context(), "ses_0", -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, e := range page.Events {
		stored = append(stored, e.ID)
	}
	if want := strings.Fields(output); strings.Join(want, " ") != strings.Join(stored, " ") {
		t.Errorf("%d events are stored, %d were acknowledged", len(stored), len(want))
	}
}
