package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

// Limits of what people run.
const (
	maxShellBytes = 64 << 10 // of a command line
	maxShells     = 4        // that run at a time in one session
)

// ShellRunner runs a command line for a person.
type ShellRunner interface {
	// RunShell answers when the command has ended. When ctx ends it stops it and answers
	// what it printed until then. An error means that nothing was run.
	RunShell(ctx context.Context, command ShellCommand) (ShellResult, error)
}

// ShellCommand is what to run and where.
type ShellCommand struct {
	Session  string
	Location Location
	Line     string
}

// ShellResult is how a command ended.
type ShellResult struct {
	Output string // standard output and error together
	Exit   *int   // nil when it did not end by itself
	// Stopped says in words why it was stopped, "" when it was not.
	Stopped string
}

// Shells run the commands that people give in sessions. A command is an event before it
// runs and another when it has ended, and the model reads both as one message.
type Shells struct {
	log     store.Log
	encoder Encoder
	runner  ShellRunner
	outputs OutputFiles
	limits  OutputLimits
	logger  hclog.Logger
	root    context.Context // of every command
	cancel  context.CancelCauseFunc
	group   sync.WaitGroup

	mu      sync.Mutex
	running map[string]*shellRun // by message
	closed  bool
}

// shellRun is a command that runs.
type shellRun struct {
	session string
	started int64 // its event
	cancel  context.CancelCauseFunc
	done    chan struct{}
}

// NewShells runs commands with the runner and bounds what they print.
func NewShells(log store.Log, encoder Encoder, runner ShellRunner, outputs OutputFiles, limits OutputLimits, logger hclog.Logger) *Shells {
	root, cancel := context.WithCancelCause(context.Background())
	return &Shells{log: log, encoder: encoder, runner: runner, outputs: outputs, limits: limits, logger: logger,
		root: root, cancel: cancel, running: map[string]*shellRun{}}
}

// ShellRequest asks for a command. An empty ID is made.
type ShellRequest struct {
	ID      string // of the message
	Session string
	Command string
}

func (r ShellRequest) check() error {
	switch {
	case strings.TrimSpace(r.Command) == "":
		return fmt.Errorf("%w: command is empty", ErrInvalid)
	case len(r.Command) > maxShellBytes:
		return fmt.Errorf("%w: command has %d bytes, the limit is %d", ErrInvalid, len(r.Command), maxShellBytes)
	case !utf8.ValidString(r.Command) || strings.ContainsRune(r.Command, 0):
		return fmt.Errorf("%w: command must be UTF-8 without a NUL", ErrInvalid)
	case r.ID != "":
		return CheckID(PrefixMessage, r.ID)
	}
	return nil
}

// Run starts the command in the place where the session works and answers its message;
// it does not wait for the end. An exact retry starts nothing and answers the message of
// the first; the same id for something else is a *ConflictError. ErrBusy while too many
// run in the session, ErrShutdown after Close.
func (s *Shells) Run(ctx context.Context, origin Origin, request ShellRequest) (Message, error) {
	if err := request.check(); err != nil {
		return Message{}, err
	}
	if request.ID == "" {
		request.ID = s.encoder.IDs.New(PrefixMessage)
	}
	s.mu.Lock() // until it is known, so that an interrupt behind its event finds it
	defer s.mu.Unlock()
	session, known, err := s.find(ctx, request)
	switch {
	case err != nil:
		return Message{}, err
	case known != nil:
		return *known, nil
	case s.closed:
		return Message{}, ErrShutdown
	}
	if err := s.room(request.Session); err != nil {
		return Message{}, err
	}
	events, err := s.append(ctx, origin, request.Session, ShellStarted{Message: request.ID, Call: request.ID, Command: request.Command})
	if err != nil {
		return Message{}, fmt.Errorf("start command: %w", err)
	}
	runCtx, cancel := context.WithCancelCause(s.root)
	run := &shellRun{session: request.Session, started: events[0].Seq, cancel: cancel, done: make(chan struct{})}
	s.running[request.ID] = run
	s.group.Go(func() { s.run(runCtx, run, request, session.Location) })
	return s.load(ctx, request.Session, request.ID)
}

// find answers the session, and the message that the request made before.
func (s *Shells) find(ctx context.Context, request ShellRequest) (session Session, known *Message, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		if session, err = LoadSession(ctx, tx, request.Session); err != nil {
			return err
		}
		message, err := LoadMessage(ctx, tx, request.Session, request.ID)
		if isMissing(err) {
			return nil
		}
		known = &message
		return err
	})
	if err == nil && known != nil && (known.Type != MessageShell || known.Command != request.Command) {
		err = &ConflictError{ID: request.ID, Reason: "another message"}
	}
	return session, known, missing(ctx, s.log, request.Session, err)
}

func (s *Shells) room(session string) error {
	n := 0
	for _, run := range s.running {
		if run.session == session {
			n++
		}
	}
	if n >= maxShells {
		return fmt.Errorf("%w: %d commands run in this session, the limit; wait until one has ended, or interrupt the session", ErrBusy, n)
	}
	return nil
}

// run runs the command and records its end, whatever becomes of ctx.
func (s *Shells) run(ctx context.Context, run *shellRun, request ShellRequest, location Location) {
	defer func() {
		s.mu.Lock()
		delete(s.running, request.ID)
		s.mu.Unlock()
		run.cancel(nil)
		close(run.done)
	}()
	result, err := s.runner.RunShell(ctx, ShellCommand{Session: request.Session, Location: location, Line: request.Command})
	if err != nil {
		result = ShellResult{Stopped: "It was not run: " + err.Error()}
	}
	if cause := context.Cause(ctx); cause != nil {
		result.Exit, result.Stopped = nil, stoppedBy(cause)
	}
	kept := context.WithoutCancel(ctx)
	if _, err := s.append(kept, System(), request.Session, s.ended(kept, request, result)); err != nil {
		s.logger.Error("the end of a person's command was not recorded", "session", request.Session, "message", request.ID, "error", err)
	}
}

func stoppedBy(cause error) string {
	if errors.Is(cause, ErrShutdown) {
		return "It was stopped, because the host shut down."
	}
	return "It was interrupted."
}

// ended is the event of a result, with its text bounded.
func (s *Shells) ended(ctx context.Context, request ShellRequest, result ShellResult) ShellEnded {
	bounded, kept := Bound(ctx, s.outputs, request.Session, s.limits, ToolOutput{Content: []ToolContent{{Type: "text", Text: wellFormed(result.Output)}}})
	ended := ShellEnded{Call: request.ID, Output: bounded.Content[0].Text, Exit: result.Exit}
	if kept != nil && kept.Path != "" {
		ended.Outputs = []string{kept.Path}
	}
	if kept != nil && kept.Lossy {
		s.logger.Warn("a command's output could not be kept whole", "session", request.Session, "message", request.ID, "error", kept.Diagnostic)
	}
	if result.Stopped != "" {
		ended.Output = strings.TrimSuffix(ended.Output, "\n")
		if ended.Output != "" {
			ended.Output += "\n\n"
		}
		ended.Output += "[" + result.Stopped + "]"
	}
	return ended
}

// Wait answers the command's message when it has ended; ErrNotFound without one.
func (s *Shells) Wait(ctx context.Context, session, id string) (Message, error) {
	wake := s.log.Watch(session)
	defer wake.Close()
	for {
		message, err := s.load(ctx, session, id)
		if err != nil || message.Completed != 0 {
			return message, err
		}
		select {
		case <-wake.C():
		case <-ctx.Done():
			return Message{}, context.Cause(ctx)
		}
	}
}

// Interrupt stops the session's commands that were started before seq and waits until
// their ends are recorded. The error is the cause of ctx; they are stopped all the same.
func (s *Shells) Interrupt(ctx context.Context, session string, seq int64) error {
	s.mu.Lock()
	var stopped []*shellRun
	for _, run := range s.running {
		if run.session == session && run.started < seq {
			run.cancel(ErrInterrupted)
			stopped = append(stopped, run)
		}
	}
	s.mu.Unlock()
	for _, run := range stopped {
		if err := wait(ctx, run.done); err != nil {
			return err
		}
	}
	return nil
}

// Start ends the commands of a host that died.
func (s *Shells) Start(ctx context.Context) error {
	type left struct{ session, call string }
	var open []left
	err := s.log.View(ctx, func(tx store.Tx) error {
		rows, err := tx.Query(ctx, `SELECT session_id, call FROM shell WHERE ended = 0 ORDER BY session_id, call`)
		open, err = collect(rows, err, func(row store.Row) (one left, err error) {
			err = row.Scan(&one.session, &one.call)
			return one, err
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the commands that were left: %w", err)
	}
	for _, one := range open {
		ended := ShellEnded{Call: one.call, Output: "[The host stopped while it ran; what it printed is lost.]"}
		if _, err := s.append(ctx, System(), one.session, ended); err != nil {
			return fmt.Errorf("end a command that was left: %w", err)
		}
	}
	return nil
}

// Close stops what runs and answers when all of it is recorded. Safe twice.
func (s *Shells) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(ErrShutdown)
	s.group.Wait()
}

func (s *Shells) load(ctx context.Context, session, id string) (message Message, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		message, err = LoadMessage(ctx, tx, session, id)
		return err
	})
	return message, err
}

func (s *Shells) append(ctx context.Context, origin Origin, session string, payload Payload) ([]store.Event, error) {
	events, err := s.encoder.Encode(origin, payload)
	if err != nil {
		return nil, err
	}
	return s.log.Append(ctx, store.Batch{Aggregate: session, Mode: store.Any(), Events: events})
}
