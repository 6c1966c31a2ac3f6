// Package e2e drives the built program the way a user does: it starts the binary,
// talks to it over its own command line and client, kills it and starts it again.
package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/chat"
	"github.com/plinthhost/plinth/tests/warm"
)

// binary is plinth, built once; compiled is the machine code of its plugins, which the
// first run of all has made.
var binary, compiled string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "plinth-e2e-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary, compiled = filepath.Join(folder, "plinth"), filepath.Join(folder, "data", "cache")
	code := 1
	if err := prepare(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// prepare builds the program and lets every builtin plugin work once.
func prepare(folder string) error {
	build := exec.Command("go", "build", "-o", binary, "github.com/plinthhost/plinth/cmd/host")
	build.Stderr = os.Stderr
	if err := errors.Join(build.Run(), warm.Into(compiled)); err != nil {
		return err
	}
	server, err := chat.Start(conversation(), chat.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	config := filepath.Join(folder, "config.toml")
	if err := os.WriteFile(config, []byte(configuration(server)), 0o600); err != nil {
		return err
	}
	// On a busy machine the first compilation takes longer than a context source may.
	for range 5 {
		run := exec.Command(binary, "run", "--config", config, "--data", filepath.Dir(compiled), "What is here?")
		run.Dir, run.Stderr, run.Env = folder, os.Stderr, []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH")}
		if err = run.Run(); err == nil {
			break
		}
	}
	return err
}

// world is one user's machine: configuration, data and a project.
type world struct {
	t       *testing.T
	folder  string
	project string
	environ []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	folder, err := os.MkdirTemp("", "plinth") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	w := &world{t: t, folder: folder, project: filepath.Join(folder, "project"), environ: []string{
		"HOME=" + folder, "XDG_CONFIG_HOME=" + filepath.Join(folder, "config"), "XDG_DATA_HOME=" + filepath.Join(folder, "data"),
		"PATH=" + os.Getenv("PATH"), "TZ=UTC",
	}}
	if err := warm.Share(filepath.Join(folder, "data/plinth/cache"), compiled); err != nil {
		t.Fatal(err)
	}
	w.private(folder)
	w.write("project/go.mod", "module example.test/thing\n\ngo 1.26\n")
	w.write("project/notes.txt", "one\ntwo\n")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// configure points the default model at a Chat Completions server.
func (w *world) configure(server *chat.Server, more ...string) {
	w.write("config/plinth/config.toml", configuration(server)+strings.Join(more, ""))
}

// recovering makes what a crash has left in doubt be dealt with like this.
func (w *world) recovering(server *chat.Server, policy session.RecoveryPolicy) {
	w.write("config/plinth/config.toml", configuration(server)+fmt.Sprintf("[runner]\nrecovery = %q\nshutdown_grace_ms = 300\nretry_attempts = 0\n", policy))
}

func configuration(server *chat.Server) string {
	return fmt.Sprintf("model = \"local/test\"\n[titles]\nenabled = false\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", server.URL)
}

// private takes away what others could do with the folders that were copied.
func (w *world) private(folder string) {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(folder, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// patience bounds every wait of a test.
const patience = 30 * time.Second

// command prepares plinth in the project, with more variables for this once.
func (w *world) command(variables []string, args ...string) *exec.Cmd {
	command := exec.CommandContext(w.t.Context(), binary, args...)
	command.Dir, command.Env = w.project, append(slices.Clone(w.environ), variables...)
	return command
}

// plinth runs one command in the project and answers its output and exit code.
func (w *world) plinth(args ...string) (out, errors string, code int) {
	w.t.Helper()
	return w.plinthWith(nil, args...)
}

func (w *world) plinthWith(variables []string, args ...string) (out, errors string, code int) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	command := w.command(variables, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		w.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// chat starts a Chat Completions server and makes its model the default one.
func (w *world) chat(script chat.Script) *chat.Server {
	w.t.Helper()
	server, err := chat.Start(script, chat.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { server.Close() })
	w.configure(server)
	return server
}

// socket is where the host of this world listens for local commands.
func (w *world) socket() string { return filepath.Join(w.folder, "data/plinth/cli.sock") }

// process is a plinth that goes on until it is stopped.
type process struct {
	t       *testing.T
	command *exec.Cmd
	lines   *bufio.Scanner // its standard output
	notes   *syncBuffer    // its standard error
	over    sync.Once
}

// spawn starts plinth and leaves it running.
func (w *world) spawn(args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, command: w.command(nil, args...), notes: &syncBuffer{}}
	p.command.Stderr = p.notes
	pipe, err := p.command.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	p.lines = bufio.NewScanner(pipe)
	p.lines.Buffer(nil, 4<<20)
	if err := p.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.kill)
	return p
}

// line reads one line of standard output.
func (p *process) line() string {
	p.t.Helper()
	timer := time.AfterFunc(patience, p.kill)
	defer timer.Stop()
	if !p.lines.Scan() {
		p.t.Fatalf("plinth said nothing more: %v\n%s", p.lines.Err(), p.notes)
	}
	return p.lines.Text()
}

// kill ends the process without a chance to clean up, and returns when it is gone.
func (p *process) kill() {
	p.over.Do(func() {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	})
}

// stop sends the signal and answers the exit code, and what was left to say on
// standard output.
func (p *process) stop(signal os.Signal) (rest string, code int) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// wait waits for the process to end by itself.
func (p *process) wait() (rest string, code int) {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() })
	defer timer.Stop()
	for p.lines.Scan() {
		rest += p.lines.Text() + "\n"
	}
	p.over.Do(func() { _ = p.command.Wait() })
	return rest, p.command.ProcessState.ExitCode()
}

// syncBuffer is a buffer that a process writes while a test reads it.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// host is a running plinth serve.
type host struct {
	*process
	client  *client.Client
	address string // http://127.0.0.1:PORT
}

func (w *world) serve(args ...string) *host {
	w.t.Helper()
	h := &host{process: w.spawn(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	_, rest, _ := strings.Cut(h.line(), "listens on ")
	h.address, _, _ = strings.Cut(rest, " ")
	var err error
	if h.client, err = client.Dial(w.t.Context(), client.Options{Address: "unix:" + w.socket(), Name: "e2e"}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(h.client.Close)
	return h
}

// session makes a session in the project.
func (h *host) session(w *world) string {
	w.t.Helper()
	created, err := h.client.CreateSession(w.t.Context(), protocol.CreateSession{Location: protocol.Location{Directory: w.project}})
	if err != nil {
		w.t.Fatal(err)
	}
	return created.ID
}

// token makes a token for the host's TCP address.
func (h *host) token(w *world, scopes ...protocol.Scope) string {
	w.t.Helper()
	created, err := h.client.CreateToken(w.t.Context(), protocol.CreateToken{Scopes: scopes})
	if err != nil {
		w.t.Fatal(err)
	}
	return created.Secret
}
