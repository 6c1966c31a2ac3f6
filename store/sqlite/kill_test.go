package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/plinthhost/plinth/store"
)

// TestKill kills a process under load again and again on the same store. What it
// acknowledged is there, once, and the sequences have no gap.
func TestKill(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("PLINTH_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	acknowledged := make(map[string]string) // "aggregate seq" to id
	for kill := range kills {
		killUnderLoad(t, dir, 100+kill*61%400, acknowledged)
		expectAcknowledged(t, dir, acknowledged)
	}
}

// killUnderLoad lets a child acknowledge some events, kills it, and adds what it
// acknowledged up to its end.
func killUnderLoad(t *testing.T, dir string, after int, acknowledged map[string]string) {
	t.Helper()
	cmd := childCommand(t, "load", dir)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for seen := 0; lines.Scan(); seen++ {
		if seen == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		var aggregate, id string
		var seq int64
		if n, _ := fmt.Sscan(lines.Text(), &aggregate, &seq, &id); n != 3 || len(id) < 20 {
			continue // the line that the kill cut
		}
		key := fmt.Sprint(aggregate, " ", seq)
		if earlier, ok := acknowledged[key]; ok {
			t.Errorf("%s was given to %s and to %s", key, earlier, id)
		}
		acknowledged[key] = id
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// TestKillWhileRemoving kills a process that deletes and prunes. What it marked is
// invisible for the next one, and gone when that has finished the purge.
func TestKillWhileRemoving(t *testing.T) {
	dir := t.TempDir()
	for kill := range 5 {
		cmd := childCommand(t, "removals", dir)
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		marks := map[string]string{}
		lines := bufio.NewScanner(output)
		for seen := 0; lines.Scan(); seen++ {
			if seen == 1+kill {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			var mark, name string
			if n, _ := fmt.Sscan(lines.Text(), &mark, &name); n == 2 && len(name) == 30 {
				marks[name] = mark
			}
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("the child ended by itself: %v", err)
		}
		expectMarks(t, dir, marks)
	}
}

func expectMarks(t *testing.T, dir string, marks map[string]string) {
	t.Helper()
	s := openStore(t, countOptions(dir))
	defer s.Close()
	if len(marks) == 0 {
		t.Error("nothing was marked")
	}
	for range 2 { // before the purge, or in it, and after it
		for name, mark := range marks {
			_, err := s.Read(t.Context(), name, -1, 1)
			if !errors.Is(err, store.ErrDeleted) && (mark == "deleted" || !errors.Is(err, store.ErrPruned)) {
				t.Errorf("%s was %s: %v", name, mark, err)
			}
		}
		if err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := s.Remains(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

func expectAcknowledged(t *testing.T, dir string, acknowledged map[string]string) {
	t.Helper()
	s := openStore(t, countOptions(dir))
	defer s.Close()
	found, ids := 0, make(map[string]bool)
	for w := range writers {
		aggregate := fmt.Sprint("ses_", w)
		page, err := s.Read(t.Context(), aggregate, -1, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range page.Events {
			if e.Seq != int64(i) || ids[e.ID] {
				t.Fatalf("%s has %s with sequence %d at index %d", aggregate, e.ID, e.Seq, i)
			}
			ids[e.ID] = true
			if id, ok := acknowledged[fmt.Sprint(aggregate, " ", e.Seq)]; ok {
				found++
				if id != e.ID {
					t.Errorf("%s %d is %s, acknowledged was %s", aggregate, e.Seq, e.ID, id)
				}
			}
		}
		if total := count(t, s, aggregate); total != len(page.Events) {
			t.Errorf("%s: the projection has %d of %d events", aggregate, total, len(page.Events))
		}
	}
	if found != len(acknowledged) {
		t.Errorf("%d of %d acknowledged events are there", found, len(acknowledged))
	}
}

func count(t *testing.T, log store.Log, aggregate string) (total int) {
	t.Helper()
	err := log.View(t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT coalesce(sum(total), 0) FROM test_count WHERE aggregate = $1`, aggregate).Scan(&total)
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
