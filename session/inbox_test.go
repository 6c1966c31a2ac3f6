package session_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

func TestInbox(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, d *desk, id string){
		"an exact retry of an edited or cancelled prompt answers its receipt":  retryAfterChange,
		"a prompt of another body, delivery or session is a conflict":          conflicts,
		"a promoted or cancelled prompt cannot be changed":                     settledPrompts,
		"prompts of another session, and unknown ones, are not found":          foreignPrompts,
		"an edit, a cancellation and a new order show in the inbox":            changes,
		"what changes nothing records nothing":                                 nothingChanged,
		"a revision is done whole or not at all":                               wholeRevision,
		"a prompt that steers a session that works wakes it":                   redelivered,
		"a prompt that was promoted while it was changed keeps what it is":     promotedMeanwhile,
		"a prompt of the host is cancelled and moved, not edited":              hostPrompt,
		"an interrupt does not make a held prompt's wake count twice":          wakeAfterInterrupt,
		"a cancelled prompt is not promoted, and its id is never used again":   cancelledForGood,
		"an edited prompt is promoted as edited, and as admitted no more":      promotedAsEdited,
		"what waits keeps its place behind what was put before it, admissions": orderWithAdmissions,
	} {
		t.Run(name, atDesk(run))
	}
}

// together runs the function n times at once.
func together(n int, run func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { run(i) })
	}
	group.Wait()
}

func retryAfterChange(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}, AdmitOnly: true}
	d.admit(request)
	by := session.System()
	if _, err := d.sessions.Revise(t.Context(), by, id, request.ID, session.Revision{Prompt: &session.Prompt{Text: "Ho"}, Delivery: session.Queue}); err != nil {
		t.Fatal(err)
	}
	if got := d.admit(request); got.Prompt.Text != "Ho" || got.Delivery != session.Queue {
		t.Errorf("%+v", got)
	}
	edited := request
	edited.Prompt.Text, edited.Delivery = "Ho", session.Queue
	_, err := d.sessions.Admit(t.Context(), by, edited)
	wantConflict(t, err)
	cancelled, err := d.sessions.Cancel(t.Context(), by, id, request.ID)
	if err != nil || cancelled.Cancelled == nil {
		t.Fatalf("%+v, %v", cancelled, err)
	}
	request.AdmitOnly = false
	before := d.types(id)
	if diff := cmp.Diff(cancelled, d.admit(request)); diff != "" {
		t.Error(diff)
	}
	if after := d.types(id); len(after) != len(before) || len(d.wakes.take()) != 0 {
		t.Errorf("a retry of a cancelled prompt did something: %v", after)
	}
}

func conflicts(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}}
	d.admit(request)
	for name, change := range map[string]func(*session.PromptRequest){
		"body":     func(r *session.PromptRequest) { r.Prompt.Text = "Ho" },
		"tools":    func(r *session.PromptRequest) { r.Prompt.Tools = map[string]bool{"read": false} },
		"delivery": func(r *session.PromptRequest) { r.Delivery = session.Queue },
		"session":  func(r *session.PromptRequest) { r.Session = d.create() },
	} {
		other := request
		change(&other)
		_, err := d.sessions.Admit(t.Context(), session.System(), other)
		t.Log(name, err)
		wantConflict(t, err)
	}
	message := d.id(session.PrefixMessage)
	d.append(id, session.Synthetic{Message: message, Text: "x"})
	_, err := d.sessions.Admit(t.Context(), session.System(), session.PromptRequest{ID: message, Session: id, Prompt: session.Prompt{Text: "x"}})
	wantConflict(t, err)
}

// everyChange makes each change of a prompt that there is.
func everyChange(d *desk, in, id string) map[string]func() error {
	ctx, by := d.t.Context(), session.System()
	return map[string]func() error{
		"cancel":    func() error { _, err := d.sessions.Cancel(ctx, by, in, id); return err },
		"edit":      func() error { _, err := d.sessions.Edit(ctx, by, in, id, session.Prompt{Text: "Ho"}); return err },
		"redeliver": func() error { _, err := d.sessions.Redeliver(ctx, by, in, id, session.Queue); return err },
		"reorder":   func() error { _, err := d.sessions.Reorder(ctx, by, in, id, ""); return err },
	}
}

func settledPrompts(t *testing.T, d *desk, id string) {
	promoted, cancelled := d.held(id, "one", session.Steer), d.held(id, "two", session.Steer)
	d.promote(promoted)
	if _, err := d.sessions.Cancel(t.Context(), session.System(), id, cancelled.ID); err != nil {
		t.Fatal(err)
	}
	before := d.types(id)
	for want, settled := range map[string]string{
		promoted.ID + " was promoted at sequence 3; it is part of the conversation and stays as it is; send another prompt": promoted.ID,
		cancelled.ID + " was cancelled at sequence 4; send the prompt again under a new id":                                 cancelled.ID,
	} {
		for name, change := range everyChange(d, id, settled) {
			err := change()
			wantConflict(t, err)
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if diff := cmp.Diff(before, d.types(id)); diff != "" {
		t.Error(diff)
	}
}

func foreignPrompts(t *testing.T, d *desk, id string) {
	mine := d.held(id, "one", session.Steer)
	for _, c := range [][2]string{{d.create(), mine.ID}, {id, d.id(session.PrefixMessage)}, {d.id(session.PrefixSession), mine.ID}} {
		for name, change := range everyChange(d, c[0], c[1]) {
			if err := change(); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if got := d.types(id); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func changes(t *testing.T, d *desk, id string) {
	one, two, three := d.held(id, "one", session.Steer), d.held(id, "two", session.Queue), d.held(id, "three", session.Queue)
	ctx, by := t.Context(), session.System()
	if _, err := d.sessions.Reorder(ctx, by, id, three.ID, one.ID); err != nil {
		t.Fatal(err)
	}
	if got := d.texts(id); !slices.Equal(got, []string{"three", "one", "two"}) {
		t.Errorf("%v", got)
	}
	if _, err := d.sessions.Reorder(ctx, by, id, three.ID, ""); err != nil {
		t.Fatal(err)
	}
	if got := d.texts(id); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("%v", got)
	}
	edited, err := d.sessions.Edit(ctx, by, id, one.ID, session.Prompt{Text: "1", System: "s"})
	if err != nil || edited.Prompt.Text != "1" || edited.Prompt.System != "s" || edited.Admitted != one.Admitted {
		t.Errorf("%+v, %v", edited, err)
	}
	if _, err := d.sessions.Cancel(ctx, by, id, two.ID); err != nil {
		t.Fatal(err)
	}
	if got := d.texts(id); !slices.Equal(got, []string{"1", "three"}) {
		t.Errorf("%v", got)
	}
	if _, err := d.sessions.Reorder(ctx, by, id, one.ID, two.ID); err == nil {
		t.Error("a prompt was put before a cancelled one")
	}
	if _, err := d.sessions.Reorder(ctx, by, id, one.ID, one.ID); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("before itself: %v", err)
	}
}

func nothingChanged(t *testing.T, d *desk, id string) {
	one, two := d.held(id, "one", session.Steer), d.held(id, "two", session.Steer)
	before := d.types(id)
	for _, revision := range []session.Revision{
		{}, {Delivery: session.Steer}, {Prompt: &session.Prompt{Text: "one"}}, {Before: &two.ID},
	} {
		if _, err := d.sessions.Revise(t.Context(), session.System(), id, one.ID, revision); err != nil {
			t.Errorf("%+v: %v", revision, err)
		}
	}
	if diff := cmp.Diff(before, d.types(id)); diff != "" {
		t.Error(diff)
	}
}

func wholeRevision(t *testing.T, d *desk, id string) {
	one, two := d.held(id, "one", session.Steer), d.held(id, "two", session.Queue)
	before := d.types(id)
	gone := d.id(session.PrefixMessage)
	_, err := d.sessions.Revise(t.Context(), session.System(), id, two.ID,
		session.Revision{Prompt: &session.Prompt{Text: "2"}, Delivery: session.Steer, Before: &gone})
	wantConflict(t, err)
	if diff := cmp.Diff(before, d.types(id)); diff != "" {
		t.Error(diff)
	}
	revised, err := d.sessions.Revise(t.Context(), session.System(), id, two.ID,
		session.Revision{Prompt: &session.Prompt{Text: "2"}, Delivery: session.Steer, Before: &one.ID})
	if err != nil || revised.Delivery != session.Steer || !slices.Equal(d.texts(id), []string{"2", "one"}) {
		t.Errorf("%+v, %v, %v", revised, d.texts(id), err)
	}
}

func redelivered(t *testing.T, d *desk, id string) {
	held := d.held(id, "one", session.Queue)
	asked := d.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "two"}, Delivery: session.Queue})
	ctx, by := t.Context(), session.System()
	for _, delivery := range []session.Delivery{session.Steer, session.Queue} { // idle: it steers nothing
		if _, err := d.sessions.Redeliver(ctx, by, id, held.ID, delivery); err != nil {
			t.Fatal(err)
		}
	}
	d.wakes.take()
	d.append(id, session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByResume})
	before := len(d.types(id))
	for _, input := range []session.Input{held, asked} {
		if _, err := d.sessions.Redeliver(ctx, by, id, input.ID, session.Steer); err != nil {
			t.Fatal(err)
		}
	}
	// The held one had not asked for execution and does now; the other had.
	want := []string{"session.prompt.redelivered", "session.prompt.woken", "session.prompt.redelivered"}
	if diff := cmp.Diff(want, d.types(id)[before:]); diff != "" {
		t.Error(diff)
	}
	if got, first := d.wakes.take(), int64(before+1); !slices.Equal(got, []int64{first, first + 2}) {
		t.Errorf("woken by %v", got)
	}
	if got := d.input(held.ID); got.Wake < 0 {
		t.Errorf("%+v", got)
	}
}

// promotedMeanwhile: promotions are not under the lock of the commands, so the
// projection is what decides.
func promotedMeanwhile(t *testing.T, d *desk, id string) {
	for range 20 {
		input := d.held(id, "one", session.Steer)
		var promoted, edited error
		together(2, func(i int) {
			if i == 0 {
				_, edited = d.sessions.Edit(context.Background(), session.System(), id, input.ID, session.Prompt{Text: "other"})
				return
			}
			events, err := d.encoder.Encode(session.System(), promotion(input))
			if err == nil {
				_, err = d.log.Append(context.Background(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events})
			}
			promoted = err
		})
		switch {
		case promoted == nil:
			wantConflict(t, edited)
		case edited == nil:
			wantConflict(t, promoted)
		default:
			t.Fatalf("neither: %v, %v", promoted, edited)
		}
	}
}

func hostPrompt(t *testing.T, d *desk, id string) {
	message := d.id(session.PrefixMessage)
	d.append(id, session.PromptAdmitted{Message: message, Prompt: session.Prompt{Text: "done"}, Delivery: session.Queue, Synthetic: true})
	if _, err := d.sessions.Edit(t.Context(), session.System(), id, message, session.Prompt{Text: "x"}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if input, err := d.sessions.Redeliver(t.Context(), session.System(), id, message, session.Steer); err != nil || !input.Synthetic {
		t.Errorf("%+v, %v", input, err)
	}
	if _, err := d.sessions.Cancel(t.Context(), session.System(), id, message); err != nil {
		t.Error(err)
	}
}

func wakeAfterInterrupt(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}}
	first := d.admit(request)
	if _, err := d.sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	d.wakes.take()
	d.admit(request) // the coordinator is told the old sequence and drops it
	if got := d.wakes.take(); !slices.Equal(got, []int64{first.Wake}) || d.count(id, "session.prompt.woken") != 0 {
		t.Errorf("woken by %v, %v", got, d.types(id))
	}
	if d.session(id).Interrupt <= first.Wake {
		t.Error("the interrupt is no boundary")
	}
}

func cancelledForGood(t *testing.T, d *desk, id string) {
	input := d.held(id, "one", session.Steer)
	if _, err := d.sessions.Cancel(t.Context(), session.System(), id, input.ID); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []session.Payload{session.PromptAdmitted{Message: d.id(session.PrefixMessage), Prompt: input.Prompt},
		session.PromptRedelivered{Message: d.held(id, "two", session.Queue).ID, Delivery: "soon"}} {
		if _, err := d.try(id, payload); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s of no delivery: %v", payload.EventType(), err)
		}
	}
	for _, payload := range []session.Payload{promotion(input), session.PromptWoken{Message: input.ID}, session.Synthetic{Message: input.ID, Text: "x"}} {
		_, err := d.try(id, payload)
		wantConflict(t, err)
	}
}

func promotedAsEdited(t *testing.T, d *desk, id string) {
	input := d.held(id, "one", session.Steer)
	edited, err := d.sessions.Edit(t.Context(), session.System(), id, input.ID, session.Prompt{Text: "1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.try(id, promotion(input))
	wantConflict(t, err)
	d.promote(edited)
	if m := d.messages(id); len(m) != 1 || m[0].Prompt.Text != "1" || m[0].Created != input.Created {
		t.Errorf("%+v", m)
	}
}

func orderWithAdmissions(t *testing.T, d *desk, id string) {
	one, two := d.held(id, "one", session.Queue), d.held(id, "two", session.Queue)
	if _, err := d.sessions.Reorder(t.Context(), session.System(), id, one.ID, ""); err != nil {
		t.Fatal(err)
	}
	three := d.held(id, "three", session.Queue)
	d.promote(two)
	if _, err := d.sessions.Reorder(t.Context(), session.System(), id, three.ID, one.ID); err != nil {
		t.Fatal(err)
	}
	d.held(id, "four", session.Queue)
	if got := d.texts(id); !slices.Equal(got, []string{"three", "one", "four"}) {
		t.Errorf("%v", got)
	}
}

func TestLimits(t *testing.T) {
	limits := session.Limits{Pending: 9, Steers: 4}
	admit := func(d *desk, id string, delivery session.Delivery) error {
		_, err := d.sessions.Admit(context.Background(), session.System(),
			session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "Hi"}, Delivery: delivery, AdmitOnly: true})
		return err
	}
	t.Run("they are exact under concurrency, and nothing is written beyond them", func(t *testing.T) {
		d := newDesk(t, session.SessionOptions{Limits: limits})
		id := d.create()
		var mu sync.Mutex
		admitted := map[session.Delivery]int{}
		together(40, func(i int) {
			delivery := []session.Delivery{session.Steer, session.Queue}[i%2]
			err := admit(d, id, delivery)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				admitted[delivery]++
			case !errors.Is(err, session.ErrBusy):
				t.Error(err)
			}
		})
		if n := admitted[session.Steer] + admitted[session.Queue]; n != limits.Pending || admitted[session.Steer] > limits.Steers {
			t.Errorf("%v", admitted)
		}
		if n := d.count(id, "session.prompt.admitted"); n != limits.Pending {
			t.Errorf("%d admissions", n)
		}
	})
	t.Run("a full inbox says so, takes retries, and has room again", func(t *testing.T) {
		d := newDesk(t, session.SessionOptions{Limits: limits})
		id := d.create()
		first := d.held(id, "first", session.Queue)
		for range limits.Pending - 1 {
			if err := admit(d, id, session.Queue); err != nil {
				t.Fatal(err)
			}
		}
		err := admit(d, id, session.Queue)
		if want := "busy: 9 prompts wait in this session, the limit; wait until it has taken some, or cancel some"; err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
		d.admit(session.PromptRequest{ID: first.ID, Session: id, Prompt: session.Prompt{Text: "first"}, Delivery: session.Queue})
		if err := admit(d, d.create(), session.Queue); err != nil {
			t.Errorf("another session: %v", err)
		}
		if _, err := d.sessions.Cancel(t.Context(), session.System(), id, first.ID); err != nil {
			t.Fatal(err)
		}
		if err := admit(d, id, session.Queue); err != nil {
			t.Errorf("after a cancellation: %v", err)
		}
	})
	t.Run("steers are bounded when they are admitted and when they are moved", func(t *testing.T) {
		d := newDesk(t, session.SessionOptions{Limits: limits})
		id := d.create()
		for range limits.Steers {
			if err := admit(d, id, session.Steer); err != nil {
				t.Fatal(err)
			}
		}
		if err := admit(d, id, session.Steer); !errors.Is(err, session.ErrBusy) {
			t.Errorf("%v", err)
		}
		queued := d.held(id, "queued", session.Queue)
		if _, err := d.sessions.Redeliver(t.Context(), session.System(), id, queued.ID, session.Steer); !errors.Is(err, session.ErrBusy) {
			t.Errorf("%v", err)
		}
		if got := d.input(queued.ID); got.Delivery != session.Queue {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the defaults are 256 and 32", func(t *testing.T) {
		d := newDesk(t, session.SessionOptions{})
		id := d.create()
		for range 32 {
			if err := admit(d, id, session.Steer); err != nil {
				t.Fatal(err)
			}
		}
		if err := admit(d, id, session.Steer); !errors.Is(err, session.ErrBusy) {
			t.Errorf("%v", err)
		}
		for range 256 - 32 {
			if err := admit(d, id, session.Queue); err != nil {
				t.Fatal(err)
			}
		}
		if err := admit(d, id, session.Queue); !errors.Is(err, session.ErrBusy) {
			t.Errorf("%v", err)
		}
	})
}
