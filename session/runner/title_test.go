package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// titled is a session whose first turn has completed, and a titler that knows of it.
func titled(t *testing.T, w *World, model *session.ModelRef) (*runner.Titler, string) {
	t.Helper()
	titler := runner.NewTitler(w.Runner, w.Sessions, model)
	t.Cleanup(titler.Close)
	id := w.Create()
	w.Provider.Script(Say("Done"))
	w.Prompt(id, "please fix the tests", session.Steer)
	w.Settled(id, 1)
	return titler, id
}

// entitle considers the session and waits.
func entitle(t *testing.T, w *World, titler *runner.Titler, id string) session.Session {
	t.Helper()
	titler.Consider(id)
	titler.Wait()
	s, err := w.Sessions.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestATitle(t *testing.T) {
	w := New(t, Options{Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Price: &session.Price{Input: 1000, Output: 2000}}}}})
	w.Contribute("core/header", w.Kinds.Transforms.Contribute("header", 0, marks{}))
	titler, id := titled(t, w, nil)
	w.Provider.Script(Say(" \n**\"Fix the tests\"**\nand more"))
	if got := entitle(t, w, titler, id).Title; got != "Fix the tests" {
		t.Errorf("title %q", got)
	}
	requests := w.Provider.Requests()
	request := requests[len(requests)-1]
	if request.Purpose != session.PurposeTitle || request.Agent != session.AgentTitle || *request.Generation.MaxTokens != 512 ||
		request.Headers["X-Purpose"] != "title" || len(request.Tools) > 0 || request.ToolChoice != "none" ||
		len(request.Messages) != 1 || request.Messages[0].Parts[0].Text != "please fix the tests" {
		t.Errorf("request %+v", request)
	}
	events := w.Await(id, "session.renamed", 1)
	renamed, err := session.Decode(events[len(events)-1])
	if err != nil {
		t.Fatal(err)
	}
	if got := renamed.(session.Renamed); !got.Auto || got.Usage == nil || got.Cost == nil {
		t.Errorf("recorded %+v", got)
	}
	asked := len(requests)
	if entitle(t, w, titler, id); len(w.Provider.Requests()) != asked {
		t.Error("a session with a title was given another")
	}
}

// marks writes the purpose into a header.
type marks struct{}

func (marks) Spec() session.TransformSpec {
	return session.TransformSpec{Name: "marks", Writes: []session.RequestPart{session.RequestHeaders}}
}

func (marks) Apply(_ context.Context, input session.TransformInput) ([]session.Edit, error) {
	value, err := json.Marshal(input.Purpose)
	return []session.Edit{{Part: session.RequestHeaders, Op: session.EditSet, ID: "X-Purpose", Value: value}}, err
}

func TestCleanTitles(t *testing.T) {
	for text, want := range map[string]string{
		"Title: Fix the tests":     "Fix the tests",
		"## Title: «Fix»":          "Fix",
		"'Fix'\r\n":                "Fix",
		"a\tb\u0007 c":             "a b c",
		"\"\"\n---\nThe third":     "The third",
		strings.Repeat("é", 101):   strings.Repeat("é", 99) + "…",
		strings.Repeat("é", 100):   strings.Repeat("é", 100),
		"…":                        "",
		"Don't panic: 'x' or \"y":  "Don't panic: 'x' or \"y",
		"Fix \xff\xfe bytes":       "Fix bytes",
		"Fix session.go:42 (main)": "Fix session.go:42 (main)",
	} {
		w := New(t, Options{})
		titler, id := titled(t, w, nil)
		w.Provider.Script(Say(text))
		if got := entitle(t, w, titler, id).Title; got != want {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// What fails leaves the session as it is, and the next time it is tried again.
func TestTitlesThatFail(t *testing.T) {
	w := New(t, Options{})
	titler, id := titled(t, w, nil)
	for _, failure := range []error{&session.ProviderError{Class: session.ProviderOverloaded, Message: "busy"}, errors.New("broken")} {
		w.Provider.Script(Fail(failure))
		if got := entitle(t, w, titler, id).Title; got != "" {
			t.Errorf("title %q", got)
		}
	}
	w.Provider.Script(Say("At last"))
	if got := entitle(t, w, titler, id).Title; got != "At last" {
		t.Errorf("title %q", got)
	}
}

// Sessions with a title of their own, children, and those over a budget get none.
func TestSessionsThatGetNoTitle(t *testing.T) {
	w := New(t, Options{})
	titler := runner.NewTitler(w.Runner, w.Sessions, nil)
	t.Cleanup(titler.Close)
	parent := w.Create()
	for name, request := range map[string]session.CreateRequest{
		"named":  {Title: "Mine"},
		"child":  {Parent: parent, Depth: 1},
		"budget": {Budgets: []session.Budget{{Turns: 1, Per: session.PerSession, Action: session.BudgetAsk}}},
	} {
		request.Directory = "/work"
		s, _, err := w.Sessions.Create(t.Context(), session.System(), request)
		if err != nil {
			t.Fatal(err)
		}
		w.Provider.Script(Say("Done"))
		w.Prompt(s.ID, "hello", session.Steer)
		w.Settled(s.ID, 1)
		asked := len(w.Provider.Requests())
		if got := entitle(t, w, titler, s.ID).Title; got != request.Title || len(w.Provider.Requests()) != asked {
			t.Errorf("%s: title %q, %d requests", name, got, len(w.Provider.Requests())-asked)
		}
	}
	idle := w.Create()
	if got := entitle(t, w, titler, idle).Title; got != "" {
		t.Errorf("nothing was said and it is %q", got)
	}
}

// A name that a person gives while the model thinks stays.
func TestATitleThatComesTooLate(t *testing.T) {
	w := New(t, Options{})
	_, id := titled(t, w, nil)
	if err := w.Sessions.NameUntitled(t.Context(), id, session.Renamed{Title: "Mine"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Sessions.NameUntitled(t.Context(), id, session.Renamed{Title: "Late", Auto: true}); err != nil {
		t.Fatal(err)
	}
	if s, err := w.Sessions.Get(t.Context(), id); err != nil || s.Title != "Mine" {
		t.Errorf("%q, %v", s.Title, err)
	}
}

// hanging answers nothing until the request ends.
type hanging struct{ asked chan struct{} }

func (h hanging) Stream(ctx context.Context, _ session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		h.asked <- struct{}{}
		<-ctx.Done()
		yield(session.ModelEvent{}, context.Cause(ctx))
	}
}

// Titles are asked of a model of their own, so many at a time, and Close gives them up.
func TestTitlesAreBounded(t *testing.T) {
	w := New(t, Options{})
	provider := hanging{make(chan struct{}, 100)}
	w.Contribute("core/hanging", w.Kinds.Providers.Contribute("hanging", 0, provider))
	titler := runner.NewTitler(w.Runner, w.Sessions, &session.ModelRef{Provider: "hanging", Model: "m"})
	var ids []string
	for range 10 {
		id := w.Create()
		w.Provider.Script(Say("Done"))
		w.Prompt(id, "hello", session.Steer)
		w.Settled(id, 1)
		ids = append(ids, id)
	}
	for _, id := range ids {
		titler.Consider(id)
		titler.Consider(id) // once for each
	}
	for range 8 {
		<-provider.asked
	}
	titler.Close()
	titler.Close()
	titler.Consider(ids[9])
	titler.Wait()
	if got := len(provider.asked); got != 0 {
		t.Errorf("%d more were asked for", got)
	}
	if s, err := w.Sessions.Get(t.Context(), ids[0]); err != nil || s.Title != "" {
		t.Errorf("%q, %v", s.Title, err)
	}
}

func TestOnlyCompletedActivitiesAreTold(t *testing.T) {
	w := New(t, Options{})
	var told []string
	w.Runner.Completed = func(id string) { told = append(told, id) }
	id := w.Create()
	w.Provider.Script(Fail(errors.New("broken")), Say("Done"))
	for i := range 2 {
		w.Prompt(id, "hello", session.Steer)
		w.Settled(id, i+1)
		if err := w.Coordinator.Settle(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{id}, told); diff != "" {
		t.Error(diff)
	}
}
