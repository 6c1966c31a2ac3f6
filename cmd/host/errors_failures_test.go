package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// failing is one way in which the work on a prompt ends other than well.
type failing struct {
	code    string // of the failure
	outcome protocol.Outcome
	text    string
	// step: the model had begun to answer, so its message has the failure too.
	step string
	// pending: the prompt was not taken and waits.
	pending bool
	exit    int
	// note is the last line of plinth run, where it is not the text with the code.
	note string

	config string
	prompt string
	format string   // of the prompt
	args   []string // of plinth run
	// arrange readies the host; session makes the session of one door, and id is the
	// prompt's where it is known beforehand.
	arrange func(r *rig)
	session func(r *rig) (session, id string)
	// during goes on beside the prompt over HTTP.
	during func(r *rig, session string)
}

// objectSchema is a schema that the offline model never answers to.
const objectSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

func failures() []failing {
	return []failing{
		{
			code: session.FailureContextBlocked, outcome: protocol.OutcomeFailed, exit: exitActivity, pending: true, prompt: "count 1",
			text: "the context sources test/weather cannot be read, so the session has no context to start with; " +
				"the prompt stays pending and is tried again with the next one or a resume",
			arrange: func(r *rig) {
				source := sessiontest.Source{Names: []string{"test/weather"}, Run: func(context.Context, session.Observation) ([]session.SourceState, error) {
					return nil, errors.New("no barometer")
				}}
				r.contribute("test/weather", r.kinds.Contexts.Contribute("test/weather", 0, source))
			},
		},
		{
			code: session.FailureModelUnavailable, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "count 1",
			text:   "the provider lacking needs the plugin acme/lacking, which is not there; put it into one of plugins.folders, or see with plinth plugins what was refused",
			step:   session.FailureModelUnavailable,
			config: "[providers.lacking]\nplugin = \"acme/lacking\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
			session: func(r *rig) (string, string) {
				return r.create(protocol.CreateSession{Model: &protocol.ModelRef{Provider: "lacking", Model: "x"}}), ""
			},
		},
		{
			code: session.FailureAgentUnavailable, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "count 1",
			text: `There is no agent "gone"; configure [agents.gone], or go on as another one: build, plan`,
			session: func(r *rig) (string, string) {
				r.configure("[agents.gone]\ndescription = \"Was here\"\nmode = \"primary\"\n")
				r.restart()
				id := r.create(protocol.CreateSession{Agent: "gone"})
				r.configure("")
				r.restart()
				return id, ""
			},
		},
		{
			code: session.FailureTransform, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "count 1", pending: true,
			text: "The transform test/rules failed: the rules are empty; remove it or set its on_error to skip",
			arrange: func(r *rig) {
				r.contribute("test/rules", r.kinds.Transforms.Contribute("test/rules", 0, brokenTransform{}))
			},
		},
		{
			code: session.FailureMaxTurns, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "read notes.txt",
			text:   "The activity took 1 provider turns and asks for more; raise runner.max_turns, or resume to go on",
			config: "[runner]\nmax_turns = 1\n",
		},
		{
			code: session.FailureBudget, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "count 1", pending: true,
			text: "the session's budget of 1 turns is used up, with 1 spent; raise turns in [[budgets]] of the configuration, or start a new session",
			session: func(r *rig) (string, string) {
				id := r.create(protocol.CreateSession{Budgets: []protocol.Budget{{Turns: 1, Per: "session", Action: "stop"}}})
				r.settled(id, "count 1")
				return id, ""
			},
		},
		{
			code: session.FailureFormat, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "count 1", format: objectSchema,
			text: "The model did not give the structured answer that the prompt asks for, although it was reminded 1 times; " +
				"ask again, choose another model, or simplify prompt.format",
			config: "[runner]\nstructured_retries = 1\n",
		},
		{
			code: session.FailureRecovery, outcome: protocol.OutcomeInterrupted, exit: exitInterrupted, prompt: "count 1",
			text:    "The host stopped 4 times while it worked on this, so it is not tried again by itself; resume to go on",
			note:    "plinth: interrupted; go on with plinth run --session ·",
			session: (*rig).crashedOften,
		},
		{
			code: session.FailureUndecodable, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "call corrupt {}",
			text: "read session: the stored message · cannot be read: unexpected end of JSON input; " +
				"plinth events still shows the session's events: go on in a new session, or restore a backup",
			arrange: func(r *rig) {
				r.tool("corrupt", func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
					return sessiontest.Output("done"), r.corrupt(call.Session)
				})
			},
		},
		{
			code: session.FailureInterrupted, outcome: protocol.OutcomeInterrupted, exit: exitInterrupted, prompt: "call stop {}",
			text: "Provider turn interrupted", step: session.FailureInterrupted, note: "plinth: interrupted; go on with plinth run --session ·",
			arrange: (*rig).stopTool,
		},
		{
			code: session.FailureDeclined, outcome: protocol.OutcomeHalted, exit: exitDenied, prompt: "read .env",
			text: "A person declined; prompt or resume to go on", step: session.FailureDeclined,
			note: "plinth: permission denied; the session has the request", args: []string{"--on-ask", "fail"},
			during: func(r *rig, id string) {
				asked := r.decode(r.await(id, -1, is[session.PermissionAsked])).(session.PermissionAsked)
				got[protocol.PermissionReceipt](r, request{path: "/v1/permissions/" + asked.Request + "/reply", body: `{"reply":"reject"}`})
			},
		},
		{
			code: session.FailureRevert, outcome: protocol.OutcomeFailed, exit: exitActivity, pending: true, prompt: "count 1",
			text: "The files of the revert that is staged are not all restored: no such snapshot of the files is kept: " +
				"FOLDER/project is not in a git work tree; clear the revert, or stage it again without files (--no-files) to leave them as they are",
			session: func(r *rig) (string, string) {
				id := r.session()
				r.record(id, session.RevertStaged{Revert: session.Revert{Message: "msg_gone", Boundary: -1, Target: "gone", Restoring: true}})
				return id, ""
			},
		},
		{
			code: session.FailureInternal, outcome: protocol.OutcomeFailed, exit: exitActivity, prompt: "count 1",
			text: "The host failed: the model's wires are crossed", step: session.FailureInternal,
			arrange: func(r *rig) {
				r.provide(func(_ context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
					yield(session.ModelEvent{}, errors.New("the model's wires are crossed"))
				})
			},
		},
	}
}

// TestFailures: however the work on a prompt ends, HTTP, the log and the terminal tell
// the same, in words that say what to do.
func TestFailures(t *testing.T) {
	for _, f := range failures() {
		t.Run(f.code, func(t *testing.T) {
			r := newRig(t)
			r.write("notes.txt", "one\n")
			if f.config != "" {
				r.configure(f.config)
				r.restart()
			}
			if f.arrange != nil {
				f.arrange(r)
			}
			if f.session == nil {
				f.session = func(r *rig) (string, string) { return r.session(), "" }
			}
			f.overHTTP(r)
			f.atTheTerminal(r)
		})
	}
}

// create makes a session as the request says.
func (r *rig) create(asked protocol.CreateSession) string {
	r.t.Helper()
	s, _, err := sessionService{r.backend}.Create(r.within(), server.Caller{Actor: "test"}, asked)
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}

// tool contributes a tool of a function, which asks nobody.
func (r *rig) tool(name string, run func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error)) {
	r.t.Helper()
	tool := sessiontest.Tool{Define: session.ToolDefinition{Name: name, Permission: session.ToolPermission{ByOperation: true}}, Run: run}
	r.contribute("test/"+name, r.kinds.Tools.Contribute(name, 0, tool))
}

// stopTool contributes a tool during which the session is interrupted.
func (r *rig) stopTool() {
	r.tool("stop", func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
		done := make(chan error, 1)
		go func() { // ends with the interrupt, which waits for this call
			_, err := r.backend.sessions.Interrupt(context.WithoutCancel(ctx), session.System(), call.Session)
			done <- err
		}()
		r.t.Cleanup(func() {
			if err := <-done; err != nil {
				r.t.Error(err)
			}
		})
		<-ctx.Done()
		return session.ToolOutput{}, context.Cause(ctx)
	})
}

// corrupt spoils the stored prompts of a session, as a disk might.
func (r *rig) corrupt(id string) error {
	db, err := sql.Open("sqlite3", filepath.Join(r.data, "plinth.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(`UPDATE message SET body = '{' WHERE session_id = ? AND type = 'user'`, id)
	return err
}

// crashedOften answers a session whose host died four times over a prompt. It is made
// of the facts that such hosts leave.
func (r *rig) crashedOften() (id, prompt string) {
	r.t.Helper()
	id = r.session()
	prompt = r.encoder().IDs.New(session.PrefixMessage)
	input, err := r.backend.sessions.Admit(r.within(), session.System(),
		session.PromptRequest{ID: prompt, Session: id, Prompt: session.Prompt{Text: "count 1"}, AdmitOnly: true})
	if err != nil {
		r.t.Fatal(err)
	}
	activity := r.encoder().IDs.New(session.PrefixActivity)
	r.record(id, session.ActivityStarted{Activity: activity, Opener: session.OpenedByPrompt})
	r.record(id, session.PromptPromoted{Message: prompt, Prompt: input.Prompt, Created: input.Created})
	for range 3 {
		r.record(id, session.ActivitySuspended{Activity: activity, Reason: session.SuspendedByCrash})
		r.record(id, session.ActivityRecovered{Activity: activity})
	}
	r.restart()
	return id, prompt
}

// brokenTransform fails and says so.
type brokenTransform struct{}

func (brokenTransform) Spec() session.TransformSpec {
	return session.TransformSpec{Name: "test/rules", Writes: []session.RequestPart{session.RequestSystem}, OnError: "fail"}
}

func (brokenTransform) Apply(context.Context, session.TransformInput) ([]session.Edit, error) {
	return nil, errors.New("the rules are empty")
}

// body is the prompt as HTTP sends it.
func (f failing) body(id string) string {
	encoded, err := json.Marshal(protocol.Prompt{ID: id, PromptBody: protocol.PromptBody{Text: f.prompt, Format: protocol.Raw(f.format)}})
	if err != nil {
		panic(err)
	}
	return string(encoded)
}
