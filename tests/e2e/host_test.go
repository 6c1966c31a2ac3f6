// Package e2e drives the built program the way a user does: it starts the binary,
// talks to it over its own command line and client, kills it and starts it again.
package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/tests/chat"
)

// binary is plinth, built once.
var binary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "plinth-e2e-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(folder, "plinth")
	build := exec.Command("go", "build", "-o", binary, "github.com/plinthhost/plinth/cmd/host")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
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
	folder := t.TempDir()
	w := &world{t: t, folder: folder, project: filepath.Join(folder, "project"), environ: []string{
		"HOME=" + folder, "XDG_CONFIG_HOME=" + filepath.Join(folder, "config"), "XDG_DATA_HOME=" + filepath.Join(folder, "data"),
		"PATH=" + os.Getenv("PATH"), "TZ=UTC",
	}}
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
func (w *world) configure(server *chat.Server) {
	w.write("config/plinth/config.toml", fmt.Sprintf(
		"model = \"local/test\"\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", server.URL))
}

// plinth runs one command in the project and answers its output and exit code.
func (w *world) plinth(args ...string) (out, errors string, code int) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.Command(binary, args...)
	command.Dir, command.Env, command.Stdout, command.Stderr = w.project, w.environ, &stdout, &stderr
	err := command.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		w.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// host is a running plinth serve.
type host struct {
	command *exec.Cmd
	client  *client.Client
	address string // http://127.0.0.1:PORT
	dead    sync.Once
}

func (w *world) serve() *host {
	w.t.Helper()
	command := exec.Command(binary, "serve", "--listen", "127.0.0.1:0")
	command.Dir, command.Env, command.Stderr = w.project, w.environ, os.Stderr
	pipe, err := command.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	h := &host{command: command}
	w.t.Cleanup(h.kill)
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		w.t.Fatalf("plinth serve said nothing: %v", err)
	}
	_, rest, _ := strings.Cut(line, "listens on ")
	h.address, _, _ = strings.Cut(rest, " ")
	h.client, err = client.Dial(w.t.Context(), client.Options{Address: "unix:" + filepath.Join(w.folder, "data/plinth/cli.sock"), Name: "e2e"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(h.client.Close)
	return h
}

// kill ends the process without a chance to clean up, and returns when it is gone.
func (h *host) kill() {
	h.dead.Do(func() {
		_ = h.command.Process.Kill()
		_ = h.command.Wait()
	})
}
