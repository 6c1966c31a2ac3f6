package sqlite_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

const writers = 64

// countSchema and counter keep how many events each aggregate has.
const countSchema = `CREATE TABLE test_count (aggregate TEXT PRIMARY KEY, total INTEGER NOT NULL)`

type counter struct{}

func (counter) Apply(ctx context.Context, tx store.Tx, e store.Event) error {
	_, err := tx.Exec(ctx, `INSERT INTO test_count (aggregate, total) VALUES ($1, 1)
ON CONFLICT (aggregate) DO UPDATE SET total = test_count.total + 1`, e.Aggregate)
	return err
}

func (counter) Forget(ctx context.Context, tx store.Tx, aggregate string, _ int) (bool, error) {
	_, err := tx.Exec(ctx, `DELETE FROM test_count WHERE aggregate = $1`, aggregate)
	return false, err
}

func countOptions(dir string) sqlite.Options {
	return sqlite.Options{Dir: dir, Projections: []store.Projection{counter{}}, Migrations: []sqlite.Migration{line("count", countSchema)}}
}

func newEvent() store.Event {
	return store.Event{ID: "evt_" + rand.Text(), Type: "test.happened", Version: 1, Time: time.Now(), Actor: "system", Data: []byte(`{"n":1}`)}
}

// childCommand is this test binary in another role.
func childCommand(t *testing.T, role, dir string, wrapper ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(wrapper, self)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childRole+"="+role, "PLINTH_STORE_DIR="+dir)
	cmd.Stderr = testWriter{t}
	return cmd
}

// runChild is the main function of a child.
func runChild(role, dir string) int {
	options := countOptions(dir)
	failed := make(chan error, 1)
	options.Fatal = func(err error) { failed <- err }
	s, err := sqlite.Open(context.Background(), options)
	if err == nil {
		switch role {
		case "hold":
			fmt.Println("open")
			_, err = io.Copy(io.Discard, os.Stdin)
		case "load":
			err = load(s)
		case "rounds":
			err = rounds(s)
		case "removals":
			err = removals(s)
		case "fail":
			err = untilFailure(s, failed)
		case "full":
			err = untilFull(s)
		case "backup":
			err = backUp(s)
		}
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

// load appends from 64 goroutines until it is killed, and prints each event once
// it is acknowledged.
func load(s *sqlite.Store) error {
	var wg sync.WaitGroup
	var failure error
	for w := range writers {
		wg.Go(func() {
			for {
				written, err := s.Append(context.Background(), store.Batch{Aggregate: fmt.Sprint("ses_", w), Events: []store.Event{newEvent(), newEvent()}})
				if err != nil {
					failure = err
					return
				}
				for _, e := range written {
					fmt.Printf("%s %d %s\n", e.Aggregate, e.Seq, e.ID)
				}
			}
		})
	}
	wg.Wait()
	return failure
}

// removals fills aggregates, deletes or prunes them until it is killed, and prints each
// that is marked.
func removals(s *sqlite.Store) error {
	ctx := context.Background()
	for {
		name := "ses_" + rand.Text()
		for range 2 {
			var list []store.Event
			for range 500 {
				list = append(list, newEvent())
			}
			if _, err := s.Append(ctx, store.Batch{Aggregate: name, Events: list}); err != nil {
				return err
			}
		}
		if err := s.Prune(ctx, name, 900); err != nil {
			return err
		}
		fmt.Println("pruned", name)
		if err := s.Delete(ctx, name); err != nil {
			return err
		}
		fmt.Println("deleted", name)
	}
}

// rounds appends alone, then from 64 goroutines at once, and says after each step
// that everything is acknowledged and how many groups were written so far.
func rounds(s *sqlite.Store) error {
	for round := range 30 {
		count := 1
		if round >= 20 {
			count = writers
		}
		outcomes := make([]error, count)
		var wg sync.WaitGroup
		for w := range count {
			wg.Go(func() {
				_, outcomes[w] = s.Append(context.Background(), store.Batch{Aggregate: fmt.Sprint("ses_", w), Events: []store.Event{newEvent()}})
			})
		}
		wg.Wait()
		if err := errors.Join(outcomes...); err != nil {
			return err
		}
		fmt.Printf("acknowledged %d\n", s.Stats().Groups)
	}
	return nil
}

// untilFailure appends until a sync fails and checks what must hold from then on.
func untilFailure(s *sqlite.Store, failed <-chan error) error {
	batch := func() store.Batch { return store.Batch{Aggregate: "ses_0", Events: []store.Event{newEvent()}} }
	var err error
	written := 0
	for ; err == nil; written++ {
		if written == 1000 {
			return errors.New("no sync failed")
		}
		_, err = s.Append(context.Background(), batch())
	}
	if written < 2 || !errors.Is(err, store.ErrFailed) {
		return fmt.Errorf("after %d appends: %w", written, err)
	}
	if fatal := <-failed; !errors.Is(fatal, store.ErrFailed) {
		return fmt.Errorf("fatal was told %w", fatal)
	}
	if _, err := s.Append(context.Background(), batch()); !errors.Is(err, store.ErrFailed) {
		return fmt.Errorf("append after the failure: %w", err)
	}
	if page, err := s.Read(context.Background(), "ses_0", -1, 10_000); err != nil || len(page.Events) != written-1 {
		return fmt.Errorf("%d events to read of %d acknowledged: %w", len(page.Events), written-1, err)
	}
	fmt.Println("as it must be")
	return nil
}

// untilFull appends while some writes find no room, and prints what it has.
func untilFull(s *sqlite.Store) error {
	full := 0
	var kept []string
	for range 200 {
		written, err := s.Append(context.Background(), store.Batch{Aggregate: "ses_0", Events: []store.Event{newEvent()}})
		switch {
		case err == nil:
			kept = append(kept, written[0].ID)
		case errors.Is(err, store.ErrFull):
			full++
		default:
			return err
		}
	}
	if full == 0 || len(kept) < 100 {
		return fmt.Errorf("%d appends found the disk full, %d were written", full, len(kept))
	}
	for _, id := range kept {
		fmt.Println(id)
	}
	return nil
}
