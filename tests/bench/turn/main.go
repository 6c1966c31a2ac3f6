// Command turn measures whole turns from outside the process: a client over HTTP
// and WebSocket, a host with everything durable, a codec in Wasm, and a scripted
// server of 50 deltas. It prints lines "figure NAME VALUE UNIT".
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/chat"
)

const (
	rounds        = 5   // medians are of so many
	roundTurns    = 40  // timed turns of a round
	diskTurns     = 300 // turns the written bytes are counted over
	memoryTurns   = 60
	memorySession = 31
)

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-turn:", err)
		os.Exit(1)
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure %s %.3f %s\n", name, value, unit)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

func measure() error {
	folder, err := os.MkdirTemp("", "plinth-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "plinth")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/host").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	server, err := chat.Start(chat.Say(chat.Repeated("word", 50)), chat.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	m := &machine{folder: folder, binary: binary, server: server}
	if err := m.configure(); err != nil {
		return err
	}
	return m.figures()
}

func (m *machine) figures() error {
	ctx := context.Background()
	if err := m.warm(ctx); err != nil { // fills the compile cache
		return err
	}
	if err := m.ready(ctx); err != nil {
		return err
	}
	if err := m.memory(ctx); err != nil {
		return err
	}
	h, err := m.serve(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	fsync, err := fsyncTime(m.folder)
	if err != nil {
		return err
	}
	figure("turn.fsync_us_p50", fsync*1000, "us")
	if err := h.overhead(ctx, fsync); err != nil {
		return err
	}
	if err := h.processor(ctx); err != nil {
		return err
	}
	return h.disk(ctx)
}

// processor is what a turn takes of the processor in the host, with the codec in Wasm,
// 50 deltas, and all context sources and tools of the builtins. Linux counts it in
// hundredths of a second, so it is the mean of a round's turns.
func (h *host) processor(ctx context.Context) error {
	var all []float64
	for range rounds {
		sessions, err := h.createAll(ctx, roundTurns)
		if err != nil {
			return err
		}
		before, err := h.used()
		if err != nil {
			return err
		}
		for _, id := range sessions {
			if _, err := h.turn(ctx, id); err != nil {
				return err
			}
		}
		after, err := h.used()
		if err != nil {
			return err
		}
		all = append(all, (after-before)/roundTurns)
	}
	figure("turn.cpu_ms", median(all), "ms")
	return nil
}

func (m *machine) warm(ctx context.Context) error {
	h, err := m.serve(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	_, err = h.newTurn(ctx)
	return err
}

// ready is the time from the start of the process to the first answer.
func (m *machine) ready(ctx context.Context) error {
	var all []float64
	for range rounds {
		began := time.Now()
		h, err := m.serve(ctx)
		if err != nil {
			return err
		}
		_, err = h.newTurn(ctx)
		all = append(all, milliseconds(time.Since(began)))
		h.stop()
		if err != nil {
			return err
		}
	}
	figure("turn.ready_ms", median(all), "ms")
	return nil
}

func (m *machine) memory(ctx context.Context) error {
	h, err := m.serve(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	sessions, err := h.createAll(ctx, memorySession)
	if err != nil {
		return err
	}
	for i := range memoryTurns {
		if _, err := h.turn(ctx, sessions[i%len(sessions)]); err != nil {
			return err
		}
	}
	rss, err := h.status("VmRSS:")
	figure("turn.rss_mb", rss/1024, "MB")
	return err
}

// overhead is what a turn takes beyond the server's own time, with and without
// the syncs its commits cost.
func (h *host) overhead(ctx context.Context, fsync float64) error {
	var whole, without, commits []float64
	for range rounds {
		over, n, err := h.round(ctx)
		if err != nil {
			return err
		}
		whole, commits, without = append(whole, over), append(commits, n), append(without, over-n*fsync)
	}
	figure("turn.commits", median(commits), "commits")
	figure("turn.overhead_ms_p50", median(whole), "ms")
	figure("turn.overhead_minus_fsync_ms_p50", median(without), "ms")
	return nil
}

// round answers the medians of its turns: milliseconds beyond the server's, and
// commits as the database's write-ahead log shows them.
func (h *host) round(ctx context.Context) (over, commits float64, err error) {
	var overs, counts []float64
	for range roundTurns {
		id, err := h.create(ctx)
		if err != nil {
			return 0, 0, err
		}
		before, err := readWAL(h.machine.wal())
		if err != nil {
			return 0, 0, err
		}
		over, err := h.turn(ctx, id)
		if err != nil {
			return 0, 0, err
		}
		after, err := readWAL(h.machine.wal())
		if err != nil {
			return 0, 0, err
		}
		overs = append(overs, over)
		if after.salts == before.salts { // else a checkpoint began the log anew
			counts = append(counts, float64(after.commits-before.commits))
		}
	}
	if len(counts) < roundTurns/2 {
		return 0, 0, fmt.Errorf("commits could be counted in %d of %d turns only", len(counts), roundTurns)
	}
	return median(overs), median(counts), nil
}

// disk counts what turns alone write: their sessions are there before.
func (h *host) disk(ctx context.Context) error {
	sessions, err := h.createAll(ctx, memorySession)
	if err != nil {
		return err
	}
	before, err := h.written()
	if err != nil {
		return err
	}
	for i := range diskTurns {
		if _, err := h.turn(ctx, sessions[i%len(sessions)]); err != nil {
			return err
		}
	}
	after, err := h.written()
	figure("turn.disk_kb", (after-before)/1024/diskTurns, "KB")
	return err
}

func (h *host) createAll(ctx context.Context, n int) ([]string, error) {
	sessions := make([]string, n)
	for i := range sessions {
		id, err := h.create(ctx)
		if err != nil {
			return nil, err
		}
		sessions[i] = id
	}
	return sessions, nil
}

// newTurn makes a session and one turn in it.
func (h *host) newTurn(ctx context.Context) (float64, error) {
	id, err := h.create(ctx)
	if err != nil {
		return 0, err
	}
	return h.turn(ctx, id)
}

func (h *host) create(ctx context.Context) (string, error) {
	s, err := h.client.CreateSession(ctx, protocol.CreateSession{Location: protocol.Location{Directory: h.machine.folder}})
	return s.ID, err
}

// turn sends a prompt over HTTP, follows it over the WebSocket, and answers the
// milliseconds it took beyond the server's own.
func (h *host) turn(ctx context.Context, id string) (float64, error) {
	s, err := h.client.Session(ctx, id)
	if err != nil {
		return 0, err
	}
	before := len(h.machine.server.Requests())
	var began time.Time
	for update, err := range h.client.Follow(ctx, id, client.FollowOptions{After: s.Cursor, Deltas: true}) {
		switch {
		case err != nil:
			return 0, err
		case update.Live:
			began = time.Now()
			if _, err := h.client.Prompt(ctx, id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "hello"}}); err != nil {
				return 0, err
			}
		case update.Event != nil && update.Event.Type == (session.ActivityEnded{}).EventType():
			took := time.Since(began)
			if !strings.Contains(string(update.Event.Data), "completed") {
				return 0, fmt.Errorf("the turn failed: %s", update.Event.Data)
			}
			for _, request := range h.machine.server.Requests()[before:] {
				took -= request.Took
			}
			return milliseconds(took), nil
		}
	}
	return 0, fmt.Errorf("the stream ended")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
