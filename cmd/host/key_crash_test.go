package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// TestCrashBetweenRowAndEffect: a host that dies after it wrote the row and before
// the effect leaves a command that the retry carries out, once.
func TestCrashBetweenRowAndEffect(t *testing.T) {
	caller := server.Caller{Actor: "token:ann", Key: "k-1"}
	for name, body := range map[string]func(id string) any{
		commandInterrupt: func(id string) any { return id },
		commandResume:    func(id string) any { return id },
		commandCompact:   func(id string) any { return id },
		commandReply: func(id string) any {
			return protocol.ReplyParams{ID: id, PermissionReply: protocol.PermissionReply{Reply: protocol.AnswerOnce}}
		},
		commandAnswer: func(id string) any {
			return protocol.AnswerParams{ID: id, QuestionAnswer: protocol.QuestionAnswer{Answers: [][]string{{"Red"}}}}
		},
		commandDismiss: func(id string) any { return protocol.DismissParams{ID: id} },
	} {
		for _, command := range keyedCommands() {
			if command.name != name {
				continue
			}
			t.Run(name, func(t *testing.T) {
				r := newRig(t)
				id := command.prepare(r)
				before := command.effects(r, id)
				place := r.backend.standing(r.t.Context(), id)
				switch name {
				case commandAnswer, commandDismiss:
					place = func() (string, int64, error) { return questionService{r.backend}.asked(r.t.Context(), id) }
				case commandReply:
					place = func() (string, int64, error) { return permissionService{r.backend}.asked(r.t.Context(), id) }
				}
				_, over, err := r.backend.keys.begin(r.within(), caller, name, body(id), place)
				if err != nil {
					t.Fatal(err)
				}
				over() // and nothing else: the process is gone
				if name != commandReply {
					r.restart() // of an open request a restart would be the end
				}
				first, err := command.run(r, caller, id, false)
				if err != nil {
					t.Fatal(err)
				}
				r.again(command, caller, id, first)
				if n := command.effects(r, id) - before; n != 1 {
					t.Errorf("%d effects", n)
				}
			})
		}
	}
}

// TestResumeIsOvertaken: a resume that is repeated after an interrupt starts nothing.
func TestResumeIsOvertaken(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.settled(id, "count 1")
	caller := server.Caller{Actor: "token:ann", Key: "k"}
	_, over, err := r.backend.keys.begin(r.within(), caller, commandResume, id, r.backend.standing(r.t.Context(), id))
	if err != nil {
		t.Fatal(err)
	}
	over()
	if _, err := (controlService{r.backend}).Interrupt(r.within(), caller, id); err != nil {
		t.Fatal(err)
	}
	if _, err := (controlService{r.backend}).Resume(r.within(), caller, id); err != nil {
		t.Fatal(err)
	}
	r.settled(id, "count 2") // what was started would have come before it
	if n := r.count(id, func(payload session.Payload) bool {
		started, ok := payload.(session.ActivityStarted)
		return ok && started.Opener == session.OpenedByResume
	}); n != 0 {
		t.Errorf("%d activities were resumed", n)
	}
}

func TestKeyedErrors(t *testing.T) {
	r := newRig(t)
	caller := server.Caller{Actor: "token:ann", Key: "k"}
	none := idOf(session.PrefixSession, server.Caller{Actor: "x", Key: "none"})
	for name, run := range map[string]func() error{
		"interrupt": func() error { _, err := controlService{r.backend}.Interrupt(r.within(), caller, none); return err },
		"resume":    func() error { _, err := controlService{r.backend}.Resume(r.within(), caller, none); return err },
		"reply": func() error {
			_, err := permissionService{r.backend}.Reply(r.within(), caller, "per_none", protocol.PermissionReply{Reply: protocol.AnswerOnce})
			return err
		},
		"answer": func() error {
			_, err := questionService{r.backend}.Answer(r.within(), caller, "que_none", protocol.QuestionAnswer{Answers: [][]string{{"Red"}}})
			return err
		},
		"dismiss": func() error {
			_, err := questionService{r.backend}.Dismiss(r.within(), caller, "que_none")
			return err
		},
		"todos":    func() error { _, err := questionService{r.backend}.Todos(r.within(), none); return err },
		"approval": func() error { return permissionService{r.backend}.RemoveApproval(r.within(), caller, "apr_none") },
		"prompt": func() error {
			_, err := promptService{r.backend}.Admit(r.within(), caller, none, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "x"}})
			return err
		},
	} {
		for range 2 { // an error is not remembered
			if err := run(); !errors.Is(err, &protocol.Error{Code: protocol.NotFound}) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	request := r.asked(r.session())
	first := server.Caller{Actor: "token:ann", Key: "first"}
	reply := protocol.PermissionReply{Reply: protocol.AnswerOnce}
	if _, err := (permissionService{r.backend}).Reply(r.within(), first, request, reply); err != nil {
		t.Fatal(err)
	}
	for _, late := range []server.Caller{{Actor: "token:ann", Key: "late"}, {Actor: "token:bob", Key: "first"}, {Actor: "token:ann"}} {
		if _, err := (permissionService{r.backend}).Reply(r.within(), late, request, reply); !errors.Is(err, &protocol.Error{Code: protocol.AlreadyResolved}) {
			t.Errorf("%+v: %v", late, err)
		}
	}
}

// TestKeysAreForgotten: a row is there for at least a day, and rows do not pile up.
func TestKeysAreForgotten(t *testing.T) {
	kv := servertest.NewKV()
	now := time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC)
	k := newKeys(kv, func() time.Time { return now })
	place := func() (string, int64, error) { return "ses_1", 7, nil }
	use := func(key, session string) error {
		_, over, err := k.begin(t.Context(), server.Caller{Actor: "a", Key: key}, commandInterrupt, session, place)
		if err == nil {
			over()
		}
		return err
	}
	for i := range 100 {
		if err := use(fmt.Sprint("old", i), "ses_1"); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(24 * time.Hour)
	if err := use("old5", "ses_2"); !errors.Is(err, &protocol.Error{Code: protocol.Conflict}) {
		t.Errorf("after a day: %v", err)
	}
	now = now.Add(24 * time.Hour)
	if err := use("old5", "ses_2"); err != nil {
		t.Errorf("after two days: %v", err)
	}
	for i := range 30 {
		if err := use(fmt.Sprint("new", i), "ses_1"); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := kv.List(t.Context(), keyNamespace, "", "", 1000); err != nil || len(rows) != 31 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// TestRowThatCannotBeWritten: without its row a command does nothing.
func TestRowThatCannotBeWritten(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.backend.keys.kv = failingKV{r.backend.keys.kv}
	_, err := controlService{r.backend}.Interrupt(r.within(), server.Caller{Actor: "a", Key: "k"}, id)
	if !errors.Is(err, &protocol.Error{Code: protocol.Busy}) {
		t.Errorf("%v", err)
	}
	if n := r.count(id, is[session.InterruptRequested]); n != 0 {
		t.Errorf("%d interrupts", n)
	}
}

type failingKV struct{ store.KV }

func (failingKV) Set(context.Context, string, string, []byte) error { return store.ErrFull }
