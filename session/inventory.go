package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Host is the aggregate of what belongs to no session.
const Host = "host"

// kind is what is known of one type of event.
type kind struct {
	// upcasts turn the data of version i+1 into that of i+2. What is written has the
	// version after the last.
	upcasts []upcast
	decode  func(data []byte) (Payload, error)
}

type upcast func(data map[string]json.RawMessage)

func (k kind) version() int { return len(k.upcasts) + 1 }

func of[T Payload](upcasts ...upcast) kind {
	return kind{upcasts: upcasts, decode: func(data []byte) (Payload, error) {
		var payload T
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&payload); err != nil {
			return nil, err
		}
		return payload, nil
	}}
}

// kindOf answers a type of event. It is the inventory: what is not here does not
// exist.
func kindOf(eventType string) (kind, bool) { //nolint:cyclop,funlen // a table
	switch eventType {
	case "session.created":
		return of[Created](), true
	case "session.agent.switched":
		return of[AgentSwitched](), true
	case "session.model.switched":
		return of[ModelSwitched](), true
	case "session.rules.changed":
		return of[RulesChanged](), true
	case "session.budgets.changed":
		return of[BudgetsChanged](), true
	case "session.moved":
		return of[Moved](), true
	case "session.synthetic":
		return of[Synthetic](), true
	case "session.shell.started":
		return of[ShellStarted](), true
	case "session.shell.ended":
		return of[ShellEnded](), true
	case "session.todos.changed":
		return of[TodosChanged](), true
	case "session.renamed":
		return of[Renamed](), true
	case "session.archived":
		return of[Archived](), true
	case "session.unarchived":
		return of[Unarchived](), true
	case "session.retention.changed":
		return of[RetentionChanged](), true
	case "session.changes.summarized":
		return of[ChangesSummarized](), true
	case "session.compaction.requested":
		return of[CompactionRequested](), true
	case "session.compaction.started":
		return of[CompactionStarted](), true
	case "session.compaction.ended":
		return of[CompactionEnded](), true
	case "session.compaction.failed":
		return of[CompactionFailed](), true
	case "session.results.pruned":
		return of[ResultsPruned](), true
	case "session.reminded":
		return of[Reminded](), true
	case "session.directories.read":
		return of[DirectoriesRead](), true
	case "session.revert.staged":
		return of[RevertStaged](), true
	case "session.revert.cleared":
		return of[RevertCleared](), true
	case "session.revert.committed":
		return of[RevertCommitted](), true
	case "session.history.pruned":
		return of[HistoryPruned](), true
	case "session.message.imported":
		return of[MessageImported](), true
	case "session.prompt.admitted":
		return of[PromptAdmitted](), true
	case "session.prompt.woken":
		return of[PromptWoken](), true
	case "session.prompt.edited":
		return of[PromptEdited](), true
	case "session.prompt.cancelled":
		return of[PromptCancelled](), true
	case "session.prompt.redelivered":
		return of[PromptRedelivered](), true
	case "session.prompt.reordered":
		return of[PromptReordered](), true
	case "session.prompt.promoted":
		return of[PromptPromoted](), true
	case "session.interrupt.requested":
		return of[InterruptRequested](), true
	case "session.resume.requested":
		return of[ResumeRequested](), true
	case "session.activity.started":
		return of[ActivityStarted](), true
	case "session.activity.suspended":
		return of[ActivitySuspended](), true
	case "session.activity.recovered":
		return of[ActivityRecovered](), true
	case "session.activity.ended":
		return of[ActivityEnded](), true
	case "session.turn.started":
		return of[TurnStarted](turnStarted2), true
	case "session.retry.scheduled":
		return of[RetryScheduled](), true
	case "session.context.initialized":
		return of[ContextInitialized](), true
	case "session.context.replaced":
		return of[ContextReplaced](), true
	case "session.context.updated":
		return of[ContextUpdated](), true
	case "session.step.started":
		return of[StepStarted](), true
	case "session.text.ended":
		return of[TextEnded](), true
	case "session.reasoning.ended":
		return of[ReasoningEnded](), true
	case "session.tool.input.ended":
		return of[ToolInputEnded](), true
	case "session.tool.called":
		return of[ToolCalled](), true
	case "session.tool.success":
		return of[ToolSucceeded](), true
	case "session.tool.failed":
		return of[ToolFailed](), true
	case "session.task.started":
		return of[TaskStarted](), true
	case "session.task.ended":
		return of[TaskEnded](), true
	case "session.step.ended":
		return of[StepEnded](), true
	case "session.step.failed":
		return of[StepFailed](), true
	case "session.permission.asked":
		return of[PermissionAsked](), true
	case "session.permission.replied":
		return of[PermissionReplied](permissionReplied2), true
	case "session.question.asked":
		return of[QuestionAsked](), true
	case "session.question.answered":
		return of[QuestionAnswered](), true
	case "session.question.dismissed":
		return of[QuestionDismissed](), true
	case "session.child.asked":
		return of[ChildAsked](), true
	case "session.child.answered":
		return of[ChildAnswered](), true
	case "host.approval.saved":
		return of[ApprovalSaved](), true
	case "host.approval.removed":
		return of[ApprovalRemoved](), true
	case "host.plugin.staged":
		return of[PluginStaged](), true
	case "host.plugin.held":
		return of[PluginHeld](), true
	case "host.plugin.approved":
		return of[PluginApproved](), true
	case "host.plugin.activated":
		return of[PluginActivated](), true
	case "host.plugin.started":
		return of[PluginStarted](), true
	case "host.plugin.proved":
		return of[PluginProved](), true
	case "host.plugin.faulted":
		return of[PluginFaulted](), true
	case "host.plugin.retired":
		return of[PluginRetired](), true
	case "host.plugin.failed":
		return of[PluginFailed](), true
	case "host.plugin.rolled_back":
		return of[PluginRolledBack](), true
	case "host.plugin.quarantined":
		return of[PluginQuarantined](), true
	case "host.plugin.disabled":
		return of[PluginDisabled](), true
	case "host.plugin.enabled":
		return of[PluginEnabled](), true
	case "host.plugin.removed":
		return of[PluginRemoved](), true
	case "host.folder.trusted":
		return of[FolderTrusted](), true
	case "host.folder.distrusted":
		return of[FolderDistrusted](), true
	}
	return kind{}, false
}

// turnStarted2: version 1 knew no attempts, steps or moves. An empty location fits
// every session.
func turnStarted2(data map[string]json.RawMessage) {
	data["attempt"], data["step"], data["location"], data["epoch"] = raw("1"), data["turn"], raw(`""`), raw("0")
}

// permissionReplied2: version 1 was itself what kept an "always".
func permissionReplied2(data map[string]json.RawMessage) { data["saves"] = raw("true") }

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// Decode answers the payload of a stored event, of any version that was ever
// written. Unknown types and versions are errors: a session is not read in part.
func Decode(event store.Event) (Payload, error) {
	at := func(err error) error {
		return fmt.Errorf("decode %s at sequence %d of %s: %w", event.Type, event.Seq, event.Aggregate, err)
	}
	k, known := kindOf(event.Type)
	switch {
	case !known:
		return nil, at(fmt.Errorf("the event type is not known to this program"))
	case event.Version < 1 || event.Version > k.version():
		return nil, at(fmt.Errorf("version %d is not known to this program, which writes version %d", event.Version, k.version()))
	}
	data := event.Data
	if pending := k.upcasts[event.Version-1:]; len(pending) > 0 {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, at(err)
		}
		if fields == nil {
			return nil, at(errors.New("the data is null; it must be an object"))
		}
		for _, up := range pending {
			up(fields)
		}
		var err error
		if data, err = json.Marshal(fields); err != nil {
			return nil, at(err)
		}
	}
	payload, err := k.decode(data)
	if err != nil {
		return nil, at(err)
	}
	return payload, nil
}
