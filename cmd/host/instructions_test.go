package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/session"
)

// put writes a file below the rig's folder: "project/…" or of the user's home.
func (r *rig) put(name, text string) {
	r.t.Helper()
	file := filepath.Join(filepath.Dir(r.data), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// reading has the model read the file that the prompt names and keeps its requests.
func (r *rig) reading() func() []session.ModelRequest {
	var mu sync.Mutex
	var requests []session.ModelRequest
	r.provide(func(_ context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		mu.Lock()
		requests = append(requests, request)
		mu.Unlock()
		last := request.Messages[len(request.Messages)-1]
		if last.Role != session.RoleUser || !strings.HasPrefix(last.Parts[0].Text, "src/") {
			done(yield)
			return
		}
		events := []session.ModelEvent{
			{Type: session.EventToolStart, ID: "call", Name: "read"},
			{Type: session.EventToolDelta, ID: "call", Text: fmt.Sprintf(`{"path":%q}`, last.Parts[0].Text)},
			{Type: session.EventToolEnd, ID: "call"}, {Type: session.EventFinish, Reason: session.FinishToolCalls},
		}
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
	})
	return func() []session.ModelRequest {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}

// told is all that a request tells beside what people and models said.
func told(request session.ModelRequest) string {
	var text strings.Builder
	for _, part := range request.System {
		text.WriteString(part.Text + "\n")
	}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			if part.Type != session.PartToolResult {
				text.WriteString(part.Text + "\n")
			}
		}
	}
	return text.String()
}

// instructedRig has instructions of every kind.
func instructedRig(t *testing.T, config string) (*rig, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "told by the web") }))
	t.Cleanup(server.Close)
	r := newRig(t)
	r.put("project/src/x.go", "package x\n")
	r.put("project/src/AGENTS.md", "told beside the file")
	r.put("project/AGENTS.md", "told at the root")
	r.put("project/docs/rules/one.md", "told by a pattern")
	r.put("notes/style.md", "told from home")
	r.put(".config/plinth/CLAUDE.md", "told by the user")
	r.configure(config + fmt.Sprintf("[instructions]\nfiles = [\"docs/rules/*.md\", \"~/notes/style.md\"]\nurls = [%q]\n", server.URL+"/style"))
	r.restart()
	return r, server
}

// A session is told what the configuration names from its first turn, and what lies
// beside a file from the turn after it was read, also after a restart.
func TestInstructionsOfEveryKind(t *testing.T) {
	r, server := instructedRig(t, "")
	requests := r.reading()
	id := r.session()
	r.settled(id, "src/x.go")
	first, second := requests()[0], requests()[1]
	text := told(first)
	at := -1
	for _, want := range []string{"told by the user", "told at the root", "told by a pattern", "told from home", "told by the web"} {
		next := strings.Index(text, want)
		if next <= at {
			t.Errorf("%q is not in its place in:\n%s", want, text)
		}
		at = next
	}
	if strings.Contains(text, "beside") {
		t.Errorf("before it was read:\n%s", text)
	}
	last := second.Messages[len(second.Messages)-1].Parts[0].Text
	if !strings.Contains(last, "Instructions from: "+r.project+"/src/AGENTS.md\ntold beside the file") {
		t.Errorf("after it was read:\n%s", last)
	}
	read := r.count(id, is[session.DirectoriesRead])
	server.Close() // its text stays
	r.put("project/docs/rules/one.md", "told otherwise by a pattern")
	r.restart()
	requests = r.reading()
	r.settled(id, "src/x.go")
	text = told(requests()[0])
	for want, times := range map[string]int{"told beside the file": 1, "told otherwise by a pattern": 1, "told from home": 2, "told by the web": 1} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("after the restart %q is there %d times, want %d:\n%s", want, got, times, text)
		}
	}
	if again := r.count(id, is[session.DirectoriesRead]); read != 1 || again != 1 {
		t.Errorf("%d, then %d records of one directory", read, again)
	}
}

// One switch keeps out what a project says; what is the user's stays.
func TestTheProjectIsSwitchedOff(t *testing.T) {
	r, _ := instructedRig(t, "project_config = false\n")
	requests := r.reading()
	r.settled(r.session(), "src/x.go")
	text := told(requests()[1])
	for want, there := range map[string]bool{
		"told by the user": true, "told from home": true, "told by the web": true,
		"told at the root": false, "told by a pattern": false, "told beside the file": false,
	} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q: want %t in\n%s", want, there, text)
		}
	}
}

// A page that was never fetched keeps the session from beginning: it would work without
// what the operator asks of it. The reason is in the log, and the prompt waits.
func TestAPageThatIsNotThere(t *testing.T) {
	r, server := instructedRig(t, "")
	server.Close()
	r.reading()
	id := r.session()
	result := r.settled(id, "hello")
	if result.Error == nil || result.Error.Code != session.FailureContextBlocked || !strings.Contains(result.Error.Message, "core/instructions-remote") {
		t.Errorf("%+v", result)
	}
	if log := r.log.String(); !strings.Contains(log, server.URL+"/style") {
		t.Errorf("the log:\n%s", log)
	}
}
