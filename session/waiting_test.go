package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/session"
)

func TestEarlierAnswers(t *testing.T) {
	t.Parallel()
	t.Run("each is taken once, what was withdrawn is asked again", func(t *testing.T) {
		d := newOffice(t, nil, askBash())
		id := d.make("/p", "")
		asker := d.asker(id)
		earlier := func(request string, ask session.PermissionRequest, reply session.PermissionReplied) session.Permission {
			d.append(id, session.PermissionAsked{Request: request, Agent: "build", Ask: ask})
			reply.Request = request
			d.append(id, reply)
			return session.Permission{PermissionAsked: session.PermissionAsked{Request: request, Ask: ask}, Reply: reply.Reply, Feedback: reply.Feedback}
		}
		foreign := bash("ls")
		foreign.Plugin = "acme/x"
		asker.Earlier = session.NewAnswers([]session.Permission{
			earlier("per_1", bash("ls"), session.PermissionReplied{Reply: session.ReplyOnce}),
			earlier("per_2", bash("ls"), session.PermissionReplied{Reply: session.ReplyReject, Feedback: "no more"}),
			earlier("per_3", bash("cp"), session.PermissionReplied{Reply: session.ReplyReject}),
			earlier("per_4", bash("mv"), session.PermissionReplied{Reply: session.ReplyWithdrawn}),
			earlier("per_5", foreign, session.PermissionReplied{Reply: session.ReplyAlways}),
		}, nil)
		if err := d.Authorise(t.Context(), asker, bash("ls")); err != nil {
			t.Errorf("allowed before: %v", err)
		}
		if got := refusal(t, d.Authorise(t.Context(), asker, bash("ls"))); got.Feedback != "no more" || got.Declined {
			t.Errorf("corrected before: %+v", got)
		}
		if got := refusal(t, d.Authorise(t.Context(), asker, bash("cp"))); !got.Declined || got.Resource != "cp" {
			t.Errorf("declined before: %+v", got)
		}
		if err := d.Authorise(t.Context(), asker, foreign); err != nil {
			t.Errorf("allowed to the plugin before: %v", err)
		}
		for n, resource := range []string{"ls", "mv"} {
			done := d.authorise(t.Context(), asker, bash(resource))
			open := d.asked(id, 6+n)
			if len(open) != 1 || open[0].Ask.Resources[0] != resource {
				t.Fatalf("open %+v", open)
			}
			d.reply(open[0].Request, session.ReplyOnce, "")
			if err := outcomeOf(t, done); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("what is still open is waited for, and nothing new is asked", func(t *testing.T) {
		d := newOffice(t, nil, askBash())
		id := d.make("/p", "")
		request := bash("ls")
		request.Before = true
		ctx, stop := context.WithCancelCause(t.Context())
		first := d.authorise(ctx, d.asker(id), request)
		open := d.asked(id, 1)
		stop(session.ErrShutdown)
		if err := outcomeOf(t, first); !errors.Is(err, session.ErrShutdown) {
			t.Fatal(err)
		}
		questions := []session.Question{colour()}
		d.append(id, session.QuestionAsked{Request: "que_1", Agent: "build", Questions: questions, Before: true})
		openQuestions, err := d.Questions(t.Context(), id)
		if err != nil || len(openQuestions) != 1 {
			t.Fatal(openQuestions, err)
		}
		asker := d.asker(id)
		asker.Earlier = session.NewAnswers(open, openQuestions)
		second := d.authorise(t.Context(), asker, request)
		d.reply(open[0].Request, session.ReplyOnce, "")
		if err := outcomeOf(t, second); err != nil {
			t.Error(err)
		}
		answered := make(chan [][]string, 1)
		go func() {
			answers, err := d.Ask(t.Context(), asker, questions, true)
			if err != nil {
				t.Error(err)
			}
			answered <- answers
		}()
		if _, err := d.Answer(t.Context(), session.System(), "que_1", [][]string{{"Red"}}); err != nil {
			t.Fatal(err)
		}
		if got := <-answered; len(got) != 1 || got[0][0] != "Red" {
			t.Errorf("answers %q", got)
		}
		if asked := d.events(id, session.PermissionAsked{}, session.QuestionAsked{}); len(asked) != 2 {
			t.Errorf("asked %q", asked)
		}
		if woken := d.woken(); len(woken) != 2 {
			t.Errorf("woken %q; a session without a process goes on with each answer", woken)
		}
	})
	t.Run("many goroutines of one call share them", func(t *testing.T) {
		d := newOffice(t, nil, askBash())
		id := d.make("/p", "")
		var earlier []session.Permission
		for n := range 8 {
			request := "per_" + string(rune('a'+n))
			d.append(id, session.PermissionAsked{Request: request, Agent: "build", Ask: bash("ls")}, session.PermissionReplied{Request: request, Reply: session.ReplyOnce})
			earlier = append(earlier, session.Permission{PermissionAsked: session.PermissionAsked{Request: request, Ask: bash("ls")}, Reply: session.ReplyOnce})
		}
		asker := d.asker(id)
		asker.Earlier = session.NewAnswers(earlier, nil)
		var group sync.WaitGroup
		for range earlier {
			group.Go(func() {
				if err := d.Authorise(t.Context(), asker, bash("ls")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	told := func(d *office, id string) (asked, answered int) {
		return len(d.events(id, session.ChildAsked{})), len(d.events(id, session.ChildAnswered{}))
	}
	family := func(t *testing.T) (*office, []string) {
		d := newOffice(t, nil, askBash())
		top := d.make("/p", "")
		middle := d.make("/p", top)
		return d, []string{top, middle, d.make("/p", middle)}
	}
	t.Run("they are told, list what is open, and are told that it is closed", func(t *testing.T) {
		d, ids := family(t)
		child := ids[2]
		permission := d.authorise(t.Context(), d.asker(child), bash("ls"))
		d.Await(ids[0], session.ChildAsked{}.EventType(), 1)
		question := d.question(t.Context(), d.asker(child), colour())
		own := d.authorise(t.Context(), d.asker(ids[0]), bash("cp"))
		for _, id := range ids[:2] {
			d.Await(id, session.ChildAsked{}.EventType(), 2)
		}
		d.asked(ids[0], 1)
		for i, want := range []int{2, 1, 1} {
			open := d.asked(ids[i], 0)
			questions, err := d.Questions(t.Context(), ids[i])
			if err != nil || len(open) != want || open[0].Session != child || len(questions) != 1 || questions[0].Session != child {
				t.Fatalf("session %d: open %+v, %+v, %v", i, open, questions, err)
			}
		}
		d.reply(d.asked(child, 0)[0].Request, session.ReplyReject, "")
		refusal(t, outcomeOf(t, permission))
		refusal(t, outcomeOf(t, question))
		open := d.asked(ids[0], 0)
		if len(open) != 1 || open[0].Session != ids[0] {
			t.Fatalf("open %+v; a refusal in a child leaves the parent's own", open)
		}
		d.reply(open[0].Request, session.ReplyOnce, "")
		if err := outcomeOf(t, own); err != nil {
			t.Error(err)
		}
		for _, id := range ids[:2] {
			if asked, answered := told(d, id); asked != 2 || answered != 2 {
				t.Errorf("%d asked, %d answered", asked, answered)
			}
		}
	})
	t.Run("a withdrawal is told, a request that outlives its process is told once", func(t *testing.T) {
		d, ids := family(t)
		for _, before := range []bool{false, true} {
			ctx, stop := context.WithCancelCause(t.Context())
			request := bash("ls")
			request.Before = before
			done := d.authorise(ctx, d.asker(ids[2]), request)
			n := 1
			if before {
				n = 2
			}
			d.Await(ids[0], session.ChildAsked{}.EventType(), n)
			d.Await(ids[1], session.ChildAsked{}.EventType(), n)
			stop(session.ErrShutdown)
			if err := outcomeOf(t, done); !errors.Is(err, session.ErrShutdown) {
				t.Fatal(err)
			}
		}
		if asked, answered := told(d, ids[0]); asked != 2 || answered != 1 {
			t.Errorf("%d asked, %d answered", asked, answered)
		}
		asker := d.asker(ids[2])
		open := d.asked(ids[2], 0)
		asker.Earlier = session.NewAnswers(open, nil)
		done := d.authorise(t.Context(), asker, bash("ls"))
		d.reply(open[0].Request, session.ReplyOnce, "")
		if err := outcomeOf(t, done); err != nil {
			t.Error(err)
		}
		if asked, answered := told(d, ids[0]); asked != 2 || answered != 2 {
			t.Errorf("%d asked, %d answered", asked, answered)
		}
	})
	t.Run("who closes a request by itself tells it", func(t *testing.T) {
		d, ids := family(t)
		d.append(ids[2], session.PermissionAsked{Request: "per_1", Agent: "build", Ask: bash("ls")})
		d.append(ids[0], session.ChildAsked{Session: ids[2], Request: "per_1"})
		d.append(ids[2], session.PermissionReplied{Request: "per_1", Reply: session.ReplyWithdrawn})
		if open := d.asked(ids[0], 0); len(open) != 0 {
			t.Errorf("open %+v", open)
		}
		d.Told(t.Context(), ids[2], "per_1")
		d.Told(t.Context(), ids[2], "per_1")
		if asked, answered := told(d, ids[0]); asked != 1 || answered != 1 {
			t.Errorf("%d asked, %d answered", asked, answered)
		}
	})
	t.Run("nothing is asked under an ancestor that is gone: what limited it is not known", func(t *testing.T) {
		d, ids := family(t)
		if err := d.Log.Delete(t.Context(), ids[0]); err != nil {
			t.Fatal(err)
		}
		if err := outcomeOf(t, d.authorise(t.Context(), d.asker(ids[2]), bash("ls"))); !errors.Is(err, session.ErrNotFound) {
			t.Error(err)
		}
		d.asked(ids[2], 0)
	})
}

func TestTodos(t *testing.T) {
	t.Parallel()
	d := newOffice(t, nil)
	id := d.make("/p", "")
	lists := session.NewTodoLists(d.Log, d.Encoder)
	if todos, err := lists.Todos(t.Context(), id); err != nil || todos != nil {
		t.Errorf("none yet: %v, %v", todos, err)
	}
	missing := d.Encoder.IDs.New(session.PrefixSession)
	if _, err := lists.Todos(t.Context(), missing); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a missing session: %v", err)
	}
	if err := lists.SetTodos(t.Context(), session.Asker{Session: missing, Fence: d.asker(id).Fence}, nil); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a missing session: %v", err)
	}
	list := []session.Todo{{ID: "1", Content: "write", Status: "in_progress", Priority: "high"}, {ID: "2", Content: "test", Status: "pending"}}
	for _, set := range [][]session.Todo{list[:1], list} {
		if err := lists.SetTodos(t.Context(), d.asker(id), set); err != nil {
			t.Fatal(err)
		}
	}
	if todos, err := lists.Todos(t.Context(), id); err != nil || !slices.Equal(todos, list) {
		t.Errorf("got %+v, %v", todos, err)
	}
	long := strings.Repeat("x", 4097)
	for want, todos := range map[string][]session.Todo{
		"there are 257 todos; the most is 256":                                               make([]session.Todo, 257),
		"todos[0].id has 0 bytes; it must name the item in at most 4096":                     {{Content: "a", Status: "pending"}},
		`todos[1].id is "1", which is there already; ids must differ`:                        {list[0], list[0]},
		"todos[0].content has 1 bytes; it must say something in at most 4096":                {{ID: "1", Content: " ", Status: "pending"}},
		"todos[0].content has 4097 bytes; it must say something in at most 4096":             {{ID: "1", Content: long, Status: "pending"}},
		`todos[0].status is "done"; it must be pending, in_progress, completed or cancelled`: {{ID: "1", Content: "a", Status: "done"}},
		`todos[0].priority is "top"; it must be high, medium, low or nothing`:                {{ID: "1", Content: "a", Status: "pending", Priority: "top"}},
	} {
		if err := lists.SetTodos(t.Context(), d.asker(id), todos); !errors.Is(err, session.ErrInvalid) || err.Error() != "invalid request: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got := d.events(id, session.TodosChanged{}); len(got) != 2 {
		t.Errorf("recorded %q", got)
	}
	if err := lists.SetTodos(t.Context(), d.asker(id), nil); err != nil {
		t.Fatal(err)
	}
	if todos, err := lists.Todos(t.Context(), id); err != nil || len(todos) != 0 {
		t.Errorf("emptied: %v, %v", todos, err)
	}
}
