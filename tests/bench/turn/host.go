package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/tests/chat"
)

// machine is where the host runs.
type machine struct {
	folder string
	binary string
	server *chat.Server
}

func (m *machine) configure() error {
	folder := filepath.Join(m.folder, "config", "plinth")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf("model = \"local/test\"\n[titles]\nenabled = false\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", m.server.URL)
	return os.WriteFile(filepath.Join(folder, "config.toml"), []byte(text), 0o600)
}

// wal is the write-ahead log of the host's database.
func (m *machine) wal() string { return filepath.Join(m.folder, "data", "plinth", "plinth.db-wal") }

// host is a running plinth serve.
type host struct {
	machine *machine
	command *exec.Cmd
	client  *client.Client
}

func (m *machine) serve(ctx context.Context) (*host, error) {
	command := exec.Command(m.binary, "serve", "--listen", "127.0.0.1:0")
	command.Env = []string{"HOME=" + m.folder, "XDG_CONFIG_HOME=" + filepath.Join(m.folder, "config"), "XDG_DATA_HOME=" + filepath.Join(m.folder, "data")}
	command.Dir, command.Stderr = m.folder, os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	h := &host{machine: m, command: command}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		h.stop()
		return nil, fmt.Errorf("plinth serve said nothing: %w", err)
	}
	h.client, err = client.Dial(ctx, client.Options{Address: "unix:" + filepath.Join(m.folder, "data", "plinth", "cli.sock"), Name: "bench"})
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

// status reads a field of the process's status in kilobytes.
func (h *host) status(field string) (float64, error) { return h.proc("status", field) }

// written is how many bytes the process has had written to disk.
func (h *host) written() (float64, error) { return h.proc("io", "write_bytes:") }

// used is the processor time of the process in milliseconds.
func (h *host) used() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	// Behind the name, which may hold anything: user and system time are the fields 14 and 15.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks float64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat of the host: %w", err)
		}
		ticks += n
	}
	return ticks * 10, nil
}

func (h *host) proc(file, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", h.command.Process.Pid, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == field {
			return strconv.ParseFloat(fields[1], 64)
		}
	}
	return 0, fmt.Errorf("/proc has no %s", field)
}

// fsyncTime is the median time, in milliseconds, to append a page to a file and
// sync it.
func fsyncTime(folder string) (float64, error) {
	file, err := os.Create(filepath.Join(folder, "fsync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var all []float64
	page := make([]byte, 4096)
	for range 200 {
		began := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		all = append(all, milliseconds(time.Since(began)))
	}
	return median(all), nil
}
