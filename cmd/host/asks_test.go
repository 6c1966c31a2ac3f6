package main

import (
	"bufio"
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// terminal runs commands of the command line against the rig's host.
func (r *rig) terminal(args ...string) (out, notes string, code int) {
	r.t.Helper()
	var outBuffer, noteBuffer bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &outBuffer, errors: &noteBuffer, patience: patience,
		environ: []string{"PLINTH_SERVER=unix:" + filepath.Join(r.data, "cli.sock")}}
	code = c.execute(r.within(), args)
	return outBuffer.String(), noteBuffer.String(), code
}

func (r *rig) client() *client.Client {
	r.t.Helper()
	dialled, err := client.Dial(r.within(), client.Options{Address: "unix:" + filepath.Join(r.data, "cli.sock")})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(dialled.Close)
	return dialled
}

func TestQuestionCommands(t *testing.T) {
	r := newRig(t)
	id := r.session()
	question, other := r.question(id), r.question(id)
	out, _, code := r.terminal("questions", "--session", id)
	if code != 0 || strings.Count(out, "que_") != 2 || !strings.Contains(out, "  Which colour?\n    1. Red\n    2. Green: like grass\n") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for _, c := range []struct {
		args  string
		code  int
		notes string
	}{
		{"answer " + question + " 3", exitUsage, `answers[0][0] is "3", which is none of the options; choose of "Red", "Green"`},
		{"answer " + question + " 1 2", exitUsage, "there are 2 answers to 1 questions"},
		{"answer " + question, exitUsage, "give either the answers or --dismiss"},
		{"answer " + question + " 1 --dismiss", exitUsage, "give either the answers or --dismiss"},
		{"answer que_none 1", exitFailed, "question que_none: not found"},
		{"answer " + question + " 2", exitOK, ""},
		{"answer " + question + " 2", exitFailed, "already answered"},
		{"answer " + other + " --dismiss", exitOK, ""},
		{"questions", exitOK, "no questions"},
	} {
		_, notes, code := r.terminal(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(notes, c.notes) {
			t.Errorf("%s: exit %d\n%s", c.args, code, notes)
		}
	}
	answered := r.await(id, -1, is[session.QuestionAnswered])
	if got := r.decode(answered).(session.QuestionAnswered); got.Answers[0][0] != "Green" {
		t.Errorf("answered %+v", got)
	}
	r.await(id, answered.Seq, is[session.QuestionDismissed])
}

func TestApprovalCommands(t *testing.T) {
	r := newRig(t)
	id := r.session()
	request := r.asked(id)
	if _, err := (permissionService{r.backend}).Reply(r.within(), server.Caller{Actor: "test"}, request, protocol.PermissionReply{Reply: protocol.AnswerAlways}); err != nil {
		t.Fatal(err)
	}
	out, _, code := r.terminal("approvals", "--dir", r.project)
	fields := strings.Fields(out)
	if code != 0 || len(fields) != 7 || !strings.HasPrefix(fields[0], "apr_") || !cmp.Equal(fields[4:], []string{"-", "read", ".env"}) {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, notes, code := r.terminal("approvals", "--dir", r.data); code != 0 || out != "" || !strings.Contains(notes, "no approvals") {
		t.Errorf("of another folder: exit %d\n%s%s", code, out, notes)
	}
	if _, notes, code := r.terminal("approvals", "--remove", fields[0]); code != 0 {
		t.Errorf("exit %d\n%s", code, notes)
	}
	if _, notes, code := r.terminal("approvals", "--remove", fields[0]); code != exitFailed || !strings.Contains(notes, "not found") {
		t.Errorf("removed twice: exit %d\n%s", code, notes)
	}
}

// TestAsksOfARun: a question is answered at a terminal, and dismissed without one,
// also one of a session below.
func TestAsksOfARun(t *testing.T) {
	for _, c := range []struct {
		name, input string
		mode        onAsk
		dismissed   bool
		notes       string
	}{
		{"a number", "2\n", askPerson, false, "? Which colour?\n    1. Red\n    2. Green: like grass\nA number: "},
		{"a label after nonsense", "\nBlue\nRed\n", askPerson, false,
			"? Which colour?\n    1. Red\n    2. Green: like grass\nA number: A number:   answers[0][0] is \"Blue\", which is none of the options; choose of \"Red\", \"Green\"\n" +
				"? Which colour?\n    1. Red\n    2. Green: like grass\nA number: "},
		{"no more input", "", askPerson, true, "? Which colour?\n    1. Red\n    2. Green: like grass\nA number: "},
		{"deny", "", askDeny, true, "? Which colour?: dismissed; nobody can be asked in this run\n"},
		{"fail", "", askFail, true, "? Which colour?: dismissed; nobody can be asked in this run\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			id := r.session()
			question := r.question(id)
			var notes bytes.Buffer
			a := &asks{client: r.client(), mode: c.mode, in: bufio.NewReader(strings.NewReader(c.input)), notes: &notes}
			for range 2 { // what was handled is not handled again
				if err := a.open(r.within(), id, question); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.notes, notes.String()); diff != "" || a.dismissed != c.dismissed || a.denied {
				t.Errorf("dismissed %v, denied %v\n%s", a.dismissed, a.denied, diff)
			}
			closed := r.count(id, is[session.QuestionDismissed])
			if n := r.count(id, is[session.QuestionAnswered]); n+closed != 1 || (closed == 1) != c.dismissed {
				t.Errorf("%d answered, %d dismissed", n, closed)
			}
		})
	}
	t.Run("another client was first", func(t *testing.T) {
		r := newRig(t)
		question := r.question(r.session())
		asked, err := r.permissions.Questions(r.within(), "")
		if err != nil || len(asked) != 1 {
			t.Fatal(asked, err)
		}
		if _, err := r.permissions.Dismiss(r.within(), session.System(), question); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []onAsk{askPerson, askDeny} {
			a := &asks{client: r.client(), mode: mode, in: bufio.NewReader(strings.NewReader("1\n")), notes: new(bytes.Buffer)}
			if err := a.question(r.within(), wireQuestion(asked[0], "")); err != nil || a.dismissed {
				t.Errorf("%s: %v, dismissed %v", mode, err, a.dismissed)
			}
		}
	})
}

// TestAskBelowARun: what a session under the followed one asks is handled like its own.
func TestAskBelowARun(t *testing.T) {
	r := newRig(t)
	parent := r.session()
	child := r.child(parent)
	question := r.question(child)
	told := r.record(parent, session.ChildAsked{Session: child, Request: question})
	a := asks{client: r.client(), mode: askDeny, notes: new(bytes.Buffer)}
	f := &run{client: a.client, asks: a, transcript: newTranscript(new(bytes.Buffer), new(bytes.Buffer))}
	event := wireEvent(told)
	if ended, err := f.event(r.within(), &event); err != nil || ended != nil || !f.asks.dismissed {
		t.Fatalf("%+v, %v, dismissed %v", ended, err, f.asks.dismissed)
	}
	r.await(child, -1, is[session.QuestionDismissed])
	r.await(parent, told.Seq, is[session.ChildAnswered])
	for outcome, want := range map[session.Outcome]string{
		session.Halted:    "a question was dismissed; the session has it",
		session.Completed: "a question was dismissed on the way; the answer above was made without it",
	} {
		err := f.end(&session.ActivityEnded{Outcome: outcome})
		var exit *exitError
		if !errors.As(err, &exit) || exit.code != exitDenied || err.Error() != want {
			t.Errorf("the run ended with %v", err)
		}
	}
}

// TestAskedBeforeARun: what waits in a session that a run goes on with is handled before
// the prompt.
func TestAskedBeforeARun(t *testing.T) {
	r := newRig(t)
	id := r.session()
	question := r.question(id)
	if _, notes, code := r.terminal("run", "--session", id, "count 1"); code != exitDenied ||
		!strings.Contains(notes, "? Which colour?: dismissed; nobody can be asked in this run") {
		t.Errorf("exit %d\n%s", code, notes)
	}
	admitted := r.await(id, -1, is[session.PromptAdmitted])
	dismissed := r.await(id, -1, is[session.QuestionDismissed])
	if got := r.decode(dismissed).(session.QuestionDismissed); got.Request != question || dismissed.Seq > admitted.Seq {
		t.Errorf("dismissed %+v at %d, admitted at %d", got, dismissed.Seq, admitted.Seq)
	}
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	options := []protocol.QuestionOption{{Label: "Red"}, {Label: "Green"}, {Label: "1"}, {Label: "Red, or so"}}
	for _, c := range []struct {
		multiple, custom bool
		text             string
		want             []string
	}{
		{false, false, " 2\n", []string{"Green"}}, {false, false, "Green", []string{"Green"}}, {false, false, "1", []string{"1"}}, {false, false, "9", []string{"9"}},
		{true, false, "2, Red", []string{"Green", "Red"}}, {true, false, "2,Blue", []string{"Green", "Blue"}}, {true, true, "Blue, and Red", []string{"Blue, and Red"}},
		{true, true, "2,4", []string{"Green", "Red, or so"}}, {true, false, "Red, or so", []string{"Red, or so"}}, {false, true, "Blue, Red", []string{"Blue, Red"}},
	} {
		item := protocol.QuestionItem{Options: options, Multiple: c.multiple, Custom: c.custom}
		if diff := cmp.Diff(c.want, readAnswer(item, c.text)); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}
