package bridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

func TestPermissionOperations(t *testing.T) {
	mixed := []session.Rule{rule("deploy", "*", session.Ask), rule("deploy", "test", session.Allow), rule("deploy", "prod", session.Deny)}
	declined := &session.DeniedError{Action: "deploy", Resource: "stage", Declined: true}
	tests := []struct {
		name, operation, request string
		answer                   error
		want                     string
		asked                    []session.PermissionRequest
	}{
		{"check", "permission.check", `{"action":"deploy","resources":["test","stage","prod"]}`, nil, `{"ok":{"effects":["allow","ask","deny"]}}`, nil},
		{"allowed", "permission.ask", `{"action":"deploy","resources":["test"]}`, nil, `{"ok":{}}`, nil},
		{"asked", "permission.ask", `{"action":"deploy","resources":["stage","a*","test"]}`, nil, `{"ok":{}}`,
			[]session.PermissionRequest{{Action: "deploy", Resources: []string{"stage", "a*", "test"}, Save: []string{"stage", "test"}, Before: true}}},
		{"denied", "permission.ask", `{"action":"deploy","resources":["stage","prod"]}`, nil, denied("deploy on prod is denied by the permission rules"), nil},
		{"declined", "permission.ask", `{"action":"deploy","resources":["stage"]}`, declined, denied("deploy on stage was declined"),
			[]session.PermissionRequest{{Action: "deploy", Resources: []string{"stage"}, Save: []string{"stage"}, Before: true}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.host.rules, r.host.answer = mixed, test.answer
			if diff := cmp.Diff(test.want, r.ask(t, test.operation, test.request)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.asked, r.host.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatPermissionIsAskedOnIsBounded(t *testing.T) {
	r := newRig(t)
	resources := func(n int) string { return encoded(t, strings.Split(strings.Repeat("r,", n-1)+"r", ",")) }
	tests := []struct{ operation, action, resources, want string }{
		{"permission.ask", "", `["r"]`, "action has 0 bytes; it must have 1 to 64"},
		{"permission.ask", strings.Repeat("a", 65), `["r"]`, "action has 65 bytes; it must have 1 to 64"},
		{"permission.ask", "a", `[]`, "there are 0 resources; there must be 1 to 100"},
		{"permission.ask", "a", resources(MaxAsked + 1), "there are 101 resources; there must be 1 to 100"},
		{"permission.check", "a", resources(MaxChecked + 1), "there are 1001 resources; there must be 1 to 1000"},
		{"permission.check", "a", `["r",""]`, "resource 1 must be one line of 1 to 4096 bytes"},
		{"permission.ask", "a", `["two\nlines"]`, "resource 0 must be one line of 1 to 4096 bytes"},
		{"permission.ask", "a", `["\u001b[2Jcleared"]`, "resource 0 must be one line of 1 to 4096 bytes"},
		{"permission.ask", "a", `["` + strings.Repeat("r", maxText+1) + `"]`, "resource 0 must be one line of 1 to 4096 bytes"},
		{"permission.ask", "a", resources(MaxAsked), ""},
		{"permission.check", "a", resources(MaxChecked), ""},
	}
	for _, test := range tests {
		refused := failure(t, r.ask(t, test.operation, fmt.Sprintf(`{"action":%q,"resources":%s}`, test.action, test.resources)))
		if refused.Message != test.want || test.want != "" && refused.Kind != abi.KindInvalidInput {
			t.Errorf("%s %q: %+v, want %s", test.operation, test.action, refused, test.want)
		}
	}
}

// What permission.ask was allowed is not asked again in that call, and neither is what
// was allowed to be read: exactly those resources, of that action, and no longer than
// the call.
func TestWhatWasAllowedCoversTheCall(t *testing.T) {
	r := newRig(t)
	r.host.rules = []session.Rule{rule("*", "*", session.Ask), rule("read", "sub*", session.Deny)}
	call := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: r.host}, host: r.host}
	perform := func(operation, request string) abi.Error {
		t.Helper()
		body, _, err := abi.DecodeMessage(call.Call(t.Context(), operation, abi.EncodeMessage([]byte(request), nil)))
		if err != nil {
			t.Fatal(err)
		}
		return failure(t, string(body))
	}
	steps := []struct {
		operation, request string
		asked              []string
	}{
		{"permission.ask", `{"action":"read","resources":["a.txt"]}`, []string{"read a.txt"}},
		{"fs.read", `{"path":"a.txt"}`, nil},
		{"permission.ask", `{"action":"read","resources":["*"]}`, []string{"read *"}},
		{"fs.read", `{"path":".env"}`, []string{"read .env"}}, // a pattern covers no more than itself
		{"fs.read", `{"path":".env"}`, nil},                   // it takes several operations to show a file
		{"fs.commit", `{"changes":[{"op":"write","path":"a.txt","text":"x"}]}`, []string{"edit a.txt"}},
		{"permission.ask", `{"action":"edit","resources":["a.txt","b"]}`, []string{"edit a.txt", "edit b"}},
		{"fs.commit", `{"changes":[{"op":"write","path":"a.txt","text":"x"},{"op":"write","path":"b","text":"x"}]}`, nil},
		{"fs.commit", `{"changes":[{"op":"write","path":"a.txt","text":"x"},{"op":"write","path":"c","text":"x"}]}`, []string{"edit c"}},
	}
	for _, step := range steps {
		r.host.asked = nil
		if refused := perform(step.operation, step.request); refused.Kind != "" {
			t.Errorf("%s %s: %+v", step.operation, step.request, refused)
		}
		var asked []string
		for _, request := range r.host.asked {
			for _, resource := range request.Resources {
				asked = append(asked, request.Action+" "+resource)
			}
		}
		if diff := cmp.Diff(step.asked, asked); diff != "" {
			t.Errorf("%s %s: %s", step.operation, step.request, diff)
		}
	}
	body, _, err := abi.DecodeMessage(call.Call(t.Context(), "permission.check", abi.EncodeMessage([]byte(`{"action":"read","resources":["a.txt",".env","sub"]}`), nil)))
	if err != nil || string(body) != `{"ok":{"effects":["allow","allow","deny"]}}` {
		t.Errorf("%s, %v", body, err)
	}
	// The next call of the same tool starts from nothing.
	call.asked, r.host.asked = &toolAuthority{host: r.host}, nil
	if perform("fs.read", `{"path":"a.txt"}`); len(r.host.asked) != 1 {
		t.Errorf("%+v", r.host.asked)
	}
}

// A person who declines covers nothing.
func TestWhatWasDeclinedIsNotCovered(t *testing.T) {
	r := newRig(t)
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	r.host.answer = &session.DeniedError{Action: "read", Resource: "a.txt", Declined: true}
	request := `{"operations":[{"operation":"permission.ask","request":{"action":"read","resources":["a.txt"]}}]}`
	for range 2 {
		if refused := read[abi.BatchOK](t, r.ask(t, abi.OpBatch, request)).Answers[0].Error; refused == nil || refused.Kind != abi.KindDenied {
			t.Errorf("%+v", refused)
		}
	}
	if len(r.host.asked) != 2 {
		t.Errorf("asked %d times", len(r.host.asked))
	}
}

// The number of operations of a call is bounded, each of a batch counted, and what is
// beyond has no effect.
func TestOperationsAreBounded(t *testing.T) {
	r := newRig(t)
	r.plugin.Operations = 50
	batch := abi.Batch{}
	for i := range MaxBatch {
		batch.Operations = append(batch.Operations, abi.BatchOperation{Operation: abi.OpProgress, Request: []byte(fmt.Sprintf(`{"text":"%d"}`, i))})
	}
	limited := 0
	for _, answer := range read[abi.BatchOK](t, r.ask(t, abi.OpBatch, encoded(t, batch))).Answers {
		if answer.Error != nil {
			limited++
			if answer.Error.Kind != abi.KindLimit || answer.Error.Message != "the call has made 50 operations, which is the limit; raise limits.operations" {
				t.Errorf("%+v", answer.Error)
			}
		}
	}
	if shown := len(r.host.progress); limited != 51 || shown != 49 {
		t.Errorf("%d were refused, %d were shown", limited, shown)
	}
	if diff := cmp.Diff(map[string]Count{abi.OpBatch: {Made: 1}, abi.OpProgress: {Made: 49}}, r.plugin.Counts.All()); diff != "" {
		t.Error(diff)
	}
	for n, fits := range map[int]bool{0: false, 1: true, MaxBatch: true, MaxBatch + 1: false} {
		batch.Operations = []abi.BatchOperation{}
		for range n {
			batch.Operations = append(batch.Operations, abi.BatchOperation{Operation: abi.OpProgress, Request: []byte(`{"text":""}`)})
		}
		refused := failure(t, r.ask(t, abi.OpBatch, encoded(t, batch)))
		if want := fmt.Sprintf("there are %d operations; there must be 1 to 100", n); fits != (refused.Kind == "") || !fits && (refused.Kind != abi.KindInvalidInput || refused.Message != want) {
			t.Errorf("%d: %+v", n, refused)
		}
	}
}

// One call logs no more than 64 KiB, however it goes about it; the next may again.
func TestALogIsBounded(t *testing.T) {
	r := newRig(t)
	batch := abi.Batch{}
	line := []byte(encoded(t, abi.Log{Level: "info", Message: strings.Repeat("x", maxLine)}))
	for range 9 {
		batch.Operations = append(batch.Operations, abi.BatchOperation{Operation: abi.OpLog, Request: line})
	}
	for call := range 2 {
		limited := 0
		for _, answer := range read[abi.BatchOK](t, r.ask(t, abi.OpBatch, encoded(t, batch))).Answers {
			if answer.Error != nil && answer.Error.Kind == abi.KindLimit {
				limited++
			}
		}
		if lines := len(r.log.all()); limited != 1 || lines != 8*(call+1) {
			t.Errorf("call %d: %d refused, %d lines", call, limited, lines)
		}
	}
}

func TestCountsTellWhatBecame(t *testing.T) {
	r := newRig(t)
	r.host.rules = rules()
	for _, path := range []string{"a.txt", "sub/b.txt", "none", "none"} {
		r.ask(t, abi.OpFSRead, encoded(t, abi.Path{Path: path}))
	}
	all := r.plugin.Counts.All()
	if diff := cmp.Diff(map[string]Count{abi.OpFSRead: {Made: 4, Denied: 1, Failed: 2}}, all); diff != "" {
		t.Error(diff)
	}
	all[abi.OpFSRead] = Count{} // a copy
	if r.plugin.Counts.All()[abi.OpFSRead].Made != 4 {
		t.Error("the counts were changed from outside")
	}
}
