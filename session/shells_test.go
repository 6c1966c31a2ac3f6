package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// programs are what a test's commands do, by their line; "wait" runs until it is stopped.
type programs struct {
	mu      sync.Mutex
	ran     []session.ShellCommand
	results map[string]session.ShellResult
	err     error
	started chan string // told of each wait
}

func (p *programs) RunShell(ctx context.Context, command session.ShellCommand) (session.ShellResult, error) {
	p.mu.Lock()
	p.ran = append(p.ran, command)
	p.mu.Unlock()
	if strings.HasPrefix(command.Line, "wait") {
		p.started <- command.Line
		<-ctx.Done()
		return session.ShellResult{Output: "so far\n"}, nil
	}
	return p.results[command.Line], p.err
}

// shellDesk is a desk with commands of people.
type shellDesk struct {
	*desk
	programs *programs
	outputs  *sessiontest.Outputs
	shells   *session.Shells
}

func newShellDesk(t *testing.T) *shellDesk {
	d := &shellDesk{desk: newDesk(t, session.SessionOptions{}), outputs: &sessiontest.Outputs{}}
	d.programs = &programs{results: map[string]session.ShellResult{}, started: make(chan string, 10)}
	d.shells = d.again()
	t.Cleanup(d.shells.Close)
	return d
}

// again is a host's shells over the same log.
func (d *shellDesk) again() *session.Shells {
	return session.NewShells(d.log, d.encoder, d.programs, d.outputs, session.OutputLimits{Lines: 10, Bytes: 400}, hclog.NewNullLogger())
}

func (d *shellDesk) run(request session.ShellRequest) session.Message {
	d.t.Helper()
	message, err := d.shells.Run(d.t.Context(), session.System(), request)
	if err != nil {
		d.t.Fatal(err)
	}
	return message
}

func (d *shellDesk) ended(id, message string) session.Message {
	d.t.Helper()
	ended, err := d.shells.Wait(d.t.Context(), id, message)
	if err != nil {
		d.t.Fatal(err)
	}
	return ended
}

func TestShellRunsOnce(t *testing.T) {
	d := newShellDesk(t)
	id, exit := d.create(), 3
	d.programs.results["make"] = session.ShellResult{Output: "no rule\n", Exit: &exit}
	request := session.ShellRequest{ID: d.id(session.PrefixMessage), Session: id, Command: "make"}
	started := d.run(request)
	if started.Type != session.MessageShell || started.ID != request.ID || started.Command != "make" {
		t.Errorf("%+v", started)
	}
	ended := d.ended(id, started.ID)
	if ended.Output != "no rule\n" || ended.Exit == nil || *ended.Exit != 3 {
		t.Errorf("%+v", ended)
	}
	if diff := cmp.Diff(ended, d.run(request)); diff != "" {
		t.Errorf("a retry: %s", diff)
	}
	if diff := cmp.Diff([]session.ShellCommand{{Session: id, Location: session.Location{Directory: "/work", Root: "/work"}, Line: "make"}}, d.programs.ran); diff != "" {
		t.Error(diff)
	}
	request.Command = "make test"
	_, err := d.shells.Run(t.Context(), session.System(), request)
	wantConflict(t, err)
	prompt := d.held(id, "Hi", session.Steer)
	_, err = d.shells.Run(t.Context(), session.System(), session.ShellRequest{ID: prompt.ID, Session: id, Command: "make"})
	wantConflict(t, err)
}

func TestShellRefuses(t *testing.T) {
	d := newShellDesk(t)
	id := d.create()
	for want, request := range map[string]session.ShellRequest{
		"command is empty":   {Session: id, Command: " \n"},
		"the limit is 65536": {Session: id, Command: strings.Repeat("x", 64<<10+1)},
		"without a NUL":      {Session: id, Command: "a\x00"},
		"must be UTF-8":      {Session: id, Command: "\xff"},
		"not found":          {Session: d.id(session.PrefixSession), Command: "x"},
		"\"x\"":              {ID: "x", Session: id, Command: "x"},
	} {
		if _, err := d.shells.Run(t.Context(), session.System(), request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	removed := d.create()
	if err := d.log.Delete(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	if _, err := d.shells.Run(t.Context(), session.System(), session.ShellRequest{Session: removed, Command: "x"}); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("in a session that was removed: %v", err)
	}
	for range 4 {
		d.run(session.ShellRequest{Session: id, Command: "wait"})
	}
	if _, err := d.shells.Run(t.Context(), session.System(), session.ShellRequest{Session: id, Command: "wait"}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("a fifth one: %v", err)
	}
	d.run(session.ShellRequest{Session: d.create(), Command: "echo"})
	d.shells.Close()
	d.shells.Close()
	if _, err := d.shells.Run(t.Context(), session.System(), session.ShellRequest{Session: id, Command: "x"}); !errors.Is(err, session.ErrShutdown) {
		t.Error(err)
	}
}

// TestShellIsStopped by an interrupt behind it, not by one before it, and by a shutdown.
func TestShellIsStopped(t *testing.T) {
	d := newShellDesk(t)
	id := d.create()
	before := d.append(id, session.InterruptRequested{})
	first := d.run(session.ShellRequest{Session: id, Command: "wait"})
	<-d.programs.started
	if err := d.shells.Interrupt(t.Context(), id, before[0].Seq); err != nil {
		t.Fatal(err)
	}
	if message := d.messages(id)[0]; message.Completed != 0 {
		t.Errorf("an interrupt that was before it stopped it: %+v", message)
	}
	after := d.append(id, session.InterruptRequested{})
	if err := d.shells.Interrupt(t.Context(), id, after[0].Seq); err != nil {
		t.Fatal(err)
	}
	if message := d.messages(id)[0]; message.ID != first.ID || message.Completed == 0 || message.Exit != nil || message.Output != "so far\n\n[It was interrupted.]" {
		t.Errorf("%+v", message)
	}
	d.run(session.ShellRequest{Session: id, Command: "wait"})
	<-d.programs.started
	d.shells.Close()
	if message := d.messages(id)[1]; message.Completed == 0 || message.Output != "so far\n\n[It was stopped, because the host shut down.]" {
		t.Errorf("%+v", message)
	}
}

// TestShellThatWasLeft: the next host ends what one that died had started, once.
func TestShellThatWasLeft(t *testing.T) {
	d := newShellDesk(t)
	id, other := d.create(), d.create()
	ended := d.run(session.ShellRequest{Session: id, Command: "echo"})
	d.ended(id, ended.ID)
	for _, session := range []string{id, other} {
		d.append(session, shellStarted(d.id("msg_")))
	}
	for range 2 {
		next := d.again()
		if err := next.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		next.Close()
	}
	for id, want := range map[string]int{id: 5, other: 3} {
		page, err := d.log.Read(t.Context(), id, -1, 100)
		if err != nil || len(page.Events) != want {
			t.Errorf("%d events, want %d; %v", len(page.Events), want, err)
		}
		messages := d.messages(id)
		if last := messages[len(messages)-1]; last.Completed == 0 || last.Exit != nil || !strings.Contains(last.Output, "The host stopped while it ran") {
			t.Errorf("%+v", last)
		}
	}
}

func shellStarted(id string) session.ShellStarted {
	return session.ShellStarted{Message: id, Call: id, Command: "sleep 1000"}
}

// TestShellOutputIsBounded, kept whole in a file, and readable.
func TestShellOutputIsBounded(t *testing.T) {
	d := newShellDesk(t)
	id := d.create()
	whole := strings.Repeat("line\n", 1000) + "\xff"
	d.programs.results["many"] = session.ShellResult{Output: whole}
	ended := d.ended(id, d.run(session.ShellRequest{Session: id, Command: "many"}).ID)
	if len(ended.Output) > 400 || !strings.HasPrefix(ended.Output, "line\n") || !strings.Contains(ended.Output, "/outputs/") {
		t.Errorf("%q", ended.Output)
	}
	path := "/outputs/" + id + "/1"
	if d.outputs.Text(path) != strings.Repeat("line\n", 1000)+"\ufffd" {
		t.Error("the whole is not kept")
	}
	page, err := d.log.Read(t.Context(), id, ended.Seq, 1)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := session.Decode(page.Events[0])
	if got, ok := payload.(session.ShellEnded); err != nil || !ok || cmp.Diff([]string{path}, got.Outputs) != "" {
		t.Errorf("%+v, %v", payload, err)
	}
	d.programs.err = errors.New("no place")
	if ended := d.ended(id, d.run(session.ShellRequest{Session: id, Command: "x"}).ID); ended.Output != "[It was not run: no place]" || ended.Exit != nil {
		t.Errorf("%+v", ended)
	}
}
