package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// audit reads one session's events and holds them to what must be so whenever a host
// died in between, under a recovery policy.
type audit struct {
	id     string
	policy session.RecoveryPolicy
	wrong  []string

	tag      string // of the first prompt
	created  session.Created
	events   []store.Event
	ids      []string // of the events
	admitted []admission
	place    map[string]int // in admitted
	last     map[session.Delivery]int
	calls    map[callID]int    // settlements
	keys     map[string]string // what each call was to do, by its key
	done     map[string]string // of those that did it
	asks     map[string]*ask
	tasks    map[string]*session.TaskStarted // that run, by the prompt
	given    map[string]session.TaskStarted
	endings  map[string]session.Outcome
	told     map[string]bool // requests of children that are open, as this session was told
	turns    int             // that were started

	activity  string
	opener    session.Opener
	suspended session.SuspendReason
	doubt     string // the request to go on with it
	decided   bool   // to go on
	resume    bool   // asked for, and no activity has served it
	dispatch  bool   // a request of which nothing has come back
	open      string // the answer that is not closed
	crashes   int
	previous  session.Payload
	outcomes  map[string]int // how activities ended, for the report
}

type admission struct {
	session.PromptAdmitted
	seq       int64
	promoted  bool
	cancelled bool
}

type callID struct{ message, call string }

type ask struct {
	message, call string
	action        string
	question      bool
	closed        bool
}

func newAudit(id string, policy session.RecoveryPolicy) *audit {
	return &audit{id: id, policy: policy, place: map[string]int{}, last: map[session.Delivery]int{}, calls: map[callID]int{}, keys: map[string]string{},
		done: map[string]string{}, asks: map[string]*ask{}, tasks: map[string]*session.TaskStarted{}, given: map[string]session.TaskStarted{},
		endings: map[string]session.Outcome{}, told: map[string]bool{}, outcomes: map[string]int{}}
}

func (a *audit) fail(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf("%s after event %d: ", a.id, len(a.ids)-1)+fmt.Sprintf(format, args...))
}

// take reads the next event.
func (a *audit) take(event store.Event) {
	if event.Seq != int64(len(a.ids)) {
		a.fail("event %d is out of order", event.Seq)
	}
	a.ids = append(a.ids, event.ID)
	a.events = append(a.events, event)
	payload, err := session.Decode(event)
	if err != nil {
		a.fail("%v", err)
		return
	}
	switch e := payload.(type) {
	case session.Created:
		a.created = e
	case session.PromptAdmitted, session.PromptPromoted, session.PromptCancelled:
		a.inbox(e, event.Seq)
	case session.ActivityStarted, session.ActivitySuspended, session.ActivityRecovered, session.ActivityEnded, session.ResumeRequested, session.InterruptRequested:
		a.work(e)
	case session.TurnStarted, session.RetryScheduled, session.StepStarted, session.StepEnded, session.StepFailed:
		a.step(e)
	case session.ToolCalled, session.ToolInputEnded, session.ToolSucceeded, session.ToolFailed:
		a.tool(e)
	case session.PermissionAsked, session.PermissionReplied, session.QuestionAsked, session.QuestionAnswered, session.QuestionDismissed:
		a.asking(e)
	case session.TaskStarted, session.TaskEnded, session.ChildAsked, session.ChildAnswered:
		a.child(e)
	}
	a.previous = payload
}

// inbox: admitted once, promoted at most once and in the order of the admissions.
func (a *audit) inbox(payload session.Payload, seq int64) {
	switch e := payload.(type) {
	case session.PromptAdmitted:
		if _, twice := a.place[e.Message]; twice {
			a.fail("%s is admitted twice", e.Message)
		}
		if len(a.admitted) == 0 {
			a.tag = tagOf(e.Prompt.Text)
		}
		a.place[e.Message] = len(a.admitted)
		a.admitted = append(a.admitted, admission{PromptAdmitted: e, seq: seq})
	case session.PromptPromoted:
		at, known := a.place[e.Message]
		if !known {
			a.fail("%s is promoted and was not admitted", e.Message)
			return
		}
		one := &a.admitted[at]
		if one.promoted || one.cancelled {
			a.fail("%s is promoted although promoted=%t, cancelled=%t", e.Message, one.promoted, one.cancelled)
		}
		if before, any := a.last[one.Delivery]; any && before > at {
			a.fail("%s is promoted behind a later one", e.Message)
		}
		one.promoted, a.last[one.Delivery] = true, at
	case session.PromptCancelled:
		if at, known := a.place[e.Message]; known {
			a.admitted[at].cancelled = true
		}
	}
}

// work: one activity at a time, and it goes on only as the policy says.
func (a *audit) work(payload session.Payload) {
	switch e := payload.(type) {
	case session.ActivityStarted:
		if a.activity != "" {
			a.fail("%s starts in %s", e.Activity, a.activity)
		}
		a.activity, a.opener, a.suspended, a.dispatch, a.crashes = e.Activity, e.Opener, "", false, 0
		a.resume = a.resume && e.Opener != session.OpenedByResume
	case session.ActivitySuspended:
		a.suspend(e)
	case session.ActivityRecovered:
		if e.Activity != a.activity || a.suspended == "" {
			a.fail("%s goes on, and %s is suspended by %q", e.Activity, a.activity, a.suspended)
		}
		if a.suspended == session.SuspendedByDoubt && !a.decided {
			a.fail("%s goes on before anybody has decided", e.Activity)
		}
		a.suspended, a.dispatch, a.doubt, a.resume = "", false, "", false
	case session.ActivityEnded:
		a.ended(e)
	case session.ResumeRequested:
		a.decided, a.resume = true, a.activity == "" || a.opener != session.OpenedByResume
	case session.InterruptRequested:
		a.resume = false
	}
}

func (a *audit) suspend(e session.ActivitySuspended) {
	if e.Activity != a.activity || a.suspended != "" {
		a.fail("%s is suspended, and %s runs, suspended by %q", e.Activity, a.activity, a.suspended)
	}
	cut := false // the answer was closed just now
	if failed, ok := a.previous.(session.StepFailed); ok {
		cut = failed.Error.Code == session.FailureInterrupted
	}
	switch e.Reason {
	case session.SuspendedByCrash:
		if a.policy != session.RecoverResume && (a.dispatch || a.open != "" || cut) {
			a.fail("the policy %s lets a doubtful activity go on by itself", a.policy)
		}
		a.crashes++
	case session.SuspendedByDoubt:
		if a.policy != session.RecoverAsk {
			a.fail("the policy %s asks", a.policy)
		}
		a.crashes++
	}
	a.suspended, a.decided = e.Reason, false
}

func (a *audit) ended(e session.ActivityEnded) {
	if e.Activity != a.activity {
		a.fail("%s ends in %s", e.Activity, a.activity)
	}
	if a.open != "" {
		a.fail("the activity ends before the answer %s", a.open)
	}
	reason := string(e.Outcome)
	if e.Error != nil {
		reason += " " + e.Error.Code
		if e.Error.Code == session.FailureInternal || e.Error.Status == 400 {
			a.fail("the activity fails with %+v", e.Error)
		}
	}
	a.outcomes[reason]++
	for id, ask := range a.asks {
		if !ask.closed {
			a.fail("the activity ends before the request %s (%s)", id, ask.action)
		}
	}
	a.activity, a.suspended, a.doubt, a.dispatch = "", "", "", false
}

// step: no turn outside of an activity, no answer inside of another.
func (a *audit) step(payload session.Payload) {
	switch e := payload.(type) {
	case session.TurnStarted:
		if e.Activity != a.activity || a.suspended != "" || a.open != "" {
			a.fail("a turn of %s starts in %s, suspended by %q, in the answer %q", e.Activity, a.activity, a.suspended, a.open)
		}
		a.turns++
		a.dispatch = true
	case session.RetryScheduled:
		a.dispatch = false
	case session.StepStarted:
		if a.open != "" || a.activity == "" || !a.dispatch && a.suspended == "" {
			a.fail("the answer %s starts in %q of %q", e.Message, a.open, a.activity)
		}
		a.open, a.dispatch = e.Message, false
	case session.StepEnded:
		a.close(e.Message)
	case session.StepFailed:
		a.close(e.Message)
	}
}

func (a *audit) close(message string) {
	if message != a.open {
		a.fail("the answer %s is closed, and %q is open", message, a.open)
	}
	for call, settlements := range a.calls {
		if call.message == message && settlements != 1 {
			a.fail("the answer %s is closed with %d settlements of %s", message, settlements, call.call)
		}
	}
	a.open = ""
}

// tool: called in an open answer, settled once.
func (a *audit) tool(payload session.Payload) {
	settle := func(message, call string) {
		settlements, called := a.calls[callID{message, call}]
		if !called || settlements != 0 || message != a.open {
			a.fail("%s of %s is settled, %d times before, called=%t, in the answer %q", call, message, settlements, called, a.open)
		}
		a.calls[callID{message, call}]++
		for id, ask := range a.asks {
			if ask.message == message && ask.call == call && !ask.closed {
				a.fail("%s is settled before its request %s (%s)", call, id, ask.action)
			}
		}
	}
	called := func(message, call string) {
		if _, twice := a.calls[callID{message, call}]; twice || message != a.open || a.suspended != "" {
			a.fail("%s of %s is called twice=%t in the answer %q, suspended by %q", call, message, twice, a.open, a.suspended)
		}
		a.calls[callID{message, call}] = 0
	}
	switch e := payload.(type) {
	case session.ToolCalled:
		called(e.Message, e.Call)
		if key := callKey(e.Call); key != "" {
			if a.keys[key] != "" {
				a.fail("the call %s is there twice", e.Call)
			}
			a.keys[key] = operationOf(e)
		}
	case session.ToolInputEnded:
		called(e.Message, e.Call)
	case session.ToolSucceeded:
		settle(e.Message, e.Call)
		if key := callKey(e.Call); key != "" && bytes.HasPrefix(e.Structured, []byte(`{"ok":`)) {
			a.done[key] = a.keys[key]
		}
	case session.ToolFailed:
		settle(e.Message, e.Call)
	}
}

// operationOf is what a call carries out, or the tool's name.
func operationOf(call session.ToolCalled) string {
	var input struct{ Op string }
	if err := json.Unmarshal(call.Input, &input); err != nil || input.Op == "" {
		return call.Name
	}
	return input.Op
}

// asking: asked once, closed once.
func (a *audit) asking(payload session.Payload) {
	asked := func(request string, one ask) {
		if a.asks[request] != nil {
			a.fail("%s is asked twice", request)
		}
		a.asks[request] = &one
	}
	closed := func(request string) {
		one := a.asks[request]
		if one == nil || one.closed {
			a.fail("%s is closed, and is not open", request)
			return
		}
		one.closed = true
	}
	switch e := payload.(type) {
	case session.PermissionAsked:
		asked(e.Request, ask{message: e.Message, call: e.Call, action: e.Ask.Action})
		if e.Ask.Action == "recovery" {
			if a.suspended != session.SuspendedByDoubt || !slices.Equal(e.Ask.Resources, []string{a.activity}) {
				a.fail("it is asked whether to go on with %v, and %s is suspended by %q", e.Ask.Resources, a.activity, a.suspended)
			}
			a.doubt = e.Request
		}
	case session.PermissionReplied:
		closed(e.Request)
		a.decided = a.decided || e.Request == a.doubt && (e.Reply == session.ReplyOnce || e.Reply == session.ReplyAlways)
	case session.QuestionAsked:
		asked(e.Request, ask{message: e.Message, call: e.Call, action: "question", question: true})
	case session.QuestionAnswered:
		closed(e.Request)
	case session.QuestionDismissed:
		closed(e.Request)
	}
}

// child: each task ends once, each request of a child that is told is taken back.
func (a *audit) child(payload session.Payload) {
	switch e := payload.(type) {
	case session.TaskStarted:
		if _, twice := a.given[e.Prompt]; twice {
			a.fail("the task %s is given twice", e.Prompt)
		}
		a.given[e.Prompt], a.tasks[e.Prompt] = e, &e
	case session.TaskEnded:
		if a.tasks[e.Prompt] == nil {
			a.fail("the task %s ends, and does not run", e.Prompt)
		}
		delete(a.tasks, e.Prompt)
		a.endings[e.Prompt] = e.Outcome
	case session.ChildAsked:
		a.told[e.Request] = true
	case session.ChildAnswered:
		delete(a.told, e.Request)
	}
}

// pending are the prompts that wait.
func (a *audit) pending() (waiting []string) {
	for _, one := range a.admitted {
		if !one.promoted && !one.cancelled {
			waiting = append(waiting, one.Message)
		}
	}
	return waiting
}

// openAsks are the requests that wait for a person.
func (a *audit) openAsks() (waiting []string) {
	for id, one := range a.asks {
		if !one.closed {
			waiting = append(waiting, id)
		}
	}
	return waiting
}

// rest reports whether nothing is left to do in the session. The end of a task in the
// background comes with the prompt that brings its result.
func (a *audit) rest() bool {
	ended, isEnd := a.previous.(session.TaskEnded)
	return !(isEnd && a.given[ended.Prompt].Background) && a.activity == "" && !a.resume && len(a.pending()) == 0 && len(a.tasks) == 0 && len(a.told) == 0
}

// settled holds the session to being at rest.
func (a *audit) settled() {
	if a.activity != "" || a.open != "" {
		a.fail("at rest %s has not ended, the answer %q is open", a.activity, a.open)
	}
	if open := a.openAsks(); len(open) > 0 {
		a.fail("at rest the requests %v are open", open)
	}
	for call, settlements := range a.calls {
		if settlements != 1 {
			a.fail("at rest %s has %d settlements", call.call, settlements)
		}
	}
	if len(a.tasks) > 0 || len(a.told) > 0 {
		a.fail("at rest %d tasks run, and requests of children are told as open: %v", len(a.tasks), a.told)
	}
}
