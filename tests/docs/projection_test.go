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

// everyEvent is a session in which every event happens, and what the host has beside it.
func everyEvent() []session.Payload { //nolint:funlen // a list
	prompt := session.Prompt{Text: "Hi", Agent: "plan", Model: &session.ModelRef{Provider: "offline", Model: "rules"}}
	input := json.RawMessage(`{}`)
	return []session.Payload{
		session.Created{},
		session.AgentSwitched{Message: "msg_a", Agent: "plan"},
		session.ModelSwitched{Message: "msg_b", Model: *prompt.Model},
		session.RulesChanged{},
		session.BudgetsChanged{},
		session.Synthetic{Message: "msg_c"},
		session.ShellStarted{Message: "msg_d", Call: "shell"},
		session.ShellEnded{Call: "shell"},
		session.TodosChanged{},
		session.PromptAdmitted{Message: "msg_1", Prompt: prompt, Delivery: session.Steer},
		session.PromptWoken{Message: "msg_1"},
		session.PromptAdmitted{Message: "msg_e", Prompt: prompt, Delivery: session.Steer},
		session.PromptEdited{Message: "msg_e", Prompt: prompt},
		session.PromptRedelivered{Message: "msg_e", Delivery: session.Queue},
		session.PromptReordered{Message: "msg_e", Before: "msg_1"},
		session.PromptCancelled{Message: "msg_e"},
		session.ResumeRequested{},
		session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByResume},
		session.ContextInitialized{Baseline: "b"},
		session.PromptPromoted{Message: "msg_1", Prompt: prompt, Created: eventTime},
		session.ContextReplaced{Baseline: "c"},
		session.ContextUpdated{Message: "msg_2", Text: "d"},
		session.TurnStarted{Activity: "act_1"},
		session.RetryScheduled{Activity: "act_1"},
		session.StepStarted{Message: "msg_3"},
		session.ReasoningEnded{Message: "msg_3"},
		session.TextEnded{Message: "msg_3"},
		session.ToolCalled{Message: "msg_3", Call: "one", Input: input},
		session.ToolCalled{Message: "msg_3", Call: "two", Input: input},
		session.PermissionAsked{Request: "per_1", Ask: session.PermissionRequest{Action: "read", Save: []string{"a"}}},
		session.PermissionReplied{Request: "per_1", Reply: session.ReplyAlways},
		session.QuestionAsked{Request: "que_1"},
		session.QuestionAnswered{Request: "que_1"},
		session.QuestionAsked{Request: "que_2"},
		session.QuestionDismissed{Request: "que_2"},
		session.ChildAsked{Session: "ses_child", Request: "per_2"},
		session.ChildAnswered{Session: "ses_child", Request: "per_2"},
		session.TaskStarted{Message: "msg_3", Call: "one", Session: "ses_child", Prompt: "msg_f"},
		session.TaskEnded{Session: "ses_child", Prompt: "msg_f", Outcome: session.Completed},
		session.ToolSucceeded{Message: "msg_3", Call: "one"},
		session.ToolFailed{Message: "msg_3", Call: "two"},
		session.ToolInputEnded{Message: "msg_3", Call: "three"},
		session.StepEnded{Message: "msg_3"},
		session.StepStarted{Message: "msg_4"},
		session.StepFailed{Message: "msg_4"},
		session.CompactionRequested{},
		session.CompactionStarted{Message: "msg_5"},
		session.CompactionFailed{Message: "msg_5"},
		session.CompactionEnded{Message: "msg_5"},
		session.ActivitySuspended{Activity: "act_1"},
		session.ActivityRecovered{Activity: "act_1"},
		session.InterruptRequested{},
		session.ActivityEnded{Activity: "act_1"},
		session.Moved{},
		session.Renamed{},
		session.Archived{},
		session.Unarchived{},
		session.RetentionChanged{},
		session.ChangesSummarized{},
		session.Reminded{Message: "msg_6"},
		session.ResultsPruned{Calls: []session.CallRef{{Message: "msg_3", Call: "two"}}},
		session.DirectoriesRead{Directories: []string{"/a"}},
		session.RevertStaged{},
		session.RevertCleared{},
		session.RevertStaged{Revert: session.Revert{Boundary: 1000}},
		session.RevertCommitted{Boundary: 1000},
		session.HistoryPruned{Session: session.Session{Title: "t"}},
		session.MessageImported{Message: session.Message{ID: "msg_3", Type: session.MessageUser, MessageBody: session.MessageBody{},
			Parts: []session.MessagePart{{Type: session.MessagePartText, ID: "t"}}}},
		session.ApprovalSaved{},
		session.ApprovalRemoved{},
		session.PluginStaged{Revision: "r1", Terms: input},
		session.PluginHeld{},
		session.PluginApproved{Requests: input},
		session.PluginActivated{Revision: "r1"},
		session.PluginStarted{Revision: "r1"},
		session.PluginProved{Revision: "r1"},
		session.PluginFaulted{Revision: "r1"},
		session.PluginRetired{Revision: "r1"},
		session.PluginFailed{Revision: "r1"},
		session.PluginRolledBack{Revision: "r1", From: "r1"},
		session.PluginQuarantined{Revision: "r1"},
		session.PluginDisabled{},
		session.PluginEnabled{},
		session.PluginRemoved{},
		session.FolderTrusted{Root: "/p"},
		session.FolderDistrusted{Root: "/p"},
	}
}

// aggregateOf is where a type of event stands.
func aggregateOf(eventType string) string {
	if strings.HasPrefix(eventType, "host.") {
		return session.Host
	}
	return "ses_every"
}

// stillClock is always at eventTime.
type stillClock struct{}

func (stillClock) Now() time.Time { return time.UnixMilli(eventTime) }

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
	encoder := session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: stillClock{}}
	for _, payload := range everyEvent() {
		events, err := encoder.Encode(session.System(), payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), store.Batch{Aggregate: aggregateOf(payload.EventType()), Mode: store.Any(), Events: events}); err != nil {
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
