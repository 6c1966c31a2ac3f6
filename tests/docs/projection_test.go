package docs

import (
	"context"
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// everyEvent is a session in which every event happens.
func everyEvent() []session.Payload {
	prompt := session.Prompt{Text: "Hi", Agent: "plan", Model: &session.ModelRef{Provider: "offline", Model: "rules"}}
	input := json.RawMessage(`{}`)
	return []session.Payload{
		session.Created{},
		session.PromptAdmitted{Message: "msg_1", Prompt: prompt, Delivery: session.Steer},
		session.PromptWoken{Message: "msg_1"},
		session.ActivityStarted{Activity: "act_1"},
		session.ContextInitialized{Baseline: "b"},
		session.PromptPromoted{Message: "msg_1", Prompt: prompt, Created: eventTime},
		session.ContextReplaced{Baseline: "c"},
		session.ContextUpdated{Message: "msg_2", Text: "d"},
		session.TurnStarted{Activity: "act_1"},
		session.StepStarted{Message: "msg_3"},
		session.ReasoningEnded{Message: "msg_3"},
		session.TextEnded{Message: "msg_3"},
		session.ToolCalled{Message: "msg_3", Call: "one", Input: input},
		session.ToolCalled{Message: "msg_3", Call: "two", Input: input},
		session.PermissionAsked{Request: "per_1", Ask: session.PermissionRequest{Action: "read", Save: []string{"a"}}},
		session.PermissionReplied{Request: "per_1", Reply: session.ReplyAlways},
		session.ToolSucceeded{Message: "msg_3", Call: "one"},
		session.ToolFailed{Message: "msg_3", Call: "two"},
		session.StepEnded{Message: "msg_3"},
		session.StepStarted{Message: "msg_4"},
		session.StepFailed{Message: "msg_4"},
		session.InterruptRequested{},
		session.ActivityEnded{Activity: "act_1"},
	}
}

const eventTime = 0 // milliseconds

// projected answers the kernel tables that each type of event writes to, by watching
// the projection at work.
func projected(t *testing.T) map[string]string {
	t.Helper()
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	list, err := view.NewList("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	watched := &watchedProjection{tables: map[string][]string{}}
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Projections: []store.Projection{watched},
		Views: []sqlite.View{list}, Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, payload := range everyEvent() {
		data, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		event := store.Event{ID: session.NewIDs(session.SystemClock{}).New(session.PrefixEvent), Type: payload.EventType(), Version: 1,
			Time: time.UnixMilli(eventTime), Data: data}
		if _, err := log.Append(t.Context(), store.Batch{Aggregate: "ses_every", Mode: store.Any(), Events: []store.Event{event}}); err != nil {
			t.Fatalf("append %s: %v", payload.EventType(), err)
		}
	}
	tables := map[string]string{}
	for name, written := range watched.tables {
		tables[name] = strings.Join(written, ", ")
	}
	return tables
}

// watchedProjection is the kernel's projection, with a look at what it writes.
type watchedProjection struct {
	session.Projection
	tables map[string][]string
}

// Apply notes the tables of the statements.
func (w *watchedProjection) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	watch := &watchedTx{Tx: tx}
	err := w.Projection.Apply(ctx, watch, event)
	if _, seen := w.tables[event.Type]; !seen {
		w.tables[event.Type] = watch.tables
	}
	return err
}

type watchedTx struct {
	store.Tx
	tables []string
}

var writes = regexp.MustCompile(`^(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)`)

// Exec notes the table.
func (w *watchedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if match := writes.FindStringSubmatch(strings.TrimSpace(query)); match != nil && !slices.Contains(w.tables, match[1]) {
		w.tables = append(w.tables, match[1])
	}
	return w.Tx.Exec(ctx, query, args...)
}
