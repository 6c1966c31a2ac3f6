package servertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/store"
)

type sessions struct{ *Memory }

func (m sessions) Create(_ context.Context, caller server.Caller, request protocol.CreateSession) (protocol.Session, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return protocol.Session{}, false, m.failure
	}
	if r := m.sessions[request.ID]; r != nil {
		return r.session, false, nil
	}
	if request.ID == "" {
		request.ID = m.id("ses_")
	}
	now := time.Now().UTC()
	r := &record{
		session: protocol.Session{ID: request.ID, Title: request.Title, Location: request.Location, Status: protocol.StatusIdle, Created: now},
		settled: map[string]chan protocol.PromptResult{}, grown: map[*store.Wake]struct{}{},
	}
	m.sessions[request.ID] = r
	m.order = append(m.order, request.ID)
	m.append(request.ID, caller.Actor, "session.created", map[string]string{"title": request.Title, "key": caller.Key, "trace": caller.Trace})
	r.session.Cursor = m.head(r)
	return r.session, true, nil
}

func (m sessions) Get(_ context.Context, id string) (protocol.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(id)
	if err != nil {
		return protocol.Session{}, err
	}
	session := r.session
	session.Cursor = m.head(r)
	return session, nil
}

func (m sessions) List(_ context.Context, request protocol.ListSessions) (protocol.SessionList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list protocol.SessionList
	after := request.Cursor == ""
	for _, id := range slices.Backward(m.order) {
		switch r := m.sessions[id]; {
		case !after:
			after = id == request.Cursor
		case r.deleted || !strings.Contains(r.session.Title, request.Text):
		case len(list.Sessions) == request.Limit:
			list.Next = list.Sessions[len(list.Sessions)-1].ID
			return list, nil
		default:
			list.Sessions = append(list.Sessions, r.session)
		}
	}
	return list, nil
}

func (m sessions) Messages(_ context.Context, session string, request protocol.ListMessages) (protocol.MessageList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.MessageList{}, err
	}
	list := protocol.MessageList{Cursor: m.head(r)}
	for _, event := range r.events {
		if event.Type != "session.prompt.promoted" || (request.After != nil && event.Seq <= *request.After) {
			continue
		}
		if list.More = len(list.Messages) == request.Limit; list.More {
			break
		}
		list.Messages = append(list.Messages, protocol.Message{ID: event.ID, Type: protocol.MessageUser, Seq: event.Seq, Text: string(event.Data)})
	}
	return list, nil
}

type prompts struct{ *Memory }

func (m prompts) Admit(_ context.Context, caller server.Caller, session string, prompt protocol.Prompt) (protocol.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.Receipt{}, err
	}
	if prompt.Text == "" {
		return protocol.Receipt{}, protocol.Errorf(protocol.BadRequest, "text is empty")
	}
	if prompt.ID == "" {
		prompt.ID = m.id("msg_")
	}
	if prompt.Delivery == "" {
		prompt.Delivery = protocol.Steer
	}
	if known, ok := m.receipts[prompt.ID]; ok {
		if known.SessionID != session || known.Prompt.Text != prompt.Text || known.Delivery != prompt.Delivery {
			return protocol.Receipt{}, protocol.Errorf(protocol.Conflict, "message %s exists with another prompt", prompt.ID)
		}
		return known, nil
	}
	event := m.append(session, caller.Actor, "session.prompt.admitted", map[string]string{"message": prompt.ID, "text": prompt.Text})
	receipt := protocol.Receipt{
		ID: prompt.ID, SessionID: session, Delivery: prompt.Delivery, AdmittedSeq: event.Seq, Time: event.Time,
		Prompt: prompt.PromptBody, Cursor: m.head(r),
	}
	m.receipts[prompt.ID] = receipt
	return receipt, nil
}

func (m prompts) Wait(ctx context.Context, session, message string) (protocol.PromptResult, error) {
	m.mu.Lock()
	settled := m.sessions[session].settlement(message)
	m.mu.Unlock()
	select {
	case result := <-settled:
		return result, nil
	case <-ctx.Done():
		return protocol.PromptResult{}, context.Cause(ctx)
	}
}

func (m prompts) Inbox(_ context.Context, session string) (protocol.Inbox, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.Inbox{}, err
	}
	inbox := protocol.Inbox{Cursor: m.head(r)}
	for _, receipt := range m.receipts {
		if receipt.SessionID == session && receipt.CancelledSeq == nil {
			inbox.Pending = append(inbox.Pending, receipt)
		}
	}
	slices.SortFunc(inbox.Pending, func(a, b protocol.Receipt) int { return int(a.AdmittedSeq - b.AdmittedSeq) })
	return inbox, nil
}

type blobs struct{ *Memory }

func (m blobs) Put(_ context.Context, value []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return "", m.failure
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(value))
	m.blobs[digest] = bytes.Clone(value)
	return digest, nil
}

// Blob answers what was uploaded, nil for nothing.
func (m *Memory) Blob(digest string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blobs[digest]
}

type control struct{ *Memory }

func (m control) command(caller server.Caller, session, eventType string) (protocol.CommandReceipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.CommandReceipt{}, err
	}
	event := m.append(session, caller.Actor, eventType, map[string]string{"key": caller.Key})
	return protocol.CommandReceipt{SessionID: session, Seq: &event.Seq, Cursor: m.head(r)}, nil
}

func (m control) Interrupt(_ context.Context, caller server.Caller, session string) (protocol.CommandReceipt, error) {
	return m.command(caller, session, "session.interrupt.requested")
}

// Resume waits, as a drain does, until the prompt "resume" is settled.
func (m control) Resume(ctx context.Context, caller server.Caller, session string) (protocol.CommandReceipt, error) {
	receipt, err := m.command(caller, session, "session.resumed")
	if err != nil {
		return receipt, err
	}
	if _, err := prompts(m).Wait(ctx, session, "resume"); err != nil {
		return protocol.CommandReceipt{}, err
	}
	return receipt, nil
}

func (m control) Compact(_ context.Context, caller server.Caller, session string) (protocol.CommandReceipt, error) {
	return m.command(caller, session, "session.compaction.requested")
}

func (m control) Change(_ context.Context, caller server.Caller, session string, change protocol.ChangeSession) (protocol.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.Session{}, err
	}
	if change.Agent != "" {
		r.session.Agent = change.Agent
	}
	if change.Model != nil {
		r.session.Model = change.Model
	}
	if change.Rules != nil {
		r.session.Rules = *change.Rules
	}
	if change.Budgets != nil {
		r.session.Budgets = *change.Budgets
	}
	if change.Title != nil {
		r.session.Title = *change.Title
	}
	if change.Retention != nil {
		r.session.Retention = change.Retention
	}
	m.append(session, caller.Actor, "session.changed", map[string]string{"key": caller.Key})
	changed := r.session
	changed.Cursor = m.head(r)
	return changed, nil
}

func (m control) Move(_ context.Context, caller server.Caller, session string, move protocol.MoveSession) (protocol.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.Session{}, err
	}
	r.session.Location = move.Location
	m.append(session, caller.Actor, "session.moved", map[string]string{"key": caller.Key})
	moved := r.session
	moved.Cursor = m.head(r)
	return moved, nil
}

type reports struct{ *Memory }

func (m reports) Children(_ context.Context, session string) (protocol.SessionList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(session); err != nil {
		return protocol.SessionList{}, err
	}
	var list protocol.SessionList
	for _, id := range m.order {
		if child := m.sessions[id].session; child.Parent == session {
			list.Sessions = append(list.Sessions, child)
		}
	}
	return list, nil
}

func (m reports) Usage(_ context.Context, session string) (protocol.SessionUsage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.SessionUsage{}, err
	}
	return protocol.SessionUsage{SessionID: session, Turns: int64(len(r.events)), Cursor: m.head(r)}, nil
}

type contexts struct{ *Memory }

func (m contexts) Report(_ context.Context, session string) (protocol.ContextReport, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.ContextReport{}, err
	}
	return protocol.ContextReport{SessionID: session, Window: 1000, Cursor: m.head(r)}, nil
}

func (m contexts) Metrics(context.Context) (protocol.ContextMetrics, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return protocol.ContextMetrics{Baselines: int64(len(m.sessions))}, nil
}

type waiting struct{ *Memory }

func (m waiting) Cancel(_ context.Context, caller server.Caller, session, id string) (protocol.Receipt, error) {
	return m.revise(caller, session, id, "session.prompt.cancelled", func(receipt *protocol.Receipt, seq int64) {
		receipt.CancelledSeq = &seq
	})
}

func (m waiting) Change(_ context.Context, caller server.Caller, session, id string, change protocol.ChangePrompt) (protocol.Receipt, error) {
	return m.revise(caller, session, id, "session.prompt.edited", func(receipt *protocol.Receipt, _ int64) {
		if change.Prompt != nil {
			receipt.Prompt = *change.Prompt
		}
		if change.Delivery != "" {
			receipt.Delivery = change.Delivery
		}
	})
}

func (m waiting) revise(caller server.Caller, session, id, eventType string, change func(receipt *protocol.Receipt, seq int64)) (protocol.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.Receipt{}, err
	}
	receipt, ok := m.receipts[id]
	switch {
	case !ok || receipt.SessionID != session:
		return protocol.Receipt{}, protocol.Errorf(protocol.NotFound, "there is no prompt %q", id)
	case receipt.CancelledSeq != nil:
		return protocol.Receipt{}, protocol.Errorf(protocol.Conflict, "the prompt was cancelled")
	}
	event := m.append(session, caller.Actor, eventType, map[string]string{"message": id, "key": caller.Key})
	change(&receipt, event.Seq)
	receipt.Cursor = m.head(r)
	m.receipts[id] = receipt
	return receipt, nil
}

type permissions struct{ *Memory }

func (m permissions) List(_ context.Context, session string) (protocol.PermissionList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list protocol.PermissionList
	for _, ask := range m.asks {
		if !ask.answered && (session == "" || ask.SessionID == session) {
			list.Permissions = append(list.Permissions, ask.Permission)
		}
	}
	slices.SortFunc(list.Permissions, func(a, b protocol.Permission) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

func (m permissions) Reply(_ context.Context, caller server.Caller, id string, reply protocol.PermissionReply) (protocol.PermissionReceipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ask := m.asks[id]
	if ask == nil {
		return protocol.PermissionReceipt{}, protocol.Errorf(protocol.NotFound, "there is no permission %q", id)
	}
	if ask.answered {
		return protocol.PermissionReceipt{}, protocol.Errorf(protocol.AlreadyResolved, "the permission was answered before")
	}
	ask.answered = true
	m.append(ask.SessionID, caller.Actor, "session.permission.replied", map[string]string{"request": id, "reply": string(reply.Reply)})
	return protocol.PermissionReceipt{ID: id, SessionID: ask.SessionID, Reply: reply.Reply, Cursor: m.head(m.sessions[ask.SessionID])}, nil
}

type models struct{ *Memory }

func (m models) List(_ context.Context, request protocol.ListModels) (protocol.ModelList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list protocol.ModelList
	for _, model := range m.models {
		if request.Provider == "" || request.Provider == model.Provider {
			list.Models = append(list.Models, model)
		}
	}
	if request.Refresh {
		list.Warnings = []string{"nobody was asked"}
	}
	return list, m.failure
}

func (m permissions) Approvals(_ context.Context, root string) (protocol.ApprovalList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list protocol.ApprovalList
	for _, approval := range m.approved {
		if root == "" || approval.Root == root {
			list.Approvals = append(list.Approvals, approval)
		}
	}
	return list, nil
}

func (m permissions) RemoveApproval(_ context.Context, _ server.Caller, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.approved, func(a protocol.Approval) bool { return a.ID == id })
	if at < 0 {
		return protocol.Errorf(protocol.NotFound, "there is no approval %q", id)
	}
	m.approved = slices.Delete(m.approved, at, at+1)
	return nil
}

type questions struct{ *Memory }

func (m questions) List(_ context.Context, session string) (protocol.QuestionList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list protocol.QuestionList
	for _, question := range m.puzzles {
		if !question.closed && (session == "" || question.SessionID == session) {
			list.Questions = append(list.Questions, question.Question)
		}
	}
	slices.SortFunc(list.Questions, func(a, b protocol.Question) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

func (m questions) Answer(_ context.Context, caller server.Caller, id string, answer protocol.QuestionAnswer) (protocol.QuestionReceipt, error) {
	return m.close(caller, id, "session.question.answered", answer.Answers)
}

func (m questions) Dismiss(_ context.Context, caller server.Caller, id string) (protocol.QuestionReceipt, error) {
	return m.close(caller, id, "session.question.dismissed", nil)
}

func (m questions) close(caller server.Caller, id, eventType string, answers [][]string) (protocol.QuestionReceipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	question := m.puzzles[id]
	switch {
	case question == nil:
		return protocol.QuestionReceipt{}, protocol.Errorf(protocol.NotFound, "there is no question %q", id)
	case question.closed:
		return protocol.QuestionReceipt{}, protocol.Errorf(protocol.AlreadyResolved, "the question was closed before")
	case answers == nil && eventType == "session.question.answered":
		return protocol.QuestionReceipt{}, protocol.Errorf(protocol.BadRequest, "there are no answers")
	}
	question.closed = true
	m.append(question.SessionID, caller.Actor, eventType, map[string]any{"request": id, "answers": answers})
	return protocol.QuestionReceipt{ID: id, SessionID: question.SessionID, Dismissed: answers == nil, Cursor: m.head(m.sessions[question.SessionID])}, nil
}

func (m questions) Todos(_ context.Context, session string) (protocol.TodoList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.TodoList{}, err
	}
	return protocol.TodoList{Todos: slices.Clone(m.todos[session]), Cursor: m.head(r)}, nil
}

type agents struct{ *Memory }

func (m agents) List(context.Context, protocol.In) (protocol.AgentList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.agents, m.failure
}

type events struct{ *Memory }

func (m events) LogID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.logID
}

func (m events) Read(ctx context.Context, session string, after int64, limit int) (server.EventPage, error) {
	if ctx.Err() != nil {
		return server.EventPage{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return server.EventPage{}, m.failure
	}
	r, err := m.find(session)
	if err != nil {
		return server.EventPage{}, err
	}
	page := server.EventPage{Head: int64(len(r.events)) - 1, First: r.first}
	if after+1 < r.first {
		return page, nil
	}
	rest := r.events[min(after+1, int64(len(r.events))):]
	page.More = len(rest) > limit
	for _, event := range rest[:min(limit, len(rest))] {
		event.Data = json.RawMessage(slices.Clone(event.Data))
		page.Events = append(page.Events, event)
	}
	return page, nil
}

func (m events) Watch(session string) server.Wake {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watchers[session] == nil {
		m.watchers[session] = map[*store.Wake]struct{}{}
	}
	return m.register(m.watchers[session])
}

// register adds a wake to the set, with m.mu held.
func (m *Memory) register(set map[*store.Wake]struct{}) *store.Wake {
	var wake *store.Wake
	wake = store.NewWake(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(set, wake)
		select {
		case m.left <- struct{}{}:
		default:
		}
	})
	set[wake] = struct{}{}
	return wake
}

type deltas struct{ *Memory }

func (m deltas) Watch(session string) server.Wake {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.register(m.sessions[session].grown)
}

func (m deltas) Open(session string) []protocol.OpenPart {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sessions[session].open)
}
