package docs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/plinthhost/plinth/tests/chat"
	"github.com/plinthhost/plinth/tests/warm"
)

// home is a user's machine: an empty home with the built programs on its PATH.
type home struct {
	folder  string
	environ []string
}

// newHome makes a home with the builtins compiled already. Its path is short, because
// a socket will be in it.
func newHome(t *testing.T) *home {
	t.Helper()
	folder, err := os.MkdirTemp("", "d-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	h, err := homeIn(folder)
	if err == nil {
		err = h.fill()
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func homeIn(folder string) (*home, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	names := []string{"GOCACHE", "GOPATH", "GOMODCACHE", "GOROOT"}
	values, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	h := &home{folder: folder, environ: []string{
		"HOME=" + folder, "PATH=" + programs + ":" + os.Getenv("PATH"), "TZ=UTC", "PLINTH_LISTEN=127.0.0.1:0",
		"GOWORK=off", "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local",
	}}
	for i, value := range strings.Split(strings.TrimSpace(string(values)), "\n") {
		h.environ = append(h.environ, names[i]+"="+value)
	}
	return h, nil
}

// data is the folder that the host keeps everything in.
const data = ".local/share/plinth"

// compiled answers a home in which the builtins were compiled, once for all tests.
var compiled = sync.OnceValues(func() (*home, error) {
	folder := filepath.Join(programs, "compiled")
	model, err := chat.Start(chat.Say("Hello."), chat.Options{})
	if err != nil {
		return nil, err
	}
	defer model.Close()
	config := fmt.Sprintf("[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", model.URL)
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(folder+"/config.toml", []byte(config), 0o600)); err != nil {
		return nil, err
	}
	h, err := homeIn(folder)
	if err != nil {
		return nil, err
	}
	if err := warm.Into(h.path(data + "/cache")); err != nil {
		return nil, err
	}
	for _, arguments := range [][]string{{"read nothing"}, {"--model", "local/any", "Hello"}} {
		var output []byte
		for range 3 { // on a busy machine the first look at the context can come late
			command := exec.Command(program("plinth"), append([]string{"--config", folder + "/config.toml", "run"}, arguments...)...)
			command.Dir, command.Env = folder, h.environ
			if output, err = command.CombinedOutput(); err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("compile the builtins: %w\n%s", err, output)
		}
	}
	return h, nil
})

// fill gives the home the compiled builtins.
func (h *home) fill() error {
	from, err := compiled()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.path(data), 0o700); err != nil {
		return err
	}
	return warm.Share(h.path(data+"/cache"), from.path(data+"/cache"))
}

func (h *home) path(name string) string { return filepath.Join(h.folder, name) }

// host is a running plinth serve.
type host struct {
	command *exec.Cmd
	address string       // http://127.0.0.1:PORT
	local   *http.Client // over the unix socket
	end     sync.Once
}

// serve starts a host and waits until it listens.
func (h *home) serve(t *testing.T, arguments ...string) *host {
	t.Helper()
	command := exec.Command(program("plinth"), append([]string{"serve", "--log-level", "warn"}, arguments...)...)
	command.Dir, command.Env, command.Stderr = h.folder, h.environ, os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s := &host{command: command, local: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", h.path(data+"/cli.sock"))
		},
	}}}
	t.Cleanup(func() { s.kill(); s.local.CloseIdleConnections() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("plinth serve said nothing: %v", err)
	}
	s.address = addressIn(line)
	if s.address == "" {
		t.Fatalf("plinth serve said %q", line)
	}
	return s
}

// addressIn answers the address in the line that plinth serve begins with.
func addressIn(text string) string {
	_, rest, ok := strings.Cut(text, "listens on ")
	address, _, found := strings.Cut(rest, " ")
	if !ok || !found {
		return ""
	}
	return address
}

// kill ends the host without a chance to clean up, and returns when it is gone.
func (s *host) kill() {
	s.end.Do(func() {
		_ = s.command.Process.Signal(syscall.SIGKILL)
		_ = s.command.Wait()
	})
}

// plinth runs one command and answers what it wrote to standard output.
func (h *home) plinth(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.Command(program("plinth"), arguments...)
	command.Dir, command.Env = h.folder, h.environ
	var notes strings.Builder
	command.Stderr = &notes
	output, err := command.Output()
	if err != nil {
		t.Fatalf("plinth %s: %v\n%s", strings.Join(arguments, " "), err, notes.String())
	}
	return string(output)
}
