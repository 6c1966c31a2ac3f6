// Package servertest has a backend in memory for tests of the server and of its
// clients. A test drives it: it appends events, grows streaming parts, prunes and
// settles; nothing happens by itself.
package servertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/store"
)

// Memory is a backend in memory. Its zero value is not usable; see New.
type Memory struct {
	*server.TokenStore

	mu       sync.Mutex
	logID    string
	sessions map[string]*record
	host     *record  // its events
	order    []string // session ids, oldest first
	receipts map[string]protocol.Receipt
	asks     map[string]*ask
	puzzles  map[string]*puzzle
	approved []protocol.Approval
	todos    map[string][]protocol.Todo          // by session
	watchers map[string]map[*store.Wake]struct{} // by session
	plugins  []protocol.Plugin
	trusted  []string // roots of projects
	agents   protocol.AgentList
	blobs    map[string][]byte // by digest
	models   []protocol.Model
	next     int
	failure  error
	left     chan struct{} // receives when a registration ended

	rehearsed []Rehearsed
	watches   []*pluginWatch
}

type record struct {
	session protocol.Session
	events  []protocol.Event
	first   int64
	deleted bool
	open    []protocol.OpenPart
	settled map[string]chan protocol.PromptResult
	grown   map[*store.Wake]struct{}
}

type ask struct {
	protocol.Permission
	answered bool
}

type puzzle struct {
	protocol.Question
	closed bool
}

// New makes an empty backend.
func New() *Memory {
	return &Memory{
		TokenStore: server.NewTokenStore(NewKV(), time.Now),
		logID:      "log_memory", sessions: map[string]*record{}, host: &record{}, receipts: map[string]protocol.Receipt{},
		asks: map[string]*ask{}, puzzles: map[string]*puzzle{}, todos: map[string][]protocol.Todo{}, watchers: map[string]map[*store.Wake]struct{}{},
		blobs: map[string][]byte{},
		left:  make(chan struct{}, 1),
	}
}

// Backend answers the backend the server takes.
func (m *Memory) Backend() server.Backend {
	return server.Backend{
		Sessions: sessions{m}, Prompts: prompts{m}, Waiting: waiting{m}, Reports: reports{m}, Contexts: contexts{m}, Reverts: reverts{m}, Blobs: blobs{m}, Control: control{m}, Life: life{m}, Permissions: permissions{m}, Questions: questions{m},
		Commands: commands{m}, Skills: skills{m}, Shells: shells{m}, Plugins: plugins{m}, Agents: agents{m}, Models: models{m}, Transfers: transfers{m}, Rehearsals: rehearsals{m}, PluginWatches: pluginWatches{m}, Events: events{m}, Deltas: deltas{m}, Access: m.TokenStore, Tokens: m.TokenStore, Ready: m.ready,
	}
}

func (m *Memory) ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failure
}

// Fail makes every read of events and the readiness answer err; nil heals.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failure = err
}

// Restore gives the log another id, as after a restore of the store.
func (m *Memory) Restore(logID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logID = logID
}

// Load adds a plugin to the list.
func (m *Memory) Load(plugin protocol.Plugin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plugins = append(m.plugins, plugin)
}

// OfferAgents sets the agents.
func (m *Memory) OfferAgents(list protocol.AgentList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents = list
}

// Offer adds a model to the list.
func (m *Memory) Offer(model protocol.Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.models = append(m.models, model)
}

// Session makes a session with one event and answers its id.
func (m *Memory) Session() string {
	session, _, err := sessions{m}.Create(context.Background(), server.Caller{Actor: "system"}, protocol.CreateSession{})
	if err != nil {
		panic(err) // a fresh id cannot fail
	}
	return session.ID
}

// Append records an event and pokes who watches. Data is encoded as JSON.
func (m *Memory) Append(session, eventType string, data any) protocol.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.append(session, "system", eventType, data)
}

// append is Append with m.mu held.
func (m *Memory) append(session, actor, eventType string, data any) protocol.Event {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("servertest: encode %s: %v", eventType, err))
	}
	r := m.record(session)
	event := protocol.Event{
		Session: session, Seq: int64(len(r.events)), Type: eventType, Version: 1, ID: m.id("evt_"),
		Time: time.Now().UTC().Truncate(time.Millisecond), Actor: actor, Data: encoded,
	}
	r.events = append(r.events, event)
	r.session.Updated = event.Time
	for wake := range m.watchers[session] {
		wake.Poke()
	}
	return event
}

func (m *Memory) id(prefix string) string {
	m.next++
	return fmt.Sprintf("%s%012x%04xAAAAAAAAAAAAAA", prefix, time.Now().UnixMilli(), m.next)
}

// Head answers the cursor after the session's last event.
func (m *Memory) Head(session string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head(m.record(session))
}

func (m *Memory) head(r *record) string {
	if len(r.events) == 0 {
		return protocol.NewCursor(m.logID, -1, "").String()
	}
	last := r.events[len(r.events)-1]
	return protocol.NewCursor(m.logID, last.Seq, last.ID).String()
}

// Events answers what the session's log holds.
func (m *Memory) Events(session string) []protocol.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]protocol.Event(nil), m.record(session).events...)
}

// Unwatched returns when nobody is registered for commits or growth any more.
func (m *Memory) Unwatched(ctx context.Context) error {
	for m.watching() > 0 {
		select {
		case <-m.left:
		case <-ctx.Done():
			return fmt.Errorf("%d registrations are left: %w", m.watching(), ctx.Err())
		}
	}
	return nil
}

func (m *Memory) watching() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := 0
	for _, watchers := range m.watchers {
		count += len(watchers)
	}
	for _, r := range m.sessions {
		count += len(r.grown)
	}
	return count
}

// Prune removes the events below first.
func (m *Memory) Prune(session string, first int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.record(session).first = first
}

// Delete makes the session a tombstone and pokes who watches.
func (m *Memory) Delete(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[session].deleted = true
	for wake := range m.watchers[session] {
		wake.Poke()
	}
}

// Grow adds text to a streaming part, which it opens.
func (m *Memory) Grow(session, message, part, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions[session]
	defer r.poke()
	for i := range r.open {
		if open := &r.open[i]; open.Message == message && open.Part == part {
			open.Text += text
			return
		}
	}
	r.open = append(r.open, protocol.OpenPart{Message: message, Part: part, Kind: protocol.KindText, Text: text})
}

// EndPart records the event that carries the part whole and closes the part.
func (m *Memory) EndPart(session, message, part string) protocol.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.sessions[session]
	defer r.poke()
	for i, open := range r.open {
		if open.Message == message && open.Part == part {
			event := m.append(session, "system", "session.text.ended", map[string]string{"message": message, "part": part, "text": open.Text})
			r.open = append(r.open[:i:i], r.open[i+1:]...)
			return event
		}
	}
	panic("servertest: no such part is open: " + part)
}

func (r *record) poke() {
	for wake := range r.grown {
		wake.Poke()
	}
}

// Ask opens a permission and answers its id.
func (m *Memory) Ask(session string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.id("per_")
	m.asks[id] = &ask{Permission: protocol.Permission{
		ID: id, SessionID: session, Action: "bash", Resources: []string{"ls"}, Time: time.Now().UTC(),
	}}
	m.append(session, "system", "session.permission.asked", map[string]string{"request": id})
	return id
}

// Question opens a question and answers its id.
func (m *Memory) Question(session string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.id("que_")
	m.puzzles[id] = &puzzle{Question: protocol.Question{ID: id, SessionID: session, Time: time.Now().UTC(),
		Questions: []protocol.QuestionItem{{Text: "Which?", Options: []protocol.QuestionOption{{Label: "this"}, {Label: "that"}}}}}}
	m.append(session, "system", "session.question.asked", map[string]string{"request": id})
	return id
}

// Approve keeps an approval and answers its id.
func (m *Memory) Approve(root, action, resource string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.id("apr_")
	m.approved = append(m.approved, protocol.Approval{ID: id, Root: root, Action: action, Resource: resource, Time: time.Now().UTC()})
	return id
}

// SetTodos replaces the session's list.
func (m *Memory) SetTodos(session string, todos ...protocol.Todo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.todos[session] = todos
	m.append(session, "system", "session.todos.changed", map[string]any{"todos": todos})
}

// Settle ends the wait for a prompt.
func (m *Memory) Settle(session, message string, result protocol.PromptResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[session].settlement(message) <- result
}

func (r *record) settlement(message string) chan protocol.PromptResult {
	if r.settled[message] == nil {
		r.settled[message] = make(chan protocol.PromptResult, 1)
	}
	return r.settled[message]
}

// record is a session's, or the host's.
func (m *Memory) record(id string) *record {
	if id == protocol.HostEvents {
		return m.host
	}
	return m.sessions[id]
}

// find answers a record, with m.mu held.
func (m *Memory) find(id string) (*record, error) {
	r := m.record(id)
	switch {
	case r == nil:
		return nil, protocol.Errorf(protocol.NotFound, "there is no session %q", id)
	case r.deleted:
		return nil, protocol.Errorf(protocol.Gone, "session %q was deleted", id)
	default:
		return r, nil
	}
}

// errSecret is what no client may ever read.
var errSecret = errors.New("the password is hunter2")

// ErrSecret is an error whose text must stay on the server.
func ErrSecret() error { return errSecret }
