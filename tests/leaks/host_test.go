// Package leaks plants secrets in a running host and searches everything that the
// host has written, sent or said for them: its database, blobs and caches, its log at
// the level trace, every byte of HTTP and WebSocket on its socket, and the stacks that
// it prints when SIGQUIT ends it.
//
// What it cannot promise, and does not search:
//   - The memory of the host and a core dump of it have the secrets. The stacks of
//     SIGQUIT have none: they show addresses, not what is there. Go writes a core only
//     with GOTRACEBACK=crash and a limit that permits it.
//   - The environment that the host was started with has those of env: references.
//     On Linux the host keeps other processes out of it, but not those of root; file:,
//     keyring: and command: references are not there.
//   - A server that was sent a secret can spell it out in a form that is none of those
//     searched for, or in pieces over several events of a stream.
package leaks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client"
)

// binary is plinth, built once.
var binary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "plinth-leaks-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(folder, "plinth")
	code := 1
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/plinthhost/plinth/cmd/host").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// patience bounds every wait of a test.
const patience = 60 * time.Second

// world is one user's machine with a host that runs.
type world struct {
	t       *testing.T
	folder  string
	project string
	command *exec.Cmd
	said    *capture // standard output and error
	sent    *capture // what went over the socket, both ways
	client  *client.Client
	over    chan struct{}
}

// capture gathers what several write.
type capture struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *capture) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(data)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	folder, err := os.MkdirTemp("", "plinth") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	w := &world{t: t, folder: folder, project: filepath.Join(folder, "project"), said: &capture{}, sent: &capture{}, over: make(chan struct{})}
	w.write("project/notes.txt", "one\n")
	return w
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// prepare is plinth serve in the project, with these variables besides the usual.
func (w *world) prepare(variables ...string) *exec.Cmd {
	command := exec.CommandContext(w.t.Context(), binary, "serve", "--listen", "127.0.0.1:0", "--log-level", "trace")
	command.Dir = w.project
	command.Env = append([]string{
		"HOME=" + w.folder, "XDG_CONFIG_HOME=" + filepath.Join(w.folder, "config"), "XDG_DATA_HOME=" + filepath.Join(w.folder, "data"),
		"PATH=" + os.Getenv("PATH"), "TZ=UTC",
	}, variables...)
	return command
}

// fails starts the host, which must refuse to, and answers what it says.
func (w *world) fails() string {
	w.t.Helper()
	said, err := w.prepare().CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		w.t.Fatalf("%v\n%s", err, said)
	}
	return string(said)
}

// serve starts the host and reaches it through a socket that listens in.
func (w *world) serve(variables ...string) {
	w.t.Helper()
	w.command = w.prepare(variables...)
	w.command.Stderr = w.said
	out, err := w.command.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(w.over)
		_, _ = io.Copy(&announcement{to: w.said, ready: ready}, out)
		_ = w.command.Wait()
	}()
	w.t.Cleanup(w.end)
	select {
	case <-ready:
	case <-w.over:
		w.t.Fatalf("the host ended: %s", w.said)
	case <-time.After(patience):
		w.t.Fatalf("the host does not listen: %s", w.said)
	}
	w.listenIn()
	if w.client, err = client.Dial(w.t.Context(), client.Options{Address: "unix:" + filepath.Join(w.folder, "tap.sock"), Name: "leaks"}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.client.Close)
}

// announcement passes on what the host says, and tells when it listens.
type announcement struct {
	to    *capture
	ready chan struct{}
	told  bool
}

func (a *announcement) Write(data []byte) (int, error) {
	n, err := a.to.Write(data)
	if !a.told && strings.Contains(a.to.String(), "listens on ") {
		a.told = true
		close(a.ready)
	}
	return n, err
}

// listenIn stands between the client and the host's socket and keeps every byte.
func (w *world) listenIn() {
	w.t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(w.t.Context(), "unix", filepath.Join(w.folder, "tap.sock"))
	if err != nil {
		w.t.Fatal(err)
	}
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", filepath.Join(w.folder, "data/plinth/cli.sock"))
			if err != nil {
				near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				relays.Go(func() {
					_, _ = io.Copy(io.MultiWriter(way[0], w.sent), way[1])
					near.Close()
					far.Close()
				})
			}
		}
	})
	w.t.Cleanup(func() {
		listener.Close()
		w.client.Close()
		w.end()
		relays.Wait()
	})
}

// signal sends one and waits for the host's end.
func (w *world) signal(signal os.Signal) {
	w.t.Helper()
	if err := w.command.Process.Signal(signal); err != nil {
		w.t.Fatal(err)
	}
	select {
	case <-w.over:
	case <-time.After(patience):
		w.t.Fatalf("the host does not end at %s", signal)
	}
}

// end kills the host if it still runs.
func (w *world) end() {
	_ = w.command.Process.Signal(syscall.SIGKILL)
	<-w.over
}
