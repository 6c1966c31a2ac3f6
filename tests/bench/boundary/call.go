package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
	"github.com/plinthhost/plinth/session"
)

const (
	// callsPerRound is how many tool calls one round makes on each side.
	callsPerRound = 40
	// asksPerCall is how many operations a call asks for, at most the limit of one.
	asksPerCall = 1000
)

// Places in the guests' memory.
const (
	atName    = 1 << 10
	atRequest = 2 << 10
	atAnswer  = 3 << 10
	atRoom    = 1 << 20
	atRead    = 2 << 20
)

// guestOf is a tool that asks for one operation, count times, reads every answer and
// answers nothing.
func guestOf(operation, request string, count int32) []byte {
	m := new(wasmtest.Module)
	i32 := wasmtest.I32
	ask := m.Import(abi.ImportModule, abi.ImportCall, wasmtest.Types(i32, i32, i32, i32), wasmtest.Types(i32))
	read := m.Import(abi.ImportModule, abi.ImportRead, wasmtest.Types(i32), nil)
	message, answer := string(abi.EncodeMessage([]byte(request), nil)), string(abi.EncodeMessage([]byte(`{"ok":{}}`), nil))
	m.Memory(96, 0)
	m.Data(atName, operation)
	m.Data(atRequest, message)
	m.Data(atAnswer, answer)
	m.Func(abi.ExportMarker, nil, nil, nil)
	m.Func(abi.ExportAlloc, wasmtest.Types(i32), wasmtest.Types(i32), nil, wasmtest.Const(atRoom))
	const local = 2 // the first after the entry's parameters
	m.Entry(abi.ExportTool,
		wasmtest.Const(count), wasmtest.Set(local), wasmtest.Block, wasmtest.Loop,
		wasmtest.Get(local), wasmtest.Eqz, wasmtest.BrIf(1),
		wasmtest.Const(atName), wasmtest.Const(int32(len(operation))), wasmtest.Const(atRequest), wasmtest.Const(int32(len(message))),
		wasmtest.Call(ask), wasmtest.Drop, wasmtest.Const(atRead), wasmtest.Call(read),
		wasmtest.Get(local), wasmtest.Const(-1), wasmtest.Add, wasmtest.Set(local), wasmtest.Br(0),
		wasmtest.End, wasmtest.End,
		wasmtest.Answer(wasmtest.Const(atAnswer), wasmtest.Const(int32(len(answer)))))
	return m.Bytes()
}

// toolbox makes tools of guests in one engine.
type toolbox struct {
	engine *wasm.Engine
	reach  *bridge.Reach
}

func newToolbox(reach *bridge.Reach) (*toolbox, error) {
	engine, err := wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, Logger: hclog.NewNullLogger()})
	return &toolbox{engine: engine, reach: reach}, err
}

func (b *toolbox) tool(ctx context.Context, name string, guest []byte) (*bridge.Tool, error) {
	module, err := b.engine.Load(ctx, wasm.Spec{Name: "bench/" + name, Wasm: guest, Entries: []string{abi.ExportTool}, Builtin: true,
		Limits: wasm.Limits{MemoryMiB: 64}})
	if err != nil {
		return nil, err
	}
	plugin := &bridge.Plugin{ID: "bench/" + name, Builtin: true, Caller: bridge.NewCaller(module), Log: func(string, string) {}}
	return bridge.NewTool(plugin, session.ToolDefinition{Name: name, Input: []byte(`{"type":"object"}`)}, b.reach)
}

// run executes a tool and answers how long a call took, in seconds.
func run(ctx context.Context, tool *bridge.Tool, directory string) (float64, error) {
	call := session.ToolCall{Name: "bench", Input: []byte(`{}`), Session: "ses_bench", Timeout: time.Minute, Host: granting{},
		Location: session.Location{Directory: directory, Root: directory}}
	began := time.Now()
	for range callsPerRound {
		if _, err := tool.Execute(ctx, call); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / callsPerRound, nil
}

// granting allows everything.
type granting struct{}

func (granting) Authorise(context.Context, session.PermissionRequest) error { return nil }

func (granting) Effects(_ context.Context, _ string, resources []string) ([]session.Effect, error) {
	effects := make([]session.Effect, len(resources))
	for i := range effects {
		effects[i] = session.Allow
	}
	return effects, nil
}

func (granting) Progress(string) {}

// measureCall compares a guest that asks for log lines with one that asks nothing.
// What log itself does is nothing here, so the difference is the boundary's:
// into the host, decoding, dispatch, counting, encoding, and back with the answer.
func measureCall(ctx context.Context) error {
	box, err := newToolbox(&bridge.Reach{Services: &bridge.Services{Clock: session.SystemClock{}}})
	if err != nil {
		return err
	}
	defer box.engine.Close()
	request := `{"level":"info","message":"x"}`
	asking, err := box.tool(ctx, "asking", guestOf(abi.OpLog, request, asksPerCall))
	if err != nil {
		return err
	}
	silent, err := box.tool(ctx, "silent", guestOf(abi.OpLog, request, 0))
	if err != nil {
		return err
	}
	var costs []float64
	for range rounds {
		with, err := run(ctx, asking, "/")
		if err != nil {
			return err
		}
		without, err := run(ctx, silent, "/")
		if err != nil {
			return err
		}
		costs = append(costs, (with-without)/asksPerCall*1e6)
	}
	figure("host_call_us", median(costs), "us")
	return nil
}

// measureGuestRead compares a guest that reads 1 MiB of text by fs.read, the bytes
// in its memory, with os.ReadFile. A call of a guest that asks nothing is taken off.
func measureGuestRead(ctx context.Context) error {
	folder, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "data.txt")
	text := make([]byte, readSize)
	for i := range text {
		text[i] = "plinth\n"[i%7]
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	box, err := newToolbox(&bridge.Reach{Services: &bridge.Services{Clock: session.SystemClock{}},
		Grants: bridge.Grants{Roots: map[string]bridge.Access{bridge.RootLocation: bridge.AccessRead}}})
	if err != nil {
		return err
	}
	defer box.engine.Close()
	const reads = 20
	reading, err := box.tool(ctx, "reading", guestOf(abi.OpFSRead, `{"path":"data.txt"}`, reads))
	if err != nil {
		return err
	}
	silent, err := box.tool(ctx, "silent", guestOf(abi.OpFSRead, `{"path":"data.txt"}`, 0))
	if err != nil {
		return err
	}
	var ours, theirs []float64
	for range rounds {
		with, err := run(ctx, reading, folder)
		if err != nil {
			return err
		}
		without, err := run(ctx, silent, folder)
		if err != nil {
			return err
		}
		other, err := timed(func() (int, error) {
			data, err := os.ReadFile(name)
			return len(data), err
		})
		if err != nil {
			return err
		}
		ours, theirs = append(ours, (with-without)/reads), append(theirs, other)
	}
	fmt.Fprintf(os.Stderr, "read 1 MiB into a guest: %.0f µs, os.ReadFile %.0f µs\n", median(ours)*1e6, median(theirs)*1e6)
	figure("read_1mib_over_os", median(ours)/median(theirs), "ratio")
	return nil
}
