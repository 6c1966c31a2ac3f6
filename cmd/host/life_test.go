package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// shown is the session as the command line has it.
func (r *rig) shownSession(name string) (s protocol.Session) {
	r.t.Helper()
	printed, err := r.command("sessions", "show", name, "--json")
	if err != nil {
		r.t.Fatal(err)
	}
	r.unmarshal([]byte(printed), &s)
	return s
}

// transcribed is the transcript that a client makes of a session's events.
func (r *rig) transcribed(id string) []protocol.Message {
	r.t.Helper()
	var transcript client.Transcript
	for update, err := range r.client().Follow(r.within(), id, client.FollowOptions{}) {
		switch {
		case err != nil:
			r.t.Fatal(err)
		case update.Live:
			return transcript.Messages
		case update.Event != nil:
			if err := transcript.Event(*update.Event); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return nil
}

// A client that follows has the transcript that the host answers.
func (r *rig) expectTranscript(id string) []protocol.Message {
	r.t.Helper()
	page, err := r.client().Messages(r.within(), id, protocol.ListMessages{Limit: 200})
	if err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(page.Messages, r.transcribed(id), cmp.Comparer(func(a, b protocol.Raw) bool { return string(a) == string(b) })); diff != "" {
		r.t.Errorf("transcript of %s (-host +client):\n%s", id, diff)
	}
	return page.Messages
}

func TestNamesAndArchive(t *testing.T) {
	r := newRig(t)
	id := r.session()
	slug := r.shownSession(id).Slug
	if !strings.Contains(slug, "-") {
		t.Fatalf("the slug is %q", slug)
	}
	if _, err := r.command("sessions", "rename", slug, "  The release notes "); err != nil {
		t.Fatal(err)
	}
	if s := r.shownSession(slug); s.ID != id || s.Title != "The release notes" || s.Archived != nil {
		t.Errorf("%+v", s)
	}
	listed := func(args ...string) bool {
		t.Helper()
		printed, err := r.command(append([]string{"sessions"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(printed, id+"  "+slug)
	}
	if !listed() || !listed("--text", "release") {
		t.Error("the session is not listed")
	}
	for range 2 {
		if _, err := r.command("sessions", "archive", slug); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.shownSession(slug); listed() || !listed("--archived") || s.Archived == nil {
		t.Errorf("archived, it is listed, or is not when asked for: %+v", s)
	}
	if _, err := r.command("sessions", "unarchive", slug); err != nil || !listed() {
		t.Errorf("%v, listed %v", err, listed())
	}
	if _, err := r.command("sessions", "retention", slug, "days", "30"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&protocol.Retention{Keep: "days", Days: 30}, r.shownSession(slug).Retention); diff != "" {
		t.Error(diff)
	}
	for want, args := range map[string][]string{
		`there is no session "no-such"`:  {"sessions", "show", "no-such"},
		"title is empty":                 {"sessions", "rename", slug, " "},
		"title has 201 characters":       {"sessions", "rename", slug, strings.Repeat("ö", 201)},
		"it is one line":                 {"sessions", "rename", slug, "a\nb"},
		`retention.keep is "none"`:       {"sessions", "retention", slug, "none"},
		"retention.days is 0":            {"sessions", "retention", slug, "days", "0"},
		"write all, compaction, or days": {"sessions", "retention", slug, "days"},
		`"x" is not a number of days`:    {"sessions", "retention", slug, "days", "x"},
		"give --yes":                     {"sessions", "remove", slug},
		"message msg_x: not found":       {"sessions", "fork", id, "--message", "msg_x"},
		"title is empty; give 1 to 200":  {"sessions", "fork", id, "--title", ""},
	} {
		if _, err := r.command(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	status, body := r.http(request{path: "/v1/sessions/" + id + "/fork", body: `{"id":"` + id + `"}`})
	if status != http.StatusConflict || !strings.Contains(string(body), "stands for another session already") {
		t.Errorf("a fork under its parent's id: %d %s", status, body)
	}
}

func TestForkAndRemove(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.settled(id, "count 2")
	r.settled(id, "count 3")
	first := r.expectTranscript(id)[1]
	for _, args := range [][]string{{"sessions", "fork", id, "--json"}, {"sessions", "fork", id, "--message", first.ID, "--json"}} {
		printed, err := r.command(args...)
		if err != nil {
			t.Fatal(err)
		}
		var fork protocol.Session
		r.unmarshal([]byte(printed), &fork)
		if fork.Fork == nil || fork.Fork.SessionID != id || fork.Usage.Input != 0 {
			t.Errorf("%+v", fork)
		}
		messages := r.expectTranscript(fork.ID)
		if want := map[bool]int{true: 2, false: 4}[len(args) > 4]; len(messages) != want {
			t.Errorf("%v has %d messages, want %d", args, len(messages), want)
		}
		r.settled(fork.ID, "count 1")
		r.expectTranscript(fork.ID)
	}

	old := r.shownSession(id)
	printed, err := r.command("sessions", "remove", old.Slug, "--yes")
	if err != nil || strings.TrimSpace(printed) != id {
		t.Errorf("removed %q, %v", printed, err)
	}
	for _, args := range [][]string{{"sessions", "show", id}, {"sessions", "usage", id}, {"inbox", id}, {"sessions", "rename", id, "x"}, {"sessions", "fork", id}, {"sessions", "prune", id},
		{"sessions", "share", id}, {"sessions", "export", id}, {"sessions", "shell", id, "--", "true"}} {
		if _, err := r.command(args...); err == nil || !strings.Contains(err.Error(), "deleted") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if status, body := r.http(request{method: http.MethodDelete, path: "/v1/sessions/" + id}); status != http.StatusOK || strings.TrimSpace(string(body)) != `{"sessions":[]}` {
		t.Errorf("again: %d %s", status, body)
	}
	if status, _ := r.http(request{method: http.MethodDelete, path: "/v1/sessions/" + none}); status != http.StatusNotFound {
		t.Errorf("an unknown session: %d", status)
	}
	r.restart()
	if status, _ := r.http(request{path: "/v1/sessions/" + id, method: http.MethodGet}); status != http.StatusGone {
		t.Errorf("after a restart: %d", status)
	}
	if list, err := r.client().Sessions(r.within(), protocol.ListSessions{}); err != nil || len(list.Sessions) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A pruned session is followed anew, and goes on.
func TestPruning(t *testing.T) {
	r := newRig(t)
	id := r.session()
	for range 3 {
		r.settled(id, "count 2")
	}
	r.idle(id)
	messages := r.expectTranscript(id)
	r.record(id, session.CompactionEnded{Message: "msg_0123456789abcdefAAAAAAAAAAAAAA", Reason: session.CompactionManual, Summary: "We counted.",
		Boundary: messages[3].Seq, Kept: []string{messages[2].ID}})
	middle, err := r.client().Events(r.within(), id, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := r.command("sessions", "prune", id, "--json")
	var pruned protocol.PrunedSession
	if r.unmarshal([]byte(printed), &pruned); err != nil || !pruned.Pruned || pruned.First == 0 {
		t.Fatalf("%s, %v", printed, err)
	}
	var kinds []string
	for _, message := range r.expectTranscript(id) {
		kinds = append(kinds, string(message.Type))
	}
	if diff := cmp.Diff([]string{"compaction", "user", "user", "assistant"}, kinds); diff != "" {
		t.Error(diff)
	}
	for _, err := range r.client().Follow(r.within(), id, client.FollowOptions{After: middle.Events[2].Cursor}) {
		if reset, ok := errors.AsType[*protocol.ResetError](err); !ok || reset.Reason != protocol.ResetPruned {
			t.Errorf("an older cursor: %v", err)
		}
		break
	}
	r.settled(id, "count 2")
	r.restart()
	r.settled(id, "count 2")
	if n := len(r.expectTranscript(id)); n != 8 {
		t.Errorf("%d messages", n)
	}
	if printed, err := r.command("sessions", "prune", id); err != nil || !strings.Contains(printed, "nothing to take away") {
		t.Errorf("%q, %v", printed, err)
	}
	if list, err := r.client().Sessions(r.within(), protocol.ListSessions{}); err != nil || len(list.Sessions) != 1 || list.Sessions[0].Title != "count 2" {
		encoded, _ := json.Marshal(list)
		t.Errorf("%s, %v", encoded, err)
	}
}
