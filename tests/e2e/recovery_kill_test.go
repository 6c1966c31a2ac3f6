package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// make verify-long raises the first.
var (
	recoverySessions = flag.Int("sessions", 20, "sessions per recovery policy")
	recoverySeed     = flag.Uint64("seed", 20261121, "of the random numbers of TestRecoveryPolicies")
)

// A host with many sessions at work is killed again and again: with tools, requests to
// people, retries and child sessions in flight. Whatever the recovery policy, what was
// acknowledged is kept, nothing is done twice that must not be, and people bring
// everything to its end.
func TestRecoveryPolicies(t *testing.T) {
	for _, policy := range []session.RecoveryPolicy{session.RecoverOff, session.RecoverAsk, session.RecoverResume} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(*recoverySeed, string(policy))
			t.Logf("%d sessions, -seed %d", *recoverySessions, *recoverySeed)
			newStorm(t, policy, seed).run(*recoverySessions, 4+*recoverySessions/16)
		})
	}
}

// storm is a host that is killed while people work with it.
type storm struct {
	*world
	*people
	policy  session.RecoveryPolicy
	chaos   *chaos
	host    *host
	random  *rand.Rand
	history map[string][]string // ids of the events by session, as they were last read
	caught  map[string]int      // what was in flight when the host died
}

func newStorm(t *testing.T, policy session.RecoveryPolicy, seed uint64) *storm {
	t.Helper()
	s := &storm{world: newWorld(t), policy: policy, chaos: newChaos(t, seed), random: rand.New(rand.NewPCG(seed, 1)),
		history: map[string][]string{}, caught: map[string]int{}}
	s.chaotic(s.chaos, string(policy))
	s.host = s.serve()
	if list, err := s.host.client.Plugins(t.Context()); err != nil || !slices.ContainsFunc(list.Plugins, func(p protocol.Plugin) bool { return p.ID == "test/ask" && p.Error == "" }) {
		t.Fatalf("the plugin is not there: %+v, %v", list, err)
	}
	s.people = newPeople(t, s.world, policy, seed)
	return s
}

func (s *storm) run(sessions, kills int) {
	t := s.world.t
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.quiet = time.AfterFunc(patience, cancel)
	defer s.quiet.Stop()
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			if err := s.person(ctx, i, s.project); err != nil {
				t.Error(err)
				cancel() // one that hangs says so once
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	killed := 0
	for target := int64(0); killed < kills; killed++ {
		target += int64(sessions * (3 + s.random.IntN(8)))
		if !s.reached(target, over) {
			break
		}
		s.die()
	}
	<-over
	if killed < 2 {
		t.Errorf("the host was killed %d times, which proves little", killed)
	}
	if ctx.Err() == nil {
		if err := s.children(ctx); err != nil {
			t.Error(err)
		}
		s.sameByPages(ctx)
	}
	s.host.kill()
	audits := s.inspect()
	for _, one := range audits {
		one.settled()
		report(t, one)
	}
	s.summary(killed, audits)
}

// reached waits until people have seen so many events; false when they are through.
func (s *storm) reached(target int64, over <-chan struct{}) bool {
	for s.events.Load() < target {
		select {
		case <-s.moved:
		case <-over:
			return false
		}
	}
	return true
}

// die kills the host, looks at what it left, and starts another.
func (s *storm) die() {
	s.world.t.Helper()
	s.away()
	s.host.kill()
	for _, one := range s.inspect() {
		report(s.world.t, one)
		s.catch(one)
	}
	s.host = s.serve()
	s.back()
}

// report tells what is wrong with a session, once with its events.
func report(t *testing.T, one *audit) {
	t.Helper()
	if len(one.wrong) > 0 {
		t.Errorf("%s\n%s", strings.Join(one.wrong[:min(3, len(one.wrong))], "\n"), sessiontest.Text(one.events))
	}
}

// inspect reads the log of the host that is gone, from a copy, and holds it to what the
// world outside has seen.
func (s *storm) inspect() map[string]*audit {
	t := s.world.t
	t.Helper()
	requests, effects := s.chaos.seen()
	log := s.copied()
	defer log.Close()
	events := feed(t, log)
	audits := map[string]*audit{}
	for _, event := range events {
		if audits[event.Aggregate] == nil {
			audits[event.Aggregate] = newAudit(event.Aggregate, s.policy)
		}
		audits[event.Aggregate].take(event)
	}
	for id, before := range s.history {
		if one := audits[id]; one == nil || len(one.ids) < len(before) || !slices.Equal(one.ids[:len(before)], before) {
			t.Errorf("%s has another past than before", id)
		}
	}
	for id, one := range audits {
		s.history[id] = one.ids
	}
	s.kept(audits)
	s.recorded(audits, requests, effects)
	s.replayed(log, events)
	return audits
}

// kept: what was acknowledged is there, where the receipt says.
func (s *storm) kept(audits map[string]*audit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, receipt := range s.receipts {
		one := audits[receipt.SessionID]
		if one == nil {
			s.world.t.Errorf("%s is lost", receipt.SessionID)
			continue
		}
		at, known := one.place[receipt.ID]
		if !known || one.admitted[at].seq != receipt.AdmittedSeq {
			s.world.t.Errorf("%s of %s is not where its receipt says: %d", receipt.ID, receipt.SessionID, receipt.AdmittedSeq)
		}
	}
}

// recorded: nothing was done before it was recorded, and no call did its work twice.
func (s *storm) recorded(audits map[string]*audit, requests, effects map[string]int) {
	t := s.world.t
	turns, called, done := map[string]int{}, map[string]string{}, map[string]string{}
	for _, one := range audits {
		turns[one.tag] += one.turns
		maps.Copy(called, one.keys)
		maps.Copy(done, one.done)
	}
	for tag, n := range requests {
		if tag == "" || n > turns[tag] {
			t.Errorf("the provider has %d requests of %q, and %d were recorded", n, tag, turns[tag])
		}
	}
	lines, err := os.ReadFile(filepath.Join(s.project, "lines.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for line := range bytes.Lines(lines) {
		ran[strings.TrimSpace(string(line))]++
	}
	for what, counted := range map[string]map[string]int{"http.fetch": effects, "process.run": ran} {
		for key, n := range counted {
			if n != 1 || called[key] == "" {
				t.Errorf("%s of %s was carried out %d times, called as %q", what, key, n, called[key])
			}
		}
		for key, operation := range done {
			if operation == what && counted[key] != 1 {
				t.Errorf("%s of %s is said to be done, and was carried out %d times", what, key, counted[key])
			}
		}
	}
	for key, operation := range done {
		if operation == "fs.commit" && !s.written(key) {
			t.Errorf("%s is said to have written its file, which is not there", key)
		}
	}
}

func (s *storm) written(key string) bool {
	for _, folder := range []string{"free", "guarded"} {
		if text, err := os.ReadFile(filepath.Join(s.project, folder, key)); err == nil && string(text) == key {
			return true
		}
	}
	return false
}

// replayed: the tables are what the events make of them.
func (s *storm) replayed(log *sqlite.Store, events []store.Event) {
	t := s.world.t
	again := sessiontest.OpenStore(t, t.TempDir())
	defer again.Close()
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Aggregate == events[0].Aggregate {
			n++
		}
		if err := again.Replay(t.Context(), events[:n], store.ReplayOptions{}); err != nil {
			t.Fatal(err)
		}
		events = events[n:]
	}
	if diff := cmp.Diff(sessiontest.Tables(t, log), sessiontest.Tables(t, again)); diff != "" {
		t.Errorf("the tables are not what the events make of them: %.2000s", diff)
	}
}

// copied opens a copy of the store, so that the next host finds what the last one left.
func (s *storm) copied() *sqlite.Store {
	t := s.world.t
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"plinth.db", "plinth.db-wal"} {
		data, err := os.ReadFile(filepath.Join(s.folder, "data/plinth", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return sessiontest.OpenStore(t, folder)
}

func feed(t *testing.T, log store.Log) (all []store.Event) {
	t.Helper()
	for after := int64(0); ; after = all[len(all)-1].Position {
		page, err := log.Feed(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Events...)
		if !page.More {
			return all
		}
	}
}

// sameByPages: who followed over all restarts has read what the pages show, each
// event's cursor being the place behind it.
func (s *storm) sameByPages(ctx context.Context) {
	t := s.world.t
	for id, one := range s.sessions {
		var ids []string
		for after := ""; ctx.Err() == nil; {
			page, err := s.client.Events(ctx, id, after, 500)
			var wire *protocol.Error
			if errors.As(err, &wire) && wire.Code == protocol.NotFound {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range page.Events {
				if event.Seq != int64(len(ids)) {
					t.Errorf("%s: event %d comes as number %d", id, event.Seq, len(ids))
				}
				ids = append(ids, event.ID)
			}
			if after = page.Cursor; !page.More {
				break
			}
		}
		if len(ids) < len(one.ids) || !slices.Equal(ids[:len(one.ids)], one.ids) {
			t.Errorf("%s: a follower has read other events than the pages have", id)
		}
	}
}

// catch counts what the dead host had in flight in a session.
func (s *storm) catch(one *audit) {
	count := func(what string, n int) { s.caught[what] += n }
	if one.activity == "" {
		return
	}
	count("activities", 1)
	if one.dispatch {
		count("requests to the provider", 1)
	}
	if _, retry := one.previous.(session.RetryScheduled); retry {
		count("retries", 1)
	}
	for _, settlements := range one.calls {
		count("calls", 1-settlements)
	}
	for _, ask := range one.asks {
		if !ask.closed {
			count(either(map[bool]string{ask.question: "questions"}[true], "permissions"), 1)
		}
	}
	for _, task := range one.tasks {
		count(map[bool]string{false: "tasks", true: "background tasks"}[task.Background], 1)
	}
}

// summary tells what the test has seen.
func (s *storm) summary(killed int, audits map[string]*audit) {
	events, turns, outcomes := 0, 0, map[string]int{}
	for _, one := range audits {
		events, turns = events+len(one.ids), turns+one.turns
		for outcome, n := range one.outcomes {
			outcomes[outcome] += n
		}
	}
	s.world.t.Logf("killed %d times; %d sessions, %d events, %d turns; activities ended %v; in flight at the kills %v",
		killed, len(audits), events, turns, fmt.Sprint(outcomes), s.caught)
}
