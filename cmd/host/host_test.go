package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/warm"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

// compiled is the machine code of the builtin plugins, made once: under the race
// detector that takes longer than a context source may.
var compiled string

// keptPrivate has this test program keep itself private, and wait. It runs as somebody who
// sees no folder of the tests and needs none.
const keptPrivate = "PLINTH_TEST_KEPT_PRIVATE"

func TestMain(m *testing.M) {
	if os.Getenv(keptPrivate) != "" {
		os.Exit(m.Run())
	}
	folder, err := os.MkdirTemp("", "plinth")
	if err == nil {
		compiled = filepath.Join(folder, "cache")
		err = errors.Join(warm.Into(compiled), compile(folder))
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// compile runs a host on the folder until its builtin plugins have worked.
func compile(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	loaded, err := config.Load(config.Sources{Environ: []string{"HOME=" + folder}, Flags: config.Overrides{Data: folder}})
	if err != nil {
		return err
	}
	host := &app{config: loaded, logger: hclog.NewNullLogger(), directory: folder}
	if err := host.start(ctx); err != nil {
		return err
	}
	s, _, err := sessionService{host.backend}.Create(ctx, server.Caller{Actor: "test"}, protocol.CreateSession{})
	for outcome := protocol.OutcomeFailed; outcome != protocol.OutcomeCompleted && err == nil; {
		var receipt protocol.Receipt
		if receipt, err = (promptService{host.backend}).Admit(ctx, server.Caller{Actor: "test"}, s.ID, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "read plinth.db"}}); err != nil {
			break
		}
		var result protocol.PromptResult
		result, err = promptService{host.backend}.Wait(ctx, s.ID, receipt.ID)
		outcome = result.Outcome
	}
	return errors.Join(err, host.close())
}

// rig is a whole host in this process, on a folder of its own, that can be stopped
// and started again.
type rig struct {
	*app
	t       *testing.T
	data    string
	project string
	listen  string // of TCP; none when empty
	titles  bool   // a model gives them, which many a test's own would not expect
	log     logged // what the host logs
}

func newRig(t *testing.T) *rig {
	t.Helper()
	folder, err := os.MkdirTemp("", "plinth") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	r := &rig{t: t, data: filepath.Join(folder, "data"), project: filepath.Join(folder, "project")}
	if err := os.Mkdir(r.project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := warm.Share(filepath.Join(r.data, "cache"), compiled); err != nil {
		t.Fatal(err)
	}
	r.write(".env", "KEY=1\n")
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.project, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// configure writes the configuration that the next start reads.
func (r *rig) configure(text string) {
	r.t.Helper()
	folder := filepath.Join(filepath.Dir(r.data), ".config", "plinth")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) start() {
	r.t.Helper()
	loaded, err := config.Load(config.Sources{Environ: []string{"HOME=" + filepath.Dir(r.data)}, Flags: config.Overrides{Data: r.data}})
	if err != nil {
		r.t.Fatal(err)
	}
	loaded.Titles.Enabled = r.titles
	r.app = &app{config: loaded, directory: r.project, listen: r.listen,
		logger: hclog.New(&hclog.LoggerOptions{Output: &r.log, Level: hclog.Info}), fatal: func(err error) { r.t.Error(err) }}
	if err := r.app.start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.close(); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

// within is a context that ends when the test's patience does.
func (r *rig) within() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	return ctx
}

func (r *rig) session() string {
	r.t.Helper()
	s, _, err := sessionService{r.backend}.Create(r.within(), server.Caller{Actor: "test"}, protocol.CreateSession{})
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}

func (r *rig) prompt(id, text string) protocol.Receipt {
	r.t.Helper()
	receipt, err := promptService{r.backend}.Admit(r.within(), server.Caller{Actor: "test"}, id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: text}})
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt
}

// settled sends a prompt and waits for its end.
func (r *rig) settled(id, text string) protocol.PromptResult {
	r.t.Helper()
	receipt := r.prompt(id, text)
	result, err := promptService{r.backend}.Wait(r.within(), id, receipt.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	r.idle(id)
	return result
}

// await reads the session's events from a place on until one fits.
func (r *rig) await(id string, after int64, fits func(session.Payload) bool) store.Event {
	r.t.Helper()
	tail := store.NewTail(r.store, id, after)
	defer tail.Close()
	for {
		page, err := tail.Next(r.within(), 64)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, event := range page.Events {
			if fits(r.decode(event)) {
				return event
			}
		}
	}
}

// idle waits until nothing works on the session.
func (r *rig) idle(id string) {
	r.t.Helper()
	for ctx := r.within(); r.coordinator.Running(id); runtime.Gosched() {
		if ctx.Err() != nil {
			r.t.Fatal(ctx.Err())
		}
	}
}

func (r *rig) decode(event store.Event) session.Payload {
	r.t.Helper()
	payload, err := session.Decode(event)
	if err != nil {
		r.t.Fatal(err)
	}
	return payload
}

// count answers how many of the session's events fit.
func (r *rig) count(id string, fits func(session.Payload) bool) int {
	r.t.Helper()
	page, err := r.store.Read(r.t.Context(), id, -1, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	n := 0
	for _, event := range page.Events {
		if fits(r.decode(event)) {
			n++
		}
	}
	return n
}

// is reports whether a payload is of type P.
func is[P session.Payload](payload session.Payload) bool {
	_, ok := payload.(P)
	return ok
}
