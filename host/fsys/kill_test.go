package fsys_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/fsys"
)

// childFolder tells a process of this test binary to commit in that folder until it
// is killed.
const childFolder = "PLINTH_FSYS_COMMITS_IN"

const (
	killedFiles = 6
	killedSize  = 100_000
	// wordsPerCommit is what a child says of one commit, or a little more.
	wordsPerCommit = 12 * (killedFiles + 1)
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		fmt.Fprintln(os.Stderr, "child:", commitForever(folder))
		os.Exit(1)
	}
	if os.Getenv(mountChild) != "" {
		os.Exit(mounted())
	}
	os.Exit(m.Run())
}

// generation is a file's content: every line names it, so a torn file shows.
func generation(number int) []byte {
	line := fmt.Appendf(nil, "generation %06d\n", number)
	return bytes.Repeat(line, killedSize/len(line))
}

// commitForever writes all files anew, again and again, and says a word before
// every stage of every change.
func commitForever(folder string) error {
	roots, err := fsys.New(map[string]string{"location": folder}, nil)
	if err != nil {
		return err
	}
	var writer fsys.Writer
	writer.OnStep(func(stage string, change int) { fmt.Println(stage, change) })
	for number := 1; ; number++ {
		var changes []fsys.Change
		for i := range killedFiles {
			changes = append(changes, fsys.Change{Op: fsys.OpWrite, Path: killedFile(i), Data: generation(number), Parents: true})
		}
		// One file moves to and fro.
		from, to := "here", "there"
		if number%2 == 0 {
			from, to = to, from
		}
		changes = append(changes, fsys.Change{Op: fsys.OpRename, Path: from, To: to})
		if _, err := writer.Commit(context.Background(), roots, "location", changes, fsys.Permit{}); err != nil {
			return err
		}
	}
}

func killedFile(i int) string { return fmt.Sprintf("d%d/f%d", i%2, i) }

// TestCommitKill kills a process in the middle of a commit, at 30 places. Each file
// is then as it was before or as it was to be, and the next commit leaves nothing
// half written behind.
func TestCommitKill(t *testing.T) {
	random := rand.New(rand.NewPCG(30, 5))
	middle := make(map[string]int)
	for range 30 {
		folder := t.TempDir()
		for _, name := range []string{"d0", "d1"} {
			must(t, os.Mkdir(filepath.Join(folder, name), 0o700))
		}
		must(t, os.WriteFile(filepath.Join(folder, "here"), []byte("moved"), 0o600))
		last := killAfter(t, folder, wordsPerCommit+random.IntN(3*wordsPerCommit))
		middle[strings.Fields(last)[0]]++
		expectWhole(t, folder, last)
	}
	if middle["stage"] < 3 || middle["swap"] < 3 {
		t.Errorf("the kills did not fall into the middle of commits: %v", middle)
	}
}

// killAfter lets a child say so many words, kills it and answers its last.
func killAfter(t *testing.T, folder string, words int) (last string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+folder)
	var complaint bytes.Buffer
	child.Stderr = &complaint
	output, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	lines := bufio.NewScanner(output)
	for seen := 1; lines.Scan(); seen++ {
		if last = lines.Text(); seen == words {
			must(t, child.Process.Kill())
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v\n%s", err, complaint.String())
	}
	return last
}

// expectWhole looks at what a killed process has left.
func expectWhole(t *testing.T, folder, last string) {
	t.Helper()
	before, moved := readAll(t, folder)
	newest, oldest := 0, 1<<30
	for name, content := range before {
		var number int
		if _, err := fmt.Sscanf(string(content[:min(len(content), 40)]), "generation %d", &number); err != nil || !bytes.Equal(content, generation(number)) {
			t.Errorf("killed at %q, %s is torn: %d bytes", last, name, len(content))
		}
		newest, oldest = max(newest, number), min(oldest, number)
	}
	if len(before) != killedFiles || newest-oldest > 1 {
		t.Errorf("killed at %q, there are %d files of generations %d to %d", last, len(before), oldest, newest)
	}
	if moved != 1 {
		t.Errorf("killed at %q, the moved file has %d names", last, moved)
	}
	roots, err := fsys.New(map[string]string{"location": folder}, nil)
	must(t, err)
	if _, err := commit(t, roots, write("d0/next", "x", ""), write("d1/next", "x", "")); err != nil {
		t.Fatal(err)
	}
	g := &grove{t, folder}
	expectNothingHalfWritten(t, g.files("."))
}

// readAll answers the files that are rewritten, and how many names the moved one
// has. Unfinished files are no files yet.
func readAll(t *testing.T, folder string) (all map[string][]byte, moved int) {
	t.Helper()
	all = make(map[string][]byte)
	for name, content := range (&grove{t, folder}).files(".") {
		switch {
		case strings.Contains(name, fsys.TemporaryPrefix):
		case content == "moved":
			moved++
		default:
			all[name] = []byte(content)
		}
	}
	return all, moved
}
