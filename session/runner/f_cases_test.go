package runner_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// world is a context that changes while a session lasts.
type world struct {
	*World
	id string

	mu     sync.Mutex
	states map[string]session.SourceState
	asked  map[string]int
}

func newWorld(t *testing.T, options Options) *world {
	w := &world{World: New(t, options), states: map[string]session.SourceState{}, asked: map[string]int{}}
	w.id = w.Create()
	return w
}

// fact is a context source whose state the test sets.
type fact struct {
	*world
	key    string
	schema string // "" for none
}

func (f fact) Keys() []string { return []string{f.key} }

func (f fact) Spec() session.SourceSpec {
	if f.schema == "" {
		return session.SourceSpec{}
	}
	return session.SourceSpec{Schemas: map[string]json.RawMessage{f.key: raw(f.schema)}}
}

func (f fact) Observe(context.Context, session.Observation) ([]session.SourceState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[f.key]++
	return []session.SourceState{f.states[f.key]}, nil
}

// contribute opens a scope with one source per key, named by the key.
func (w *world) contribute(scope, schema string, keys ...string) {
	var all []registry.Contribution
	for _, key := range keys {
		all = append(all, w.Kinds.Contexts.Contribute(key, 0, session.ContextSource(fact{w, key, schema})))
	}
	w.Contribute(scope, all...)
}

// set has the sources say the values; "" is unavailable, "-" absent. A value ending in
// "!" can be removed.
func (w *world) set(keysAndValues ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 0; i < len(keysAndValues); i += 2 {
		key, value := keysAndValues[i], keysAndValues[i+1]
		state := session.SourceState{Key: key, State: session.SourceValue, Value: raw(`"` + value + `"`),
			Baseline: key + " is " + value, Update: key + " is now " + value}
		switch {
		case value == "":
			state = session.SourceState{Key: key, State: session.SourceUnavailable}
		case value == "-":
			state = session.SourceState{Key: key, State: session.SourceAbsent}
		case strings.HasSuffix(value, "!"):
			state.Removed = key + " was " + value
		}
		w.states[key] = state
	}
}

// turn prompts the session, answers, and gives what the request was.
func (w *world) turn(text string) session.ModelRequest {
	w.T.Helper()
	w.Provider.Script(Say("Yes"))
	n := len(w.Provider.Requests())
	w.Prompt(w.id, text, session.Steer)
	idle(w.World, w.id)
	if got := w.Provider.Requests(); len(got) == n+1 {
		return got[n]
	}
	w.T.Fatalf("no request:\n%s", Text(events(w.World, w.id)))
	return session.ModelRequest{}
}

// epoch is the stored one.
func (w *world) epoch() (epoch session.Epoch) {
	w.T.Helper()
	err := w.Log.View(w.T.Context(), func(tx store.Tx) (err error) {
		epoch, err = session.LoadEpoch(w.T.Context(), tx, w.id)
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return epoch
}

func baseline(request session.ModelRequest) string {
	if len(request.System) == 0 {
		return ""
	}
	return request.System[0].Text
}

// compact folds everything so far.
func (w *world) compact() {
	all := events(w.World, w.id)
	put(w.World, w.id, session.CompactionEnded{Message: message(w.World), Reason: session.CompactionManual, Summary: "So far", Boundary: all[len(all)-1].Seq})
}

// The context of a session and its epochs.
func TestContextCases(t *testing.T) {
	Cases(t, "F", []Case{
		{Number: 148, Text: "An epoch begins with the baselines of its sources, joined by an empty line in their order, and keeps the values and the " +
			"texts that take back those that can be removed; each source is asked once.", Run: f148},
		{Number: 149, Text: "A source that must be there and is not keeps the first epoch from beginning: its key is named and nothing is promoted.", Run: f149},
		{Number: 151, Text: "One changed value is told by one system message with that source's update alone.", Run: f151},
		{Number: 152, Text: "Changed, added and removed sources of one boundary are one message: changed ones and the baselines of added ones in " +
			"the order of the sources, then removal texts by key.", Run: f152},
		{Number: 154, Text: "A source that is unavailable and was never told is left out and joins later.", Run: f154},
		{Number: 155, Text: "A source that is gone is taken back in the words that were stored when its value was told.", Run: f155},
		{Number: 157, Text: "A stored value that does not fit its source's schema any more replaces the epoch, from one sample and without an update.", Run: f157},
		{Number: 158, Text: "While an admitted source is unavailable, the epoch is not replaced and nothing of it changes.", Run: f158},
		{Number: 160, Text: "A text that says nothing makes its source unavailable, and the operator is told key and kind.",
			Ours: "One plugin's mistake does not end a turn: the source stays at what was told last, as with any other failure.", Run: f160},
		{Number: 161, Text: "Two contributions that answer for one key are refused when the second is registered, with both their names.", Run: f161},
		{Number: 163, Text: "Sources registered as z and then a are told a first; when the scope of a closes, z alone remains.", Run: f163},
		{Number: 164, Text: "A prompt that is promoted stands before what changed at the same boundary.", Run: f164},
		{Number: 166, Text: "After a restart with other code the stored baseline is sent verbatim.", Run: f166},
		{Number: 167, Text: "A stored snapshot that cannot be decoded fails the activity: nothing is sent and the row stays.", Run: f167},
		{Number: 168, Text: "After a compaction the next turn begins an epoch, and earlier updates are not sent any more.", Run: f168},
		{Number: 169, Text: "While an admitted source is unavailable after a compaction, the old baseline and the updates since then are sent, also those " +
			"older than the compaction.", Run: f169},
	})
}

func f148(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/date", "core/place")
	w.set("core/date", "Monday", "core/place", "here!")
	if got := baseline(w.turn("Hi")); got != "core/date is Monday\n\ncore/place is here!" {
		t.Errorf("baseline %q", got)
	}
	want := session.Snapshot{"core/date": {Value: raw(`"Monday"`), Revision: "r1", Bytes: 19},
		"core/place": {Value: raw(`"here!"`), Removed: "core/place was here!", Revision: "r1", Bytes: 19}}
	if diff := cmp.Diff(want, w.epoch().Snapshot); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"core/date": 1, "core/place": 1}, w.asked); diff != "" {
		t.Errorf("asked %s", diff)
	}
}

func f149(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/date", "core/place")
	w.set("core/date", "", "core/place", "here")
	w.Prompt(w.id, "Hi", session.Steer)
	idle(w.World, w.id)
	if got := ended(w.World, w.id); code(got.Error) != session.FailureContextBlocked || !strings.Contains(got.Error.Message, "core/date") || strings.Contains(got.Error.Message, "core/place") {
		t.Errorf("ended %+v", got)
	}
	if n := len(inbox(w.World, w.id)); n != 1 || len(payloads[session.ContextInitialized](w.World, w.id)) != 0 {
		t.Errorf("%d prompts wait", n)
	}
}

func f151(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/date", "core/place")
	w.set("core/date", "Monday", "core/place", "here")
	w.turn("Hi")
	w.set("core/date", "Tuesday")
	request := w.turn("And now?")
	if diff := cmp.Diff([]string{"core/date is now Tuesday"}, texts(request, session.RoleSystem)); diff != "" {
		t.Error(diff)
	}
	if got := w.epoch().Snapshot["core/date"]; string(got.Value) != `"Tuesday"` {
		t.Errorf("stored %+v", got)
	}
	if got := baseline(request); got != "core/date is Monday\n\ncore/place is here" {
		t.Errorf("baseline %q", got)
	}
}

func f152(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/b", "core/d", "core/e")
	w.contribute("core/gone", "", "core/z", "core/y")
	w.set("core/b", "1", "core/d", "1", "core/e", "1", "core/z", "1!", "core/y", "1!")
	w.turn("Hi")
	w.contribute("core/env", "", "core/e", "core/d", "core/b", "core/c")
	w.set("core/b", "2", "core/d", "2", "core/c", "1", "core/z", "-")
	w.Registries.Remove("core/gone", "")
	want := "core/b is now 2\n\ncore/c is 1\n\ncore/d is now 2\n\ncore/y was 1!\n\ncore/z was 1!"
	if diff := cmp.Diff([]string{want}, texts(w.turn("And now?"), session.RoleSystem)); diff != "" {
		t.Error(diff)
	}
}

func f154(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	w.set("core/a", "1", "acme/x/late", "")
	w.turn("Hi")
	w.contribute("acme/x", "", "acme/x/late")
	if got := w.turn("And?"); len(texts(got, session.RoleSystem)) != 0 || len(w.epoch().Snapshot) != 1 {
		t.Errorf("told %q", texts(got, session.RoleSystem))
	}
	w.set("acme/x/late", "1")
	if diff := cmp.Diff([]string{"acme/x/late is 1"}, texts(w.turn("Now?"), session.RoleSystem)); diff != "" {
		t.Error(diff)
	}
}

func f155(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	w.set("core/a", "1!")
	w.turn("Hi")
	w.set("core/a", "-")
	if diff := cmp.Diff([]string{"core/a was 1!"}, texts(w.turn("And?"), session.RoleSystem)); diff != "" {
		t.Error(diff)
	}
	if n := len(w.epoch().Snapshot); n != 0 {
		t.Errorf("%d keys are stored", n)
	}
	if got := texts(w.turn("Still?"), session.RoleSystem); len(got) != 1 {
		t.Errorf("told again: %q", got)
	}
}

// stale begins an epoch with core/a as a text, and another key, and has the source of
// core/a want a number from now on.
func stale(t *testing.T) *world {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a", "core/b")
	w.set("core/a", "one", "core/b", "1")
	w.turn("Hi")
	w.Contribute("core/env", w.Kinds.Contexts.Contribute("core/a", 0, session.ContextSource(fact{w, "core/a", `{"type":"integer"}`})),
		w.Kinds.Contexts.Contribute("core/b", 0, session.ContextSource(fact{w, "core/b", ""})))
	w.states["core/a"] = session.SourceState{Key: "core/a", State: session.SourceValue, Value: raw(`1`), Baseline: "a is the number 1", Update: "a is now the number 1"}
	clear(w.asked)
	return w
}

func f157(t *testing.T) {
	w := stale(t)
	request := w.turn("And now?")
	if got := baseline(request); got != "a is the number 1\n\ncore/b is 1" || len(texts(request, session.RoleSystem)) != 0 {
		t.Errorf("sent %q and %q", got, texts(request, session.RoleSystem))
	}
	got := only(t, payloads[session.ContextReplaced](w.World, w.id))
	if got.Reason != "the stored value of the source core/a does not fit its schema: got string, want integer" {
		t.Errorf("replaced because %s", got.Reason)
	}
	if diff := cmp.Diff(map[string]int{"core/a": 1, "core/b": 1}, w.asked); diff != "" {
		t.Errorf("asked %s", diff)
	}
}

func f158(t *testing.T) {
	w := stale(t)
	before := w.epoch()
	w.set("core/b", "")
	if got := baseline(w.turn("And now?")); got != "core/a is one\n\ncore/b is 1" {
		t.Errorf("baseline %q", got)
	}
	if diff := cmp.Diff(before, w.epoch()); diff != "" || len(payloads[session.ContextReplaced](w.World, w.id)) != 0 {
		t.Errorf("the epoch changed: %s", diff)
	}
	if got := w.Runner.ContextCounts(); got.Blocked != 1 {
		t.Errorf("counted %+v", got)
	}
}

func f160(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	w.set("core/a", "1")
	w.turn("Hi")
	w.states["core/a"] = session.SourceState{Key: "core/a", State: session.SourceValue, Value: raw(`2`), Baseline: "A", Update: " "}
	if got := w.turn("And now?"); len(texts(got, session.RoleSystem)) != 0 {
		t.Errorf("told %q", texts(got, session.RoleSystem))
	}
	if got := w.Runner.ContextCounts().Sources; len(got) != 2 || got[0].Name != "core/a" || got[0].Unavailable != 1 {
		t.Errorf("counted %+v", got)
	}
}

func f161(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	_, err := w.Registries.Replace(registry.Scope{ID: "acme/x", Contributions: []registry.Contribution{
		w.Kinds.Contexts.Contribute("acme/x", 0, session.ContextSource(Source{Names: []string{"acme/x/b", "core/a"}}))}})
	duplicate, ok := errors.AsType[*registry.DuplicateKeyError](err)
	if !ok || duplicate.Key != "core/a" || duplicate.Scope != "acme/x" || duplicate.Holder != "core/env" {
		t.Errorf("%v", err)
	}
	_, err = w.Registries.Replace(registry.Scope{ID: "host/agent", Contributions: []registry.Contribution{
		w.Kinds.Contexts.Contribute("host/agent", 0, session.ContextSource(Source{Names: []string{session.AgentSource}}))}})
	if err == nil || !strings.Contains(err.Error(), "it is the host's own") {
		t.Errorf("the kernel's own key: %v", err)
	}
}

func f163(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/z", "", "core/z")
	w.contribute("core/a", "", "core/a")
	w.set("core/z", "1", "core/a", "1")
	if got := baseline(w.turn("Hi")); got != "core/a is 1\n\ncore/z is 1" {
		t.Errorf("baseline %q", got)
	}
	w.Registries.Remove("core/a", "")
	if got := baseline(w.turn("And now?")); got != "core/z is 1" {
		t.Errorf("baseline %q", got)
	}
	if got := only(t, payloads[session.ContextReplaced](w.World, w.id)); got.Reason != "the source core/a is gone and left no removal text" {
		t.Errorf("replaced because %s", got.Reason)
	}
	if diff := cmp.Diff(map[string]int{"core/a": 1, "core/z": 2}, w.asked); diff != "" {
		t.Errorf("asked %s", diff)
	}
}

func f164(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	w.set("core/a", "1")
	w.turn("Hi")
	w.set("core/a", "2")
	messages := w.turn("And now?").Messages
	if n := len(messages); messages[n-2].Parts[0].Text != "And now?" || messages[n-1].Parts[0].Text != "core/a is now 2" {
		t.Errorf("sent %+v", messages)
	}
}

func f166(t *testing.T) {
	first := newWorld(t, Options{Agents: builder(func(a *session.Agent) { a.System = "You build." })})
	first.contribute("core/env", "", "core/a")
	first.set("core/a", "1")
	edit := systemEditor("first", func(input session.TransformInput) []session.Edit {
		var edits []session.Edit
		for _, part := range input.System {
			edits = append(edits, session.Edit{Part: session.RequestSystem, Op: session.EditReplace, ID: part.ID, Value: raw(`"` + input.Purpose + ": " + part.Text + `"`)})
		}
		return append(edits, session.Edit{Part: session.RequestSystem, Op: session.EditAppend, ID: "more", Value: raw(`"more"`)})
	})
	first.Contribute("core/edit", first.Kinds.Transforms.Contribute("core/edit/first", 0, edit))
	want := "turn: You build.\n\nturn: core/a is 1\n\nmore"
	if got := baseline(first.turn("Hi")); got != want {
		t.Errorf("baseline %q", got)
	}
	first.Close()

	second := &world{World: New(t, Options{Dir: first.Dir, Agents: builder(func(a *session.Agent) { a.System = "You build." })}),
		id: first.id, states: map[string]session.SourceState{}, asked: map[string]int{}}
	second.contribute("core/env", "", "core/a")
	second.states["core/a"] = session.SourceState{Key: "core/a", State: session.SourceValue, Value: raw(`"1"`), Baseline: "in other words"}
	other := systemEditor("other", func(session.TransformInput) []session.Edit {
		return []session.Edit{{Part: session.RequestSystem, Op: session.EditAppend, ID: "other", Value: raw(`"other"`)}}
	})
	second.Contribute("core/edit", second.Kinds.Transforms.Contribute("core/edit/other", 0, other))
	if got := second.turn("And now?"); baseline(got) != want || len(texts(got, session.RoleSystem)) != 0 {
		t.Errorf("after the restart: %q and %q", baseline(got), texts(got, session.RoleSystem))
	}
}

func f167(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	w.set("core/a", "1")
	w.turn("Hi")
	damage(w, `{"core/a":{"value":`)
	w.Prompt(w.id, "And now?", session.Steer)
	idle(w.World, w.id)
	if got := ended(w.World, w.id); code(got.Error) != session.FailureUndecodable || !strings.Contains(got.Error.Message, "context snapshot") {
		t.Errorf("ended %+v", got)
	}
	if n := len(w.Provider.Requests()); n != 1 || stored(w) != `{"core/a":{"value":` {
		t.Errorf("%d requests, and the row is %s", n, stored(w))
	}
}

// damage puts something else in the place of the stored snapshot, as a disk might.
func damage(w *world, snapshot string) {
	w.T.Helper()
	if _, err := w.database().Exec(`UPDATE epoch SET snapshot = ? WHERE session_id = ?`, snapshot, w.id); err != nil {
		w.T.Fatal(err)
	}
}

func stored(w *world) (snapshot string) {
	w.T.Helper()
	if err := w.database().QueryRow(`SELECT snapshot FROM epoch WHERE session_id = ?`, w.id).Scan(&snapshot); err != nil {
		w.T.Fatal(err)
	}
	return snapshot
}

func (w *world) database() *sql.DB {
	w.T.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(w.Dir, "plinth.db"))
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = db.Close() })
	return db
}

func f168(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	w.set("core/a", "1")
	w.turn("Hi")
	w.set("core/a", "2")
	w.turn("And?")
	w.compact()
	request := w.turn("And now?")
	if got := baseline(request); got != "core/a is 2" || len(texts(request, session.RoleSystem)) != 0 {
		t.Errorf("sent %q and %q", got, texts(request, session.RoleSystem))
	}
	if got := only(t, payloads[session.ContextReplaced](w.World, w.id)); !strings.Contains(got.Reason, "compacted") {
		t.Errorf("replaced because %s", got.Reason)
	}
	if again := w.turn("Once more"); len(payloads[session.ContextReplaced](w.World, w.id)) != 1 || !prefix(request, again) {
		t.Errorf("the next request does not go on from the epoch: %+v", again)
	}
}

func f169(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a", "core/b")
	w.set("core/a", "1", "core/b", "1")
	w.turn("Hi")
	w.set("core/a", "2")
	w.turn("And?")
	w.compact()
	w.set("core/b", "")
	for range 2 {
		request := w.turn("And now?")
		if diff := cmp.Diff([]string{"core/a is now 2"}, texts(request, session.RoleSystem)); diff != "" || baseline(request) != "core/a is 1\n\ncore/b is 1" {
			t.Errorf("sent %q and %s", baseline(request), diff)
		}
	}
	w.set("core/b", "1")
	if request := w.turn("Now?"); len(texts(request, session.RoleSystem)) != 0 || baseline(request) != "core/a is 2\n\ncore/b is 1" {
		t.Errorf("sent %q and %q", baseline(request), texts(request, session.RoleSystem))
	}
}
