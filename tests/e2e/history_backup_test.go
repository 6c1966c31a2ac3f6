package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// filled makes a session, and blobs, so that a backup takes its time.
func (a *annals) filled() string {
	a.t.Helper()
	id := a.grown(3, 40_000)
	for range 80 {
		value := make([]byte, 20<<10)
		for i := range value {
			value[i] = byte('a' + a.random.IntN(26))
		}
		if _, err := a.host.client.Upload(a.within(), "text/plain", value); err != nil {
			a.t.Fatal(err)
		}
	}
	return id
}

// there sees a file.
func there(path string) func() bool {
	return func() bool {
		found, err := filepath.Glob(path)
		return err == nil && len(found) > 0
	}
}

// TestKilledBackingUp: the host is killed while it makes a backup of a store that it
// writes. A backup that has its manifest is whole; another one is refused.
func TestKilledBackingUp(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "")
	id := a.filled()
	for n := range *historyKills + 1 {
		folder, target := filepath.Join(a.folder, "backup", string(rune('a'+n%26))+t.Name()), filepath.Join(t.TempDir(), "data")
		sights := []string{"plinth.db", "blobs", "blobs/??/*", "manifest.json"}
		ctx, stop := context.WithCancel(a.within())
		var writing sync.WaitGroup
		for range 2 {
			busy := a.host.session(a.world)
			writing.Go(func() {
				for ctx.Err() == nil {
					_, err := a.host.client.PromptAndWait(ctx, busy, protocol.Prompt{PromptBody: protocol.PromptBody{Text: strings.Repeat("word ", 500)}})
					if err != nil {
						return // the host is gone
					}
				}
			})
		}
		cut := a.dies(deed{name: "backup", sight: there(filepath.Join(folder, sights[a.random.IntN(len(sights))])),
			do: func(ctx context.Context) error { _, err := a.host.client.Backup(ctx, folder); return err }})
		stop()
		writing.Wait()
		a.reborn()
		a.whole(folder, target, cut == nil, id)
	}
	a.told()
}

// whole holds a backup to being whole, as it must be if its command ended well, or else
// refused.
func (a *annals) whole(folder, target string, must bool, id string) {
	t := a.t
	t.Helper()
	_, err := os.Stat(filepath.Join(folder, "manifest.json"))
	if err != nil && (must || !errors.Is(err, fs.ErrNotExist)) {
		t.Fatalf("a backup that was made: %v", err)
	}
	out, notes, code := a.plinth("--data", target, "restore", folder)
	if err != nil {
		_, left := os.Stat(target)
		if code != 1 || !strings.Contains(notes, "has no manifest.json: it was not finished, or is none; make another one") || !errors.Is(left, fs.ErrNotExist) {
			t.Errorf("an unfinished backup is restored: exit %d, %v\n%s%s", code, left, out, notes)
		}
		return
	}
	if code != 0 {
		t.Fatalf("restore: exit %d\n%s", code, notes)
	}
	found, source := a.healthy(target), a.healthy(a.copied()).Store.Log
	if found.Store.Log == source || found.Store.Log == "" {
		t.Errorf("the restored log has the id %q, its source %q", found.Store.Log, source)
	}
	a.holds(target, id)
}

// holds: the session is in the store of a data folder.
func (a *annals) holds(data, id string) {
	a.t.Helper()
	log := sessiontest.OpenStore(a.t, data)
	defer log.Close()
	if !strings.Contains(sessiontest.Tables(a.t, log), id) || !has(feed(a.t, log), id) {
		a.t.Errorf("%s is not in %s", id, data)
	}
}

// TestKilledRestoring: a restore that is killed leaves no data folder, or a whole one, and
// the next one finishes. The same of a backup without a host.
func TestKilledRestoring(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "")
	id := a.filled()
	a.host.kill()
	var backing, restoring time.Duration
	for n := range *historyKills + 1 {
		folder, target := filepath.Join(a.folder, "backup", string(rune('a'+n%26))), filepath.Join(a.folder, "restored", string(rune('a'+n%26)), "data")
		made := a.cut(&backing, there(filepath.Join(folder, []string{"plinth.db", "blobs/??/*"}[n%2])), "backup", folder)
		if _, err := os.Stat(filepath.Join(folder, "manifest.json")); err != nil {
			if out, notes, code := a.plinth("backup", folder); code != 1 || !strings.Contains(notes, "has files already") && len(entries(t, folder)) > 0 {
				t.Errorf("a backup into what is left of one: exit %d\n%s%s", code, out, notes)
			}
			a.whole(folder, target, made, id)
			folder += "again"
			if out, notes, code := a.plinth("backup", folder); code != 0 {
				t.Fatalf("backup: exit %d\n%s%s", code, out, notes)
			}
		}
		beside := filepath.Join(filepath.Dir(target), ".data.restoring")
		made = a.cut(&restoring, there(filepath.Join(beside, []string{"plinth.db", "blobs/??/*"}[n%2])), "restore", folder, "--data", target)
		if left := entries(t, target); len(left) > 0 {
			a.healthy(target)
			if out, notes, code := a.plinth("restore", folder, "--data", target); code != 1 || !strings.Contains(notes, "has files already; move it away first") {
				t.Errorf("a restore over another one: exit %d\n%s%s", code, out, notes)
			}
		} else if out, notes, code := a.plinth("restore", folder, "--data", target); code != 0 || made {
			t.Fatalf("a restore after one that was killed (done %t): exit %d\n%s%s", made, code, out, notes)
		}
		if left := entries(t, filepath.Dir(target)); len(left) != 1 {
			t.Errorf("beside the folder there are %v", left)
		}
		a.healthy(target)
		a.holds(target, id)
	}
	a.told()
}

// cut runs a command line, which is killed at a random instant or when the sight is seen,
// unless it is the first, which is measured. It reports whether the command was done.
func (a *annals) cut(took *time.Duration, sight func() bool, args ...string) (done bool) {
	a.t.Helper()
	begun := time.Now()
	if *took == 0 {
		if out, notes, code := a.plinth(args...); code != 0 {
			a.t.Fatalf("%v: exit %d\n%s%s", args, code, out, notes)
		}
		*took = time.Since(begun)
		return true
	}
	p := a.spawn(args...)
	ctx, cancel := context.WithCancel(a.within())
	deadly := make(chan struct{})
	var lurking sync.WaitGroup
	if a.random.IntN(2) == 0 {
		lurking.Go(func() { look(ctx, sight, deadly) })
	} else {
		dying := time.AfterFunc(time.Duration(a.random.Int64N(int64(*took))), func() { close(deadly) })
		defer dying.Stop()
	}
	ended := make(chan error, 1)
	go func() { ended <- p.command.Wait() }()
	var err error
	select {
	case <-deadly:
		_ = p.command.Process.Kill()
		if err = <-ended; err != nil {
			a.midway++
		}
	case err = <-ended:
	}
	cancel()
	lurking.Wait()
	p.over.Do(func() {})
	return err == nil
}

func entries(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names
}
