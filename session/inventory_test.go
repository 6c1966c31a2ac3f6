package session_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// TestUpcasters: bytes that version 1 wrote are read for ever.
func TestUpcasters(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want session.Payload
	}{
		"session.turn.started": {
			`{"activity":"act_1","turn":3,"agent":"build","model":{"provider":"offline","model":"rules"},"pins":[{"scope":"core/offline","revision":"r1"}],"digest":"5e88"}`,
			session.TurnStarted{Activity: "act_1", Turn: 3, Step: 3, Attempt: 1, Agent: "build",
				Model: session.ModelRef{Provider: "offline", Model: "rules"}, Pins: []session.Pin{{Scope: "core/offline", Revision: "r1"}}, Digest: "5e88"},
		},
		"session.permission.replied": {
			`{"request":"per_1","reply":"always","feedback":"go on"}`,
			session.PermissionReplied{Request: "per_1", Reply: session.ReplyAlways, Feedback: "go on", Saves: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := session.Decode(store.Event{Aggregate: "ses_1", Type: name, Version: 1, Data: []byte(c.data)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			written, err := session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}}.Encode(session.System(), got)
			if err != nil || written[0].Version != 2 {
				t.Fatalf("%+v, %v", written, err)
			}
			if again, err := session.Decode(written[0]); err != nil || !cmp.Equal(got, again) {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// TestStoredVersion1: a log of version 1 is applied as it was, so an "always" in it
// still approves, and a turn of it fits any place.
func TestStoredVersion1(t *testing.T) {
	d := newDesk(t, session.SessionOptions{})
	id := d.create()
	d.append(id, session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByPrompt},
		session.PermissionAsked{Request: "per_1", Agent: "build", Ask: session.PermissionRequest{Action: "read", Resources: []string{".env"}, Save: []string{".env"}}})
	for name, data := range map[string]string{
		"session.turn.started":       `{"activity":"act_1","turn":2,"agent":"build","model":{"provider":"p","model":"m"},"digest":"00"}`,
		"session.permission.replied": `{"request":"per_1","reply":"always"}`,
	} {
		_, err := d.log.Append(t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: []store.Event{{
			ID: d.id(session.PrefixEvent), Type: name, Version: 1, Time: d.clock.Now(), Data: []byte(data)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	activity, err := d.sessions.Activity(t.Context(), id)
	if err != nil || activity == nil || activity.Turns != 2 || activity.Steps != 2 {
		t.Errorf("%+v, %v", activity, err)
	}
	var approvals int
	err = d.log.View(t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM approval WHERE action = 'read' AND resource = '.env'`).Scan(&approvals)
	})
	if err != nil || approvals != 1 {
		t.Errorf("%d approvals, %v", approvals, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		event store.Event
		want  string
	}{
		"an unknown type":       {store.Event{Type: "session.imagined", Version: 1, Data: []byte(`{}`)}, "session.imagined"},
		"a version to come":     {store.Event{Type: "session.turn.started", Version: 3, Data: []byte(`{}`)}, "version 3 is not known"},
		"version 0":             {store.Event{Type: "session.turn.started", Version: 0, Data: []byte(`{}`)}, "version 0 is not known"},
		"an unknown field":      {store.Event{Type: "session.created", Version: 1, Data: []byte(`{"colour":1}`)}, "colour"},
		"null, of an old turn":  {store.Event{Type: "session.turn.started", Version: 1, Data: []byte(`null`)}, "null"},
		"a list, of an old one": {store.Event{Type: "session.turn.started", Version: 1, Data: []byte(`[]`)}, "session.turn.started"},
	} {
		t.Run(name, func(t *testing.T) {
			c.event.Aggregate, c.event.Seq = "ses_1", 7
			_, err := session.Decode(c.event)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sequence 7 of ses_1") {
				t.Errorf("%v", err)
			}
		})
	}
}
