package main

import (
	"os"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// keyed is one command that keys can repeat.
type keyed struct {
	name string
	// prepare answers the id that the command is about.
	prepare func(r *rig) string
	// run makes the request, or another one of the same kind.
	run func(r *rig, caller server.Caller, id string, other bool) (receipt any, err error)
	// effects counts what the command did.
	effects func(r *rig, id string) int
	// single: once it was done there is nothing left for others to do.
	single bool
}

func keyedCommands() []keyed {
	return []keyed{
		{
			"create", func(*rig) string { return "" },
			func(r *rig, caller server.Caller, _ string, other bool) (any, error) {
				title := map[bool]string{false: "one", true: "other"}[other]
				s, _, err := sessionService{r.backend}.Create(r.within(), caller, protocol.CreateSession{Title: title})
				s.Cursor = ""
				return s, err
			},
			func(r *rig, _ string) int {
				list, err := sessionService{r.backend}.List(r.within(), protocol.ListSessions{Limit: 100})
				if err != nil {
					r.t.Fatal(err)
				}
				return len(list.Sessions)
			}, false,
		},
		{
			"prompt", (*rig).session,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				body := protocol.PromptBody{Text: map[bool]string{false: "count 1", true: "count 2"}[other]}
				hold := false
				return promptService{r.backend}.Admit(r.within(), caller, id, protocol.Prompt{PromptBody: body, Resume: &hold})
			},
			func(r *rig, id string) int { return r.count(id, is[session.PromptAdmitted]) }, false,
		},
		{
			"interrupt", (*rig).session,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				if other {
					id = r.session()
				}
				return controlService{r.backend}.Interrupt(r.within(), caller, id)
			},
			func(r *rig, id string) int { return r.count(id, is[session.InterruptRequested]) }, false,
		},
		{
			"compact", (*rig).session,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				if other {
					id = r.session()
				}
				return controlService{r.backend}.Compact(r.within(), caller, id)
			},
			func(r *rig, id string) int { return r.count(id, is[session.CompactionRequested]) }, false,
		},
		{
			"resume",
			func(r *rig) string {
				id := r.session()
				r.settled(id, "count 1")
				return id
			},
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				if other {
					id = r.session()
				}
				receipt, err := controlService{r.backend}.Resume(r.within(), caller, id)
				if err == nil {
					at, _ := protocol.ParseCursor(receipt.Cursor)
					r.await(id, at.Seq, is[session.ActivityEnded])
					r.idle(id) // a resume joins one that has not quite ended
				}
				return receipt, err
			},
			func(r *rig, id string) int {
				return r.count(id, func(payload session.Payload) bool {
					started, ok := payload.(session.ActivityStarted)
					return ok && started.Opener == session.OpenedByResume
				})
			}, false,
		},
		{
			"reply", func(r *rig) string { return r.asked(r.session()) },
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				answer := map[bool]protocol.Answer{false: protocol.AnswerOnce, true: protocol.AnswerReject}[other]
				return permissionService{r.backend}.Reply(r.within(), caller, id, protocol.PermissionReply{Reply: answer})
			},
			func(r *rig, id string) int {
				return r.count(r.sessionOf(id), is[session.PermissionReplied])
			}, true,
		},
		{
			"change", (*rig).session,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				agent := map[bool]string{false: "plan", true: "other"}[other]
				return controlService{r.backend}.Change(r.within(), caller, id, protocol.ChangeSession{Agent: agent})
			},
			func(r *rig, id string) int { return r.count(id, is[session.AgentSwitched]) }, true,
		},
		{
			"move", (*rig).session,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				directory := map[bool]string{false: os.TempDir(), true: "/"}[other]
				return controlService{r.backend}.Move(r.within(), caller, id, protocol.MoveSession{Location: protocol.Location{Directory: directory}})
			},
			func(r *rig, id string) int { return r.count(id, is[session.Moved]) }, true,
		},
		{
			"cancel", (*rig).held,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				in := r.sessionOfPrompt(id)
				if other {
					id = r.held()
				}
				return waitingService{r.backend}.Cancel(r.within(), caller, in, id)
			},
			func(r *rig, id string) int { return r.count(r.sessionOfPrompt(id), is[session.PromptCancelled]) }, true,
		},
		{
			"revise", (*rig).held,
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				text := map[bool]string{false: "count 2", true: "count 3"}[other]
				return waitingService{r.backend}.Change(r.within(), caller, r.sessionOfPrompt(id), id,
					protocol.ChangePrompt{Prompt: &protocol.PromptBody{Text: text}, Delivery: protocol.Queue})
			},
			func(r *rig, id string) int { return r.count(r.sessionOfPrompt(id), is[session.PromptEdited]) }, true,
		},
		{
			"answer", func(r *rig) string { return r.question(r.session()) },
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				label := map[bool]string{false: "Red", true: "Green"}[other]
				return questionService{r.backend}.Answer(r.within(), caller, id, protocol.QuestionAnswer{Answers: [][]string{{label}}})
			},
			func(r *rig, id string) int { return r.count(r.sessionOf(id), is[session.QuestionAnswered]) }, true,
		},
		{
			"dismiss", func(r *rig) string { return r.question(r.session()) },
			func(r *rig, caller server.Caller, id string, other bool) (any, error) {
				if other {
					id = r.question(r.session())
				}
				return questionService{r.backend}.Dismiss(r.within(), caller, id)
			},
			func(r *rig, id string) int { return r.count(r.sessionOf(id), is[session.QuestionDismissed]) }, true,
		},
	}
}

// question records a question that nobody waits for and answers its id.
func (r *rig) question(id string) string {
	r.t.Helper()
	request := r.encoder().IDs.New(session.PrefixQuestion)
	r.record(id, session.QuestionAsked{Request: request, Agent: r.config.Agent, Questions: []session.Question{
		{Text: "Which colour?", Options: []session.QuestionOption{{Label: "Red"}, {Label: "Green", Description: "like grass"}}}}})
	return request
}

// child records a session under another one.
func (r *rig) child(parent string) string {
	r.t.Helper()
	id := r.encoder().IDs.New(session.PrefixSession)
	r.record(id, session.Created{Location: session.Location{Directory: r.project, Root: r.project}, Agent: r.config.Agent, Parent: parent, Depth: 1})
	return id
}

// record appends an event and answers it.
func (r *rig) record(aggregate string, payload session.Payload) store.Event {
	r.t.Helper()
	events, err := r.encoder().Encode(session.System(), payload)
	if err == nil {
		events, err = r.store.Append(r.within(), store.Batch{Aggregate: aggregate, Mode: store.Any(), Events: events})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return events[0]
}

func (r *rig) encoder() session.Encoder {
	return session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}}
}

// held answers a prompt that waits in a session of its own.
func (r *rig) held() string {
	r.t.Helper()
	hold := false
	receipt, err := promptService{r.backend}.Admit(r.within(), server.Caller{Actor: "test"}, r.session(),
		protocol.Prompt{PromptBody: protocol.PromptBody{Text: "count 1"}, Resume: &hold})
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt.ID
}

func (r *rig) sessionOfPrompt(id string) string {
	r.t.Helper()
	input, err := r.backend.sessions.Input(r.within(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return input.Session
}

// asked makes the session ask a permission and answers the request's id.
func (r *rig) asked(id string) string {
	r.t.Helper()
	receipt := r.prompt(id, "read .env")
	event := r.await(id, receipt.AdmittedSeq, is[session.PermissionAsked])
	return r.decode(event).(session.PermissionAsked).Request
}

// sessionOf finds the session that made a request.
func (r *rig) sessionOf(request string) string {
	r.t.Helper()
	page, err := r.store.Feed(r.t.Context(), 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, event := range page.Events {
		switch asked := r.decode(event).(type) {
		case session.PermissionAsked:
			if asked.Request == request {
				return event.Aggregate
			}
		case session.QuestionAsked:
			if asked.Request == request {
				return event.Aggregate
			}
		}
	}
	r.t.Fatalf("no session asked %s", request)
	return ""
}
