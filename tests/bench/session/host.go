package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// measureHostBurst is measureBurst through the whole host: a client over HTTP and
// WebSocket, a process of its own, and a codec in Wasm.
func measureHostBurst(ctx context.Context, dir string) error {
	server, err := burstServer()
	if err != nil {
		return err
	}
	defer server.Close()
	h, err := serve(ctx, dir, server.URL)
	if err != nil {
		return err
	}
	defer h.stop()
	if err := h.warm(ctx); err != nil {
		return err
	}
	ratio, err := measure.OverRounds(func(int) (float64, error) {
		bare, err := bareBurst(ctx, server.URL)
		if err != nil {
			return 0, err
		}
		sessions, err := createAll(ctx, burst, h.create)
		if err != nil {
			return 0, err
		}
		whole, err := atOnce(ctx, func(ctx context.Context, i int, begin func()) error { return h.turn(ctx, sessions[i], begin) })
		if err != nil {
			return 0, err
		}
		measure.Note("burst: bare %.0f ms, host %.0f ms", bare, whole)
		return whole / bare, nil
	})
	if err != nil {
		return err
	}
	figure("burst_200_host_over_bare", ratio, "ratio")
	return nil
}

// host is a running plinth serve.
type host struct {
	folder  string
	command *exec.Cmd
	client  *client.Client
}

// serve builds plinth and runs it in the folder, with the server as its only provider.
func serve(ctx context.Context, folder, url string) (*host, error) {
	binary := filepath.Join(folder, "plinth")
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/host").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	config := filepath.Join(folder, "config", "plinth")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("model = \"local/test\"\n[titles]\nenabled = false\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", url)
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	h := &host{folder: folder, command: exec.Command(binary, "serve", "--listen", "127.0.0.1:0")}
	h.command.Env = []string{"HOME=" + folder, "XDG_CONFIG_HOME=" + filepath.Join(folder, "config"), "XDG_DATA_HOME=" + filepath.Join(folder, "data")}
	h.command.Dir, h.command.Stderr = folder, os.Stderr
	out, err := h.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.command.Start(); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		h.stop()
		return nil, fmt.Errorf("plinth serve said nothing: %w", err)
	}
	h.client, err = client.Dial(ctx, client.Options{Address: "unix:" + filepath.Join(folder, "data", "plinth", "cli.sock"), Name: "bench"})
	if err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

func (h *host) stop() {
	if h.client != nil {
		h.client.Close()
	}
	_ = h.command.Process.Signal(os.Interrupt)
	_ = h.command.Wait()
}

// warm runs one turn, for which the codec is compiled.
func (h *host) warm(ctx context.Context) error {
	id, err := h.create(ctx)
	if err != nil {
		return err
	}
	return h.turn(ctx, id, func() {})
}

func (h *host) create(ctx context.Context) (string, error) {
	s, err := h.client.CreateSession(ctx, protocol.CreateSession{Location: protocol.Location{Directory: h.folder}})
	return s.ID, err
}

// turn sends a prompt over HTTP and follows it over the WebSocket to its end. It calls
// begin just before the prompt.
func (h *host) turn(ctx context.Context, id string, begin func()) error {
	s, err := h.client.Session(ctx, id)
	if err != nil {
		return err
	}
	for update, err := range h.client.Follow(ctx, id, client.FollowOptions{After: s.Cursor, Deltas: true}) {
		switch {
		case err != nil:
			return err
		case update.Live:
			begin()
			if _, err := h.client.Prompt(ctx, id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "hello"}}); err != nil {
				return err
			}
		case update.Event != nil && update.Event.Type == (session.ActivityEnded{}).EventType():
			if !strings.Contains(string(update.Event.Data), string(session.Completed)) {
				return fmt.Errorf("the turn failed: %s", update.Event.Data)
			}
			return nil
		}
	}
	return fmt.Errorf("the stream of %s ended", id)
}
