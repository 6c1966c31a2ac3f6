package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/chat"
)

// doubtful answers a session whose host died after it had sent a request.
func (r *rig) doubtful() string {
	r.t.Helper()
	id := r.session()
	prompt := r.encoder().IDs.New(session.PrefixMessage)
	input, err := r.backend.sessions.Admit(r.within(), session.System(),
		session.PromptRequest{ID: prompt, Session: id, Prompt: session.Prompt{Text: "count 1"}, AdmitOnly: true})
	if err != nil {
		r.t.Fatal(err)
	}
	activity := r.encoder().IDs.New(session.PrefixActivity)
	r.record(id, session.ActivityStarted{Activity: activity, Opener: session.OpenedByPrompt})
	r.record(id, session.PromptPromoted{Message: prompt, Prompt: input.Prompt, Created: input.Created})
	r.record(id, session.TurnStarted{Activity: activity, Turn: 1, Step: 1, Attempt: 1, Model: session.ModelRef{Provider: "offline", Model: "rules"}})
	r.restart()
	return id
}

// TestASessionInDoubtSaysSo: everywhere its status is shown, with the way on.
func TestASessionInDoubtSaysSo(t *testing.T) {
	r := newRig(t)
	id := r.doubtful()
	const wayOn = "plinth run --session "
	for name, shown := range map[string]protocol.Session{
		"show": got[protocol.Session](r, request{method: "GET", path: "/v1/sessions/" + id}),
		"list": got[protocol.SessionList](r, request{method: "GET", path: "/v1/sessions"}).Sessions[0],
	} {
		if shown.Status != protocol.StatusWaiting || shown.Activity == nil || shown.Activity.Reason != protocol.SuspendedByDoubt {
			t.Errorf("%s: %s, %+v", name, shown.Status, shown.Activity)
		}
	}
	if out, _, code := r.terminal("sessions", "show", id); code != exitOK || !strings.Contains(out, "waiting") || !strings.Contains(out, wayOn+id+" --allow recovery") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, notes, code := r.terminal("sessions"); code != exitOK || !strings.Contains(out, "  waiting  ") || !strings.Contains(notes, wayOn+id+" --allow recovery") {
		t.Errorf("exit %d: %s%s", code, out, notes)
	}
	// What it names goes on with the work.
	if out, notes, code := r.terminal("run", "--session", id, "--allow", "recovery", "count 2"); code != exitOK || !strings.Contains(out, "1 2") {
		t.Errorf("exit %d: %s%s", code, out, notes)
	}
	if r.count(id, is[session.ActivityRecovered]) != 1 {
		t.Error("the work did not go on")
	}
	r.idle(id)
	if shown := got[protocol.Session](r, request{method: "GET", path: "/v1/sessions/" + id}); shown.Status != protocol.StatusIdle || shown.Activity != nil {
		t.Errorf("at the end: %s, %+v", shown.Status, shown.Activity)
	}
}

func TestACompactionOfASessionInDoubtDoesNotWait(t *testing.T) {
	r := newRig(t)
	id := r.doubtful()
	_, notes, code := r.terminal("sessions", "compact", id, "--wait")
	if code != exitDenied || !strings.Contains(notes, "stays requested: first it waits for the decision whether the work that a crash cut off goes on: plinth run --session "+id) {
		t.Errorf("exit %d: %s", code, notes)
	}
	if _, _, code := r.terminal("run", "--session", id, "--on-ask", "deny", "count 2"); code != exitOK && code != exitDenied {
		t.Errorf("exit %d", code)
	}
	r.await(id, -1, is[session.CompactionStarted]) // it stayed requested
}

// TestWaitingForACompactionOfAHostThatStaysAway ends as a run does.
func TestWaitingForACompactionOfAHostThatStaysAway(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.asked(id)
	notes := &signalled{first: make(chan struct{})}
	c := &cli{in: strings.NewReader(""), out: &bytes.Buffer{}, errors: notes, patience: time.Millisecond,
		environ: []string{"PLINTH_SERVER=unix:" + filepath.Join(r.data, "cli.sock")}}
	done := make(chan int, 1)
	go func() { done <- c.execute(t.Context(), []string{"sessions", "compact", id, "--wait"}) }()
	<-notes.first // it follows the session, and says that this waits
	r.stop()
	code := <-done
	for _, want := range []string{"waits for an answer to what it asked; the compaction comes after it",
		"the host is away", "does not come back; session " + id + " may not be compacted yet"} {
		if code != exitUnreachable || !strings.Contains(notes.String(), want) {
			t.Errorf("exit %d, want %q\n%s", code, want, notes.String())
		}
	}
}

// signalled is written by one goroutine, and tells of its first write.
type signalled struct {
	bytes.Buffer
	once  sync.Once
	first chan struct{}
}

func (s *signalled) Write(text []byte) (int, error) {
	defer s.once.Do(func() { close(s.first) })
	return s.Buffer.Write(text)
}

// TestARunOfASessionThatIsRemoved says what became of it, whether the session had taken the
// prompt or not, and so does one who waits for a compaction.
func TestARunOfASessionThatIsRemoved(t *testing.T) {
	for name, args := range map[string][]string{
		"taken":   {"run", "--session", "ID", "count 2"},
		"waiting": {"run", "--session", "ID", "--queue", "count 2"},
		"compact": {"sessions", "compact", "ID", "--wait"},
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			asked := make(chan struct{}, 8)
			model, err := chat.Start(func(chat.Request) chat.Turn {
				asked <- struct{}{}
				return chat.Turn{Text: "never", Gate: gate}
			}, chat.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			r := newRig(t)
			r.configure("model = \"local/x\"\n[providers.local]\nplugin = \"core/openai\"\nbase_url = \"" + model.URL + "\"\n")
			r.restart()
			id := r.session()
			if name != "taken" {
				r.prompt(id, "hello")
				<-asked
			}
			args[slices.Index(args, "ID")] = id
			var notes string
			done := make(chan int, 1)
			go func() {
				var code int
				_, notes, code = r.terminal(args...)
				done <- code
			}()
			switch name {
			case "taken":
				<-asked
			case "waiting":
				r.await(id, -1, func(payload session.Payload) bool {
					admitted, ok := payload.(session.PromptAdmitted)
					return ok && admitted.Prompt.Text == "count 2"
				})
			case "compact":
				r.await(id, -1, is[session.CompactionRequested])
			}
			if _, err := r.backend.sessions.Remove(r.within(), session.System(), id); err != nil {
				t.Fatal(err)
			}
			if code := <-done; code != exitInterrupted || !strings.Contains(notes, "session "+id+" was removed") {
				t.Errorf("exit %d\n%s", code, notes)
			}
		})
	}
}
