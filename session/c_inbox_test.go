package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

func admittedTwice(t *testing.T, d *desk, id string) {
	one := d.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "Hi"}})
	two := d.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "Hi"}})
	if one.ID == two.ID || len(d.texts(id)) != 2 || len(d.messages(id)) != 0 {
		t.Errorf("%s and %s, %d messages", one.ID, two.ID, len(d.messages(id)))
	}
	if diff := cmp.Diff([]int64{one.Admitted, two.Admitted}, d.wakes.take()); diff != "" {
		t.Error(diff)
	}
}

func exactRetry(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Delivery: session.Queue,
		Prompt: session.Prompt{Text: "Hi", Metadata: raw(`{"b":1,"a":2}`)}}
	first := d.admit(request)
	request.Prompt.Metadata = raw(` {"a": 2, "b": 1}`)
	if diff := cmp.Diff(first, d.admit(request)); diff != "" {
		t.Error(diff)
	}
	if n := d.count(id, "session.prompt.admitted"); n != 1 {
		t.Errorf("%d admissions", n)
	}
	if got := d.wakes.take(); !slices.Equal(got, []int64{first.Admitted, first.Admitted}) {
		t.Errorf("wakes %v", got)
	}
}

func concurrentSubmissions(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}}
	receipts := make([]session.Input, 16)
	together(len(receipts), func(i int) {
		input, err := d.sessions.Admit(context.Background(), session.System(), request)
		if err != nil {
			t.Error(err)
		}
		receipts[i] = input
	})
	for _, receipt := range receipts {
		if diff := cmp.Diff(receipts[0], receipt); diff != "" {
			t.Error(diff)
		}
	}
	if got := d.types(id); !slices.Equal(got, []string{"session.prompt.admitted"}) {
		t.Errorf("%v", got)
	}
}

func retryWakes(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}, AdmitOnly: true}
	d.admit(request)
	d.admit(request)
	if got := d.wakes.take(); len(got) != 0 {
		t.Errorf("held, and woken by %v", got)
	}
	request.AdmitOnly = false
	together(16, func(int) {
		if _, err := d.sessions.Admit(context.Background(), session.System(), request); err != nil {
			t.Error(err)
		}
	})
	if got := d.types(id); !slices.Equal(got, []string{"session.prompt.admitted", "session.prompt.woken"}) {
		t.Errorf("%v", got)
	}
	woken := d.events(id)[2]
	if woken.Cause != request.ID {
		t.Errorf("the wake follows from %q", woken.Cause)
	}
	for _, seq := range d.wakes.take() {
		if seq != woken.Seq {
			t.Errorf("woken with %d, the event is %d", seq, woken.Seq)
		}
	}
	if input := d.input(request.ID); input.Wake != woken.Seq {
		t.Errorf("the prompt says that %d asked for it, the event is %d", input.Wake, woken.Seq)
	}
	wakeIsNewer(t, d, d.create())
}

// wakeIsNewer: a wake counts against an interrupt by its sequence, right before and
// right after it.
func wakeIsNewer(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}, AdmitOnly: true}
	d.admit(request)
	d.append(id, session.InterruptRequested{})
	request.AdmitOnly = false
	d.admit(request)
	equal(t, "events", []string{"session.prompt.admitted", "session.interrupt.requested", "session.prompt.woken"}, d.types(id))
	equal(t, "asks for execution after an interrupt", true, slices.Contains(d.woken(), id))
	d.append(id, session.InterruptRequested{})
	equal(t, "asks for execution before an interrupt", false, slices.Contains(d.woken(), id))
}

func missingSession(t *testing.T, d *desk, _ string) {
	none := d.id(session.PrefixSession)
	_, err := d.sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: none, Prompt: session.Prompt{Text: "Hi"}})
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if events := d.events(none); len(events) != 0 {
		t.Errorf("%+v", events)
	}
}

func promotedReceipt(t *testing.T, d *desk, id string) {
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Hi"}}
	first := d.admit(request)
	promoted := d.promote(first)[0]
	d.wakes.take()
	again := d.admit(request)
	if again.Promoted == nil || *again.Promoted != promoted.Seq {
		t.Errorf("%+v", again)
	}
	again.Promoted = nil
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	if got := d.wakes.take(); len(got) != 0 {
		t.Errorf("woken by %v for what the session has taken already", got)
	}
}

func twoPromotions(t *testing.T, d *desk, id string) {
	input := d.held(id, "Hi", session.Steer)
	failures := make([]error, 2)
	together(2, func(i int) {
		events, err := d.encoder.Encode(session.System(), promotion(input))
		if err != nil {
			t.Error(err)
		}
		_, failures[i] = d.log.Append(context.Background(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events})
	})
	if failures[0] == nil {
		failures[0] = failures[1]
	} else if failures[1] != nil {
		t.Errorf("both failed: %v", failures)
	}
	wantConflict(t, failures[0])
	if n := d.count(id, "session.prompt.promoted"); n != 1 || len(d.messages(id)) != 1 {
		t.Errorf("%d promotions, %d messages", n, len(d.messages(id)))
	}
}

func compatibility(t *testing.T, d *desk, id string) {
	_, err := d.log.Append(t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: []store.Event{{
		ID: d.id(session.PrefixEvent), Type: "session.prompted", Version: 1, Time: d.clock.Now(), Data: []byte(`{}`)}}})
	if err == nil || !cmp.Equal(d.types(id), []string{}) {
		t.Errorf("%v, %v", err, d.types(id))
	}
}

func replayedInbox(t *testing.T, d *desk, id string) {
	d.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "one"}})
	two, three := d.held(id, "two", session.Queue), d.held(id, "three", session.Queue)
	by := session.System()
	if _, err := d.sessions.Reorder(t.Context(), by, id, three.ID, two.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.sessions.Edit(t.Context(), by, id, two.ID, session.Prompt{Text: "2"}); err != nil {
		t.Fatal(err)
	}
	want, err := d.sessions.Inbox(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	copied := deskOver(t, sessiontest.OpenStore(t, t.TempDir()), session.SessionOptions{})
	if err := copied.log.Replay(t.Context(), d.events(id), store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := copied.sessions.Inbox(t.Context(), id)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if messages, wakes := copied.messages(id), copied.wakes.take(); len(messages) != 0 || len(wakes) != 0 {
		t.Errorf("%d messages, wakes %v", len(messages), wakes)
	}
}

func promptFiles(t *testing.T) {
	asked, refuse := 0, errors.New("no such file")
	d := newDesk(t, session.SessionOptions{Files: func(_ context.Context, files []session.PromptFile) error {
		asked++
		if files[0].Path == "missing" {
			return refuse
		}
		return nil
	}})
	id := d.create()
	files := []session.PromptFile{{Blob: "ab12", Mime: "image/png", Name: "a.png"}}
	request := session.PromptRequest{ID: d.id(session.PrefixMessage), Session: id, Prompt: session.Prompt{Text: "Look", Files: files}}
	for range 2 {
		if diff := cmp.Diff(files, d.admit(request).Prompt.Files); diff != "" {
			t.Error(diff)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	_, err := d.sessions.Admit(t.Context(), session.System(),
		session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "Look", Files: []session.PromptFile{{Path: "missing"}}}})
	if !errors.Is(err, refuse) || len(d.types(id)) != 1 {
		t.Errorf("%v, %v", err, d.types(id))
	}
	withMime := session.NewSessions(d.log, d.encoder, folders{}, d.wakes, session.SessionOptions{
		Files: func(ctx context.Context, files []session.PromptFile) error {
			return session.CheckFiles(ctx, d.log.Blobs(), files)
		}})
	blob, err := d.log.Blobs().Put(t.Context(), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	for mime, want := range map[string]string{"": "prompt.files[0].mime is missing", "text/plain": ""} {
		input, err := withMime.Admit(t.Context(), session.System(), session.PromptRequest{Session: id,
			Prompt: session.Prompt{Text: "Look", Files: []session.PromptFile{{Blob: blob, Mime: mime, Name: "a/"}}}})
		switch {
		case want == "" && (err != nil || input.Prompt.Files[0].Mime != mime):
			t.Errorf("%q: %+v, %v", mime, input, err)
		case want != "" && (!errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v", mime, err)
		}
	}
	equal(t, "admissions", 2, d.count(id, "session.prompt.admitted"))
}
