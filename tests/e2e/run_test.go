package e2e

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/tests/chat"
)

var volatile = []*regexp.Regexp{
	regexp.MustCompile(`\b(ses|msg|evt|per|act)_[0-9a-f]{16}[0-9A-Za-z]{14}\b`),
	regexp.MustCompile(`"(digest|revision)":"[0-9a-f]+"|"slug":"[a-z-]+"`),
	regexp.MustCompile(`\d\d:\d\d:\d\d\.\d\d\d`),
	regexp.MustCompile(`"created":\d+`),
	regexp.MustCompile(`"bytes":\d+`), // with the length of the folder's name
	regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d{4}`),
	regexp.MustCompile(`"\d{4}-\d\d-\d\d"`),
}

// stable takes out of events what differs from run to run.
func stable(w *world, text string) string {
	folder, err := filepath.EvalSymlinks(w.folder)
	if err != nil {
		w.t.Fatal(err)
	}
	text = strings.ReplaceAll(text, folder, "FOLDER")
	for _, pattern := range volatile {
		text = pattern.ReplaceAllString(text, "·")
	}
	return text
}

func conversation() chat.Script {
	usage := &chat.Usage{Prompt: 100, Completion: 10}
	return chat.Turns(
		chat.Turn{Usage: usage, Text: "I look.", Calls: []chat.ToolCall{{ID: "call_a", Name: "read", Arguments: `{"path":"go.mod"}`}}},
		chat.Turn{Usage: usage, Reasoning: "A module file.", Calls: []chat.ToolCall{{ID: "call_b", Name: "read", Arguments: `{"path":"notes.txt"}`}}},
		chat.Turn{Usage: usage, Text: "It is example.test/thing and the notes have two lines."},
	)
}

func TestConversationWithChatCompletions(t *testing.T) {
	w := newWorld(t)
	server, err := chat.Start(conversation(), chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w.configure(server)
	out, notes, code := w.plinth("run", "What is here?")
	if code != 0 || !strings.Contains(out, "It is example.test/thing and the notes have two lines.") {
		t.Fatalf("exit %d\n%s\n%s", code, out, notes)
	}
	if strings.Count(notes, "→ read") != 2 || strings.Count(notes, "✓") != 2 {
		t.Errorf("tool calls are not shown:\n%s", notes)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	list, _, _ := w.plinth("sessions")
	id, _, _ := strings.Cut(list, " ")
	events, _, code := w.plinth("events", id)
	if code != 0 {
		t.Fatalf("events: exit %d", code)
	}
	sessiontest.Golden(t, "conversation", stable(w, events))
}

func TestProviderFailuresAreTypedAndLeaveTheSessionUsable(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault chat.Fault
		class string
	}{
		{"rate limit", chat.Fault{Status: http.StatusTooManyRequests}, "rate_limit"},
		{"bad key", chat.Fault{Status: http.StatusUnauthorized}, "authentication"},
		{"server error", chat.Fault{Status: http.StatusInternalServerError}, "internal"},
		{"cut stream", chat.Fault{Cut: true, CutAfter: 3}, "transport"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var mended atomic.Bool
			server, err := chat.Start(func(chat.Request) chat.Turn {
				if !mended.Load() {
					return chat.Turn{Text: "half of an answer", Fault: c.fault}
				}
				return chat.Turn{Text: "whole"}
			}, chat.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			w.configure(server, "[runner]\nretry_attempts = 0\n")
			_, notes, code := w.plinth("run", "Hi")
			if code != 3 || !strings.Contains(notes, "("+c.class+",") {
				t.Errorf("exit %d, want 3 and %s:\n%s", code, c.class, notes)
			}
			mended.Store(true)
			list, _, _ := w.plinth("sessions")
			id, _, _ := strings.Cut(list, " ")
			if out, notes, code := w.plinth("run", "--session", id, "Again"); code != 0 || !strings.Contains(out, "whole") {
				t.Errorf("exit %d\n%s\n%s", code, out, notes)
			}
		})
	}
}

func TestRefusedConnection(t *testing.T) {
	w := newWorld(t)
	w.write("config/plinth/config.toml", "model = \"local/x\"\n[providers.local]\nplugin = \"core/openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n[runner]\nretry_attempts = 0\n")
	_, notes, code := w.plinth("run", "Hi")
	if code != 3 || !strings.Contains(notes, "(transport,") || !strings.Contains(notes, "refused") {
		t.Errorf("exit %d\n%s", code, notes)
	}
}

func TestPermissionsHeadless(t *testing.T) {
	w := newWorld(t)
	w.write("project/.env", "KEY=1\n")
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string
	}{
		{"denied by default", nil, 4, "was refused"},
		{"allowed beforehand", []string{"--allow", "read:*.env"}, 0, "KEY=1"},
		{"fail ends the run", []string{"--on-ask", "fail"}, 4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, notes, code := w.plinth(append([]string{"run", "read .env"}, c.args...)...)
			if code != c.code || !strings.Contains(out, c.out) {
				t.Errorf("exit %d, want %d\n%s\n%s", code, c.code, out, notes)
			}
		})
	}
}
