package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// TestKilledRemoving: the host is killed while it removes a session with children, idle
// or at work. All of them are there or none is, and what was removed never comes back.
func TestKilledRemoving(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "")
	kept := a.grown(1, 100)
	var all []string
	for n := range *historyKills + 1 {
		id := a.host.session(a.world)
		a.say(id, "[child] "+strings.Repeat("word ", 2000))
		a.say(id, "[child] and another")
		family := append(a.children(id), id)
		if len(family) != 3 {
			t.Fatalf("the family is %v", family)
		}
		if n%2 == 1 { // at work
			if _, err := a.host.client.Prompt(a.within(), id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "[child] while it is removed"}}); err != nil {
				t.Fatal(err)
			}
		}
		cut := a.dies(deed{name: "remove", watched: id, do: func(ctx context.Context) error { _, err := a.host.client.RemoveSession(ctx, id); return err }})
		a.reborn()
		gone := 0
		for _, one := range family {
			switch _, err := a.host.client.Session(a.within(), one); {
			case isCode(err, protocol.Gone):
				gone++
			case err != nil:
				t.Errorf("%s: %v", one, err)
			}
		}
		if gone != 0 && gone != len(family) || gone == 0 && cut == nil {
			t.Errorf("%d of %d sessions are gone; the removal ended with %v", gone, len(family), cut)
		}
		if gone == 0 {
			family = append(a.children(id), id)
		}
		if _, err := a.host.client.RemoveSession(a.within(), id); err != nil {
			t.Fatalf("remove again: %v", err)
		}
		all = append(all, family...)
	}
	a.host.kill()
	a.reborn()
	for _, id := range all {
		if _, err := a.host.client.Session(a.within(), id); !isCode(err, protocol.Gone) {
			t.Errorf("%s after it was removed: %v", id, err)
		}
		again := protocol.CreateSession{ID: id, Location: protocol.Location{Directory: a.project}}
		if _, err := a.host.client.CreateSession(a.within(), again); !isCode(err, protocol.Gone, protocol.Conflict) {
			t.Errorf("%s is made again: %v", id, err)
		}
	}
	a.vanish(all, kept)
	if list, err := a.host.client.Sessions(a.within(), protocol.ListSessions{}); err != nil || len(list.Sessions) != 1 {
		t.Errorf("%d sessions are left, %v", len(list.Sessions), err)
	}
	a.say(kept, "[last]")
	a.told()
}

func (a *annals) children(id string) (all []string) {
	a.t.Helper()
	list, err := a.host.client.Children(a.within(), id)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, one := range list.Sessions {
		all = append(all, one.ID)
	}
	return all
}

// vanish waits until no row and no event of the sessions is stored, as a backup shows,
// with those of another one in their place.
func (a *annals) vanish(ids []string, kept string) {
	a.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var left []string
	for ctx := a.within(); ctx.Err() == nil; <-tick.C {
		folder := filepath.Join(a.t.TempDir(), "backup")
		if _, err := a.host.client.Backup(ctx, folder); err != nil {
			a.t.Fatal(err)
		}
		log := sessiontest.OpenStore(a.t, folder)
		rows, events := sessiontest.Tables(a.t, log), feed(a.t, log)
		log.Close()
		left = left[:0]
		for _, id := range ids {
			if strings.Contains(rows, id) || has(events, id) {
				left = append(left, id)
			}
		}
		if !strings.Contains(rows, kept) || !has(events, kept) {
			a.t.Fatalf("%s went with them", kept)
		}
		if len(left) == 0 {
			return
		}
	}
	a.t.Errorf("rows and events of %v stay", left)
}

func has(events []store.Event, id string) bool {
	for _, event := range events {
		if event.Aggregate == id {
			return true
		}
	}
	return false
}
