package main

import (
	"encoding/json"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
)

func instant(milliseconds int64) time.Time { return time.UnixMilli(milliseconds).UTC() }

func instantOrNil(milliseconds int64) *time.Time {
	if milliseconds == 0 {
		return nil
	}
	at := instant(milliseconds)
	return &at
}

func wireModel(model session.ModelRef) *protocol.ModelRef {
	return &protocol.ModelRef{Provider: model.Provider, Model: model.Model, Variant: model.Variant}
}

func kernelModel(model *protocol.ModelRef) *session.ModelRef {
	if model == nil {
		return nil
	}
	return &session.ModelRef{Provider: model.Provider, Model: model.Model, Variant: model.Variant}
}

// shown is what is told of a session beside its own row.
type shown struct {
	item     view.Item
	status   protocol.Status
	activity *session.Activity
	totals   session.Totals
}

func wireSession(s session.Session, with shown) protocol.Session {
	usage := protocol.Usage(with.totals.Usage)
	wire := protocol.Session{
		Parent: s.Parent, Activity: wireActivity(with.activity), Usage: &usage, Rules: wireRules(s.Rules), Budgets: wireBudgets(s.Budgets),
		Slug: s.Slug, Archived: instantOrNil(s.Archived), Fork: wireFork(s.Fork), Retention: wireRetention(s.Retention),
		ID: s.ID, Title: s.Title, Agent: s.Agent, Model: wireModel(s.Model), Status: with.status,
		Location: protocol.Location{Directory: s.Location.Directory, Root: s.Location.Root, Git: s.Location.Git},
		Revert:   wireRevert(s.Revert), Unrestored: s.Unrestored, Changes: wireChanges(s.Changes),
		Created: instant(s.Created), Updated: instant(max(s.Created, with.item.Updated)),
	}
	if wire.Title == "" {
		wire.Title = with.item.Preview
	}
	return wire
}

func wireActivity(activity *session.Activity) *protocol.Activity {
	if activity == nil {
		return nil
	}
	wire := &protocol.Activity{ID: activity.ID, State: protocol.ActivityState(activity.State), Reason: protocol.SuspendReason(activity.Reason), Turns: activity.Turns}
	if n := len(activity.Retries); n > 0 {
		retry := wireRetry(activity.Retries[n-1])
		wire.Retry = &retry
	}
	return wire
}

func wireRetry(retry session.Retry) protocol.Retry {
	return protocol.Retry{Attempt: retry.Attempt, Time: instant(retry.At), Error: wireFailure(&retry.Error)}
}

func wireRules(rules []session.Rule) (wire []protocol.Rule) {
	for _, rule := range rules {
		wire = append(wire, protocol.Rule{Action: rule.Action, Resource: rule.Resource, Effect: protocol.Effect(rule.Effect)})
	}
	return wire
}

func kernelRules(rules []protocol.Rule) (kernel []session.Rule) {
	for _, rule := range rules {
		kernel = append(kernel, session.Rule{Action: rule.Action, Resource: rule.Resource, Effect: session.Effect(rule.Effect)})
	}
	return kernel
}

func wireBudgets(budgets []session.Budget) (wire []protocol.Budget) {
	for _, b := range budgets {
		wire = append(wire, protocol.Budget{Tokens: b.Tokens, CostNano: b.CostNano, Turns: b.Turns, Per: string(b.Per), Action: string(b.Action)})
	}
	return wire
}

func kernelBudgets(budgets []protocol.Budget) (kernel []session.Budget) {
	for _, b := range budgets {
		kernel = append(kernel, session.Budget{Tokens: b.Tokens, CostNano: b.CostNano, Turns: b.Turns,
			Per: session.BudgetSpan(b.Per), Action: session.BudgetAction(b.Action)})
	}
	return kernel
}

func kernelPrompt(p protocol.PromptBody) session.Prompt {
	prompt := session.Prompt{
		Text: p.Text, Agent: p.Agent, Model: kernelModel(p.Model), Variant: p.Variant, System: p.System, Tools: p.Tools,
		Format: json.RawMessage(p.Format), Metadata: json.RawMessage(p.Metadata),
	}
	for _, file := range p.Files {
		prompt.Files = append(prompt.Files, session.PromptFile{Blob: file.Blob, Path: file.Path, Mime: file.Mime, Name: file.Name, Source: kernelSource(file.Source)})
	}
	for _, agent := range p.Agents {
		prompt.Agents = append(prompt.Agents, session.PromptAgent{Name: agent.Name, Source: kernelSource(agent.Source)})
	}
	for _, reference := range p.References {
		prompt.References = append(prompt.References, session.PromptRef{Name: reference.Name, Path: reference.Path,
			Description: reference.Description, Source: kernelSource(reference.Source)})
	}
	for _, note := range p.Notes {
		prompt.Notes = append(prompt.Notes, session.PromptNote{Kind: note.Kind, Text: note.Text, Failed: note.Failed, Source: kernelSource(note.Source)})
	}
	return prompt
}

func kernelSource(source *protocol.Source) *session.PromptSource {
	if source == nil {
		return nil
	}
	return &session.PromptSource{Start: source.Start, End: source.End, Text: source.Text}
}

func wirePrompt(p session.Prompt) protocol.PromptBody {
	body := protocol.PromptBody{Text: p.Text, Agent: p.Agent, Variant: p.Variant, System: p.System, Tools: p.Tools,
		Format: protocol.Raw(p.Format), Metadata: protocol.Raw(p.Metadata)}
	if p.Model != nil {
		body.Model = wireModel(*p.Model)
	}
	for _, file := range p.Files {
		body.Files = append(body.Files, wireFile(file))
	}
	for _, agent := range p.Agents {
		body.Agents = append(body.Agents, protocol.Mention{Name: agent.Name, Source: wireSource(agent.Source)})
	}
	for _, reference := range p.References {
		body.References = append(body.References, protocol.Mention{Name: reference.Name, Path: reference.Path,
			Description: reference.Description, Source: wireSource(reference.Source)})
	}
	for _, note := range p.Notes {
		body.Notes = append(body.Notes, protocol.Note{Kind: note.Kind, Text: note.Text, Failed: note.Failed, Source: wireSource(note.Source)})
	}
	return body
}

func wireFile(file session.PromptFile) protocol.File {
	return protocol.File{Blob: file.Blob, Path: file.Path, Mime: file.Mime, Name: file.Name, Source: wireSource(file.Source)}
}

func wireSource(source *session.PromptSource) *protocol.Source {
	if source == nil {
		return nil
	}
	return &protocol.Source{Start: source.Start, End: source.End, Text: source.Text}
}

func wireReceipt(input session.Input, cursor string) protocol.Receipt {
	return protocol.Receipt{
		ID: input.ID, SessionID: input.Session, Delivery: protocol.Delivery(input.Delivery), AdmittedSeq: input.Admitted,
		PromotedSeq: input.Promoted, CancelledSeq: input.Cancelled, Synthetic: input.Synthetic, Time: instant(input.Created), Prompt: wirePrompt(input.Prompt), Cursor: cursor,
	}
}

func wireFailure(failure *session.Failure) *protocol.Failure {
	if failure == nil {
		return nil
	}
	return &protocol.Failure{Code: failure.Code, Message: failure.Message, Status: failure.Status, Retryable: failure.Retryable}
}

func wirePermission(p session.Permission, cursor string) protocol.Permission {
	return protocol.Permission{ID: p.Request, SessionID: p.Session, Action: p.Ask.Action, Resources: p.Ask.Resources, Save: p.Ask.Save,
		Plugin: p.Ask.Plugin, Agent: p.Agent, Message: p.Message, CallID: p.Call, Time: instant(p.Asked), Cursor: cursor}
}

func wireQuestion(q session.QuestionRequest, cursor string) protocol.Question {
	wire := protocol.Question{ID: q.Request, SessionID: q.Session, Agent: q.Agent, Message: q.Message, CallID: q.Call,
		Questions: make([]protocol.QuestionItem, len(q.Questions)), Time: instant(q.Asked), Cursor: cursor}
	for i, asked := range q.Questions {
		item := protocol.QuestionItem{Header: asked.Header, Text: asked.Text, Multiple: asked.Multiple, Custom: asked.Custom}
		for _, option := range asked.Options {
			item.Options = append(item.Options, protocol.QuestionOption(option))
		}
		wire.Questions[i] = item
	}
	return wire
}

func wireEvent(e store.Event) protocol.Event {
	return protocol.Event{Session: e.Aggregate, Seq: e.Seq, Type: e.Type, Version: e.Version, ID: e.ID, Time: e.Time, Actor: e.Actor,
		Cause: e.Cause, Data: json.RawMessage(e.Data)}
}
