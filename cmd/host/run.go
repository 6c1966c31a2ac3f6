package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// runFlags are the flags of plinth run.
type runFlags struct {
	session, id, directory, model, variant, agent, onAsk, format string
	allow, files                                                 []string
	queue, json, noExpand                                        bool
	command                                                      string
}

func (c *cli) runCommand() *cobra.Command {
	var flags runFlags
	command := &cobra.Command{
		Use:   "run PROMPT | run --command NAME [ARGUMENT…]",
		Short: "Send a prompt, follow the answer live and exit when it is complete",
		Long: `Sends the prompt to a session, shows the model's text on standard output and tool
calls on standard error, and exits when the work on it has ended. Without a running
host it starts one for the time of the command, on the same data.

What the prompt mentions with @ goes with it: a file or folder of the session's
directory, lines of a file, an agent, a reference.`,
		Example: `  plinth run "Read go.mod and say which module this is."
  plinth run --model local/llama --allow read "Summarise README.md"
  plinth run --session ses_… "And now the tests"
  plinth run "Explain @main.go#L10-40"
  plinth run --command review main.go
  plinth run --file screenshot.png "What is wrong with this page?"
  plinth run --format answer.schema.json "Which modules are here?"`,
		Args: usage(func(command *cobra.Command, args []string) error {
			if flags.command != "" {
				return nil
			}
			return cobra.ExactArgs(1)(command, args)
		}),
		RunE: func(command *cobra.Command, args []string) error {
			return c.run(command.Context(), flags, commandLine(args))
		},
	}
	set := command.Flags()
	set.StringVarP(&flags.session, "session", "s", "", "go on with this session instead of a new one")
	set.StringVar(&flags.id, "id", "", "the prompt's id, msg_…; sent again with it to the same session, the prompt is admitted once")
	set.StringVarP(&flags.directory, "dir", "C", "", "the new session's working directory (default: this one)")
	set.StringVarP(&flags.model, "model", "m", "", "provider/model (default: the configured one)")
	set.StringVar(&flags.variant, "variant", "", "variant of the model, as its settings have names")
	set.StringVar(&flags.agent, "agent", "", "agent to work as; with --session from this prompt on (default: the configured one)")
	set.StringVar(&flags.format, "format", "", "a JSON Schema in this file that the answer must fit; it is printed as JSON, and the model's text goes to standard error")
	set.StringVar(&flags.command, "command", "", "send the prompt that the operator wrote under this name, with the arguments")
	set.BoolVar(&flags.noExpand, "no-expand", false, "send the text as it is: an @ mentions nothing")
	set.BoolVar(&flags.queue, "queue", false, "wait for what the session works on, instead of joining it at its next turn")
	set.StringVar(&flags.onAsk, "on-ask", "", "what to do when a permission or a question is asked: ask, deny or fail (default: ask at a terminal, else deny)")
	set.StringArrayVar(&flags.allow, "allow", nil, "allow ACTION or ACTION:RESOURCE in this run; may be repeated")
	set.StringArrayVar(&flags.files, "file", nil, "attach this file: an image, a PDF or a text, at most 20 MiB; may be repeated")
	set.BoolVar(&flags.json, "json", false, "print the events as lines of JSON instead of text")
	return command
}

func (c *cli) run(ctx context.Context, flags runFlags, text string) error {
	mode, err := parseOnAsk(flags.onAsk, c.interactive())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	allow, err := parseAllow(flags.allow)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if flags.id != "" && flags.session == "" {
		return &exitError{exitUsage, errors.New("--id needs --session: a prompt is repeated in its session")}
	}
	create, prompt, err := c.request(flags, text)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	attachments, err := readAttachments(flags.files)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if prompt.Files, err = attach(ctx, host, attachments); err != nil {
		return err
	}
	asked := asks{client: host, mode: mode, allow: allow, in: bufio.NewReader(c.in), notes: c.errors}
	id, err := sessionID(ctx, host, flags.session)
	if err != nil {
		return err
	}
	from := ""
	if id != "" {
		// What was asked before keeps the prompt waiting, and the run sees no event of it.
		if err := asked.open(ctx, id, ""); err != nil {
			return err
		}
		known, err := host.Session(ctx, id)
		if err != nil {
			return err
		}
		from = known.Cursor
	} else {
		created, err := host.CreateSession(ctx, create)
		if err != nil {
			return err
		}
		id, from = created.ID, created.Cursor
		if prompt.Command == nil { // else the command's own would come instead
			prompt.Model, prompt.Agent = nil, ""
		}
	}
	receipt, err := c.send(ctx, host, &asked, id, from, prompt)
	if err != nil {
		return err
	}
	c.tellExpanded(receipt)
	r := &run{
		client: host, receipt: receipt, json: flags.json, cli: c, transcript: newTranscript(c.out, c.errors), asks: asked,
		progress: progress{prompt: receipt.ID}, structured: len(prompt.Format) > 0 && !flags.json,
	}
	if r.structured {
		r.transcript.out = c.errors
	}
	return r.follow(ctx)
}

// request makes of the flags the session to create, and the prompt as an existing
// session gets it.
func (c *cli) request(flags runFlags, text string) (create protocol.CreateSession, prompt protocol.Prompt, err error) {
	prompt = protocol.Prompt{ID: flags.id, PromptBody: protocol.PromptBody{Text: text, Agent: flags.agent, Variant: flags.variant}}
	if flags.command != "" {
		prompt.Text, prompt.Command = "", &protocol.CommandCall{Name: flags.command, Arguments: text}
	} else {
		prompt.Expand = !flags.noExpand
	}
	if flags.queue {
		prompt.Delivery = protocol.Queue
	}
	if create.Location.Directory, err = c.absolute(flags.directory); err != nil {
		return create, prompt, err
	}
	if flags.model != "" {
		model, err := session.ParseModel(flags.model)
		if err != nil {
			return create, prompt, fmt.Errorf("--model: %s", reason(err))
		}
		prompt.Model = wireModel(model)
	}
	if flags.format != "" {
		if prompt.Format, err = readFormat(flags.format); err != nil {
			return create, prompt, err
		}
	}
	create.Agent, create.Model = prompt.Agent, prompt.Model
	return create, prompt, nil
}

// readFormat reads the schema that an answer must fit. What is wrong with it beyond
// being no JSON, the host says.
func readFormat(name string) (protocol.Raw, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--format: %w", err)
	}
	if !json.Valid(content) {
		return nil, fmt.Errorf("--format: %s is no JSON; it must be a JSON Schema of an object", name)
	}
	return content, nil
}

// absolute answers the working directory that a flag names.
func (c *cli) absolute(directory string) (string, error) {
	if directory == "" {
		directory = "."
	}
	return absolutePath(directory)
}

// interactive reports whether a person sits at standard input.
func (c *cli) interactive() bool {
	file, ok := c.in.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// run follows one prompt to its end.
type run struct {
	client     *client.Client
	receipt    protocol.Receipt
	json       bool
	cli        *cli
	transcript *transcript
	asks       asks
	progress   progress
	structured bool // the structured answer is printed, not the text
	removal    bool // the session is being removed
}

func (r *run) follow(ctx context.Context) error {
	followCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	// An interrupt stops the session first; its events then end the loop.
	defer context.AfterFunc(ctx, func() {
		if _, err := r.client.Interrupt(followCtx, r.receipt.SessionID); err != nil {
			stop(&exitError{exitInterrupted, fmt.Errorf("interrupted, and the host was not told: %w", err)})
		}
	})()
	away := absence{patience: r.cli.patience, note: r.transcript.note, stop: stop, left: "the prompt stays in session " + r.receipt.SessionID}
	options := client.FollowOptions{After: r.receipt.Cursor, Deltas: !r.json, Retry: away.retry}
	for update, err := range r.client.Follow(followCtx, r.receipt.SessionID, options) {
		if err != nil {
			return followError(r.receipt.SessionID, err)
		}
		away.back()
		switch {
		case update.Part != nil && r.progress.promoted:
			r.transcript.part(update.Part)
		case update.Event != nil:
			ended, err := r.event(followCtx, update.Event)
			if err != nil || ended != nil {
				return errors.Join(err, r.end(ended))
			}
		}
	}
	return nil
}

// event handles one event, and answers the end of the activity that took the prompt.
func (r *run) event(ctx context.Context, event *protocol.Event) (*session.ActivityEnded, error) {
	payload, err := session.Decode(store.Event{Aggregate: event.Session, Seq: event.Seq, Type: event.Type, Version: event.Version, Data: event.Data})
	if err != nil {
		return nil, err
	}
	if r.json {
		line, err := eventJSON(event)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(r.cli.out, line)
	}
	ended, cancelled := r.progress.see(payload)
	switch {
	case cancelled:
		return nil, &exitError{exitInterrupted, errors.New("the prompt was cancelled before the session took it")}
	case ended != nil:
		return ended, nil
	}
	switch e := payload.(type) {
	case session.InterruptRequested:
		r.removal = r.removal || e.Removal
	case session.PermissionAsked:
		return nil, r.asks.permission(ctx, wirePermission(session.Permission{PermissionAsked: e, Session: event.Session}, event.Cursor))
	case session.QuestionAsked:
		return nil, r.asks.question(ctx, wireQuestion(session.QuestionRequest{QuestionAsked: e, Session: event.Session}, event.Cursor))
	case session.ChildAsked:
		return nil, r.asks.open(ctx, event.Session, e.Request)
	}
	if r.progress.promoted && !r.json {
		r.transcript.event(payload)
	}
	return nil, nil
}

// end turns an activity's end into the exit.
func (r *run) end(ended *session.ActivityEnded) error {
	if ended == nil {
		return nil
	}
	if !r.json {
		r.transcript.endLine()
	}
	if r.structured && r.progress.structured != nil {
		fmt.Fprintln(r.cli.out, string(r.progress.structured))
	}
	switch {
	case r.asks.dismissed && ended.Outcome != session.Completed:
		return &exitError{exitDenied, errors.New("a question was dismissed; the session has it")}
	case r.asks.denied && ended.Outcome != session.Completed:
		return &exitError{exitDenied, errors.New("permission denied; the session has the request")}
	case ended.Outcome == session.Interrupted && r.removal:
		return removedError(r.receipt.SessionID)
	case ended.Outcome == session.Interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted; go on with plinth run --session %s", r.receipt.SessionID)}
	case ended.Outcome == session.Halted:
		return &exitError{exitDenied, errors.New("a permission or a question was declined")}
	case ended.Outcome == session.Failed:
		return &exitError{exitActivity, fmt.Errorf("%s (%s, session %s)", oneLine(ended.Error.Message, 1000), ended.Error.Code, r.receipt.SessionID)}
	case r.asks.dismissed:
		return &exitError{exitDenied, errors.New("a question was dismissed on the way; the answer above was made without it")}
	case r.asks.denied:
		return &exitError{exitDenied, errors.New("a permission was denied on the way; the answer above was made without it")}
	}
	return nil
}
