package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/chat"
)

// historyKills is how often the host dies over each command; make verify-long raises it.
var historyKills = flag.Int("history-kills", 1, "kills over each command that changes histories")

// The host is killed while it condenses a history that somebody asked to be condensed.
func TestKilledCompacting(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "[compaction]\nkeep = 0\n")
	for range *historyKills + 1 {
		id := a.grown(3, 4000)
		_ = a.dies(deed{name: "compact", watched: id, do: func(ctx context.Context) error { return a.compact(ctx, id) }})
		a.reborn()
		a.say(id, "[next]")
		a.condensed(id, 3, "[next]")
	}
	a.told()
}

// The host is killed while it condenses a history because a prompt would not fit.
func TestKilledCompactingByItself(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "[compaction]\nkeep = 0\nprune = false\nbuffer = 1000\n[models.\"local/test\"]\ncontext = 24_000\noutput = 1000\n")
	for range *historyKills + 1 {
		id := a.grown(3, 24_000)
		prompt := protocol.Prompt{ID: a.host.client.NewMessageID(), PromptBody: protocol.PromptBody{Text: "[large] " + strings.Repeat("word ", 4800)}}
		var receipt protocol.Receipt
		send := func(ctx context.Context) error {
			answer, err := a.host.client.PromptAndWait(ctx, id, prompt)
			return err2(&receipt, answer.Receipt, err)
		}
		_ = a.dies(deed{name: "prompt", watched: id, do: send})
		a.reborn()
		// The same prompt again has the receipt that the first one had, if it came that far.
		again, err := a.host.client.PromptAndWait(a.within(), id, prompt)
		if err != nil || again.Result == nil || again.Result.Outcome != protocol.OutcomeCompleted || receipt.ID != "" && again.AdmittedSeq != receipt.AdmittedSeq {
			t.Fatalf("%+v, %v", again, err)
		}
		if ended := a.condensed(id, 3, "[large]"); ended == 0 {
			t.Errorf("%s: a prompt that has no room was sent with all of the history", id)
		}
	}
	a.told()
}

// err2 keeps a value when there is no error, and answers the error.
func err2[T any](to *T, value T, err error) error {
	if err == nil {
		*to = value
	}
	return err
}

// condensed holds a session to its compactions: each that began has come out, and the
// model was sent the summary if one was made, else everything. It answers how many
// were made.
func (a *annals) condensed(id string, prompts int, last string) (ended int) {
	t := a.t
	t.Helper()
	open, admitted, promoted := "", 0, 0
	for _, event := range a.events(id) {
		payload, err := session.Decode(store.Event{Seq: event.Seq, Aggregate: id, Type: event.Type, Version: event.Version, Data: event.Data})
		if err != nil {
			t.Fatal(err)
		}
		switch e := payload.(type) {
		case session.CompactionStarted:
			if open != "" {
				t.Errorf("%s: a compaction begins in another one", id)
			}
			open = e.Message
		case session.CompactionEnded:
			if open != e.Message {
				t.Errorf("%s: %s ends, and %q began", id, e.Message, open)
			}
			open, ended = "", ended+1
		case session.CompactionFailed:
			if open != "" && open != e.Message {
				t.Errorf("%s: %s fails, and %q began", id, e.Message, open)
			}
			open = ""
		case session.PromptAdmitted:
			admitted++
		case session.PromptPromoted:
			promoted++
		}
	}
	if open != "" || admitted != prompts+1 || promoted != admitted {
		t.Errorf("%s: the compaction %q is open, %d prompts of %d are there, %d are promoted", id, open, admitted, prompts+1, promoted)
	}
	sent, _ := json.Marshal(a.sent(last))
	for i := range prompts {
		if mark := fmt.Sprintf("mark %d.", i); ended == 0 && !strings.Contains(string(sent), mark) {
			t.Errorf("%s: nothing was condensed, and the model is not sent %q any more", id, mark)
		}
	}
	if (ended > 0) != strings.Contains(string(sent), summary) {
		t.Errorf("%s: %d compactions, and the model is sent %.3000s", id, ended, sent)
	}
	if ended > 0 && strings.Contains(string(sent), "mark 0.") {
		t.Errorf("%s: what was condensed is sent", id)
	}
	if n := len(a.users(id)); n != prompts+1 {
		t.Errorf("%s: the transcript has %d prompts, want %d", id, n, prompts+1)
	}
	return ended
}

// users are the texts of a transcript's prompts.
func (a *annals) users(id string) (texts []string) {
	a.t.Helper()
	page, err := a.host.client.Messages(a.within(), id, protocol.ListMessages{Limit: 200})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, message := range page.Messages {
		if message.Type == protocol.MessageUser {
			texts = append(texts, message.Prompt.Text)
		}
	}
	return texts
}

// told says how many of the commands were cut off: without any the test proves little.
func (a *annals) told() {
	a.t.Logf("%d commands were cut off, took %v", a.midway, a.took)
	if *historyKills >= 4 && a.midway == 0 {
		a.t.Error("no command was cut off")
	}
}

// The host is killed while it makes a fork: it is whole, or not there.
func TestKilledForking(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "")
	id, ids := a.grown(4, 60_000), session.NewIDs(session.SystemClock{})
	for range *historyKills + 1 {
		fork := protocol.ForkSession{ID: ids.New(session.PrefixSession)}
		make := func(ctx context.Context) error {
			_, err := a.host.client.ForkSession(ctx, id, fork)
			return err
		}
		cut := a.dies(deed{name: "fork", do: make})
		a.reborn()
		_, err := a.host.client.Session(a.within(), fork.ID)
		switch {
		case isCode(err, protocol.NotFound) && cut != nil:
		case err != nil:
			t.Fatalf("a fork that was made (%v): %v", cut, err)
		default:
			if diff := cmp.Diff(a.users(id), a.users(fork.ID)); diff != "" {
				t.Errorf("the fork is there in part (-whole +fork): %s", diff)
			}
		}
		if err := make(a.within()); err != nil {
			t.Fatalf("fork again: %v", err)
		}
		a.say(fork.ID, "[fork]")
		a.say(id, "[parent]")
		parent := a.sent("[parent]")
		a.follows(parent[:len(parent)-1], a.sent("[fork]"))
		id = fork.ID // the next one is of this, which has one prompt more
	}
	a.told()
}

// prune takes the old history away, once the work that has given its answer is over.
func (a *annals) prune(ctx context.Context, id string) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		_, err := a.host.client.PruneSession(ctx, id)
		if !isCode(err, protocol.Conflict) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// keeps gives a session work, at whose end its old history goes, and waits for that.
func (a *annals) keeps(ctx context.Context, id string) error {
	answer, err := a.host.client.PromptAndWait(ctx, id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "[kept]"}})
	if err != nil {
		return err
	}
	for update, err := range a.host.client.Follow(ctx, id, client.FollowOptions{After: answer.Cursor, Types: []string{"session.history.pruned"}}) {
		if reset, ok := errors.AsType[*protocol.ResetError](err); ok && reset.Reason == protocol.ResetPruned {
			return nil
		}
		if err != nil || update.Event != nil {
			return err
		}
	}
	return ctx.Err()
}

// follows holds a request to beginning with the messages of another one.
func (a *annals) follows(first, second []chat.Message) {
	a.t.Helper()
	if len(second) < len(first) {
		a.t.Fatalf("the second request has %d messages, the first %d", len(second), len(first))
	}
	if diff := cmp.Diff(first, second[:len(first)]); diff != "" {
		a.t.Errorf("the second request does not begin like the first (-first +second): %.3000s", diff)
	}
}

// The host is killed while it takes away old history. The model is sent the same after it.
func TestKilledPruning(t *testing.T) {
	t.Parallel()
	a := newAnnals(t, "[compaction]\nkeep = 400\n")
	for n := range *historyKills + 1 {
		id := a.grown(4, 4000)
		if err := a.compact(a.within(), id); err != nil {
			t.Fatal(err)
		}
		a.say(id, "[before]")
		before := a.sent("[before]")
		if n%2 == 0 {
			_ = a.dies(deed{name: "prune", watched: id, do: func(ctx context.Context) error { return a.prune(ctx, id) }})
		} else { // by the keeper, at the end of the work
			if _, err := a.host.client.ChangeSession(a.within(), id, protocol.ChangeSession{Retention: &protocol.Retention{Keep: string(session.RetainCompaction)}}); err != nil {
				t.Fatal(err)
			}
			_ = a.dies(deed{name: "kept", watched: id, do: func(ctx context.Context) error { return a.keeps(ctx, id) }})
		}
		a.reborn()
		a.say(id, "[after]")
		after := a.sent("[after]")
		a.follows(before, after)
		if err := a.prune(a.within(), id); err != nil {
			t.Fatal(err)
		}
		a.say(id, "[again]")
		a.follows(after, a.sent("[again]"))
		events := a.events(id)
		if !slices.ContainsFunc(events, func(e protocol.Event) bool { return e.Type == "session.history.pruned" }) || events[0].Seq == 0 {
			t.Errorf("%s is not pruned: it begins with event %d, %s", id, events[0].Seq, events[0].Type)
		}
	}
	a.told()
}
