package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 20 * time.Second

const tool = `schema = 1
id = "acme/a"
version = "1.0.0"
description = "d"
[[tool]]
name = "a"
description = "d"
input = '{"type":"object"}'
`

// bench is a plugin that is developed. Its compiler copies the module that main.src names.
type bench struct {
	t      *testing.T
	folder string
	events chan Event
	stop   context.CancelFunc
	ended  chan error
	output bytes.Buffer // of the compiler; to be read when it has ended
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, folder: t.TempDir(), events: make(chan Event, 100), ended: make(chan error, 1)}
	for name, answer := range map[string]string{"one": `{"ok":{"title":"one"}}`, "two": `{"ok":{"title":"two"}}`} {
		b.write("out/"+name, string(bridgetest.New().Answers(abi.ExportTool, answer).Bytes()))
	}
	b.write(plugin.ManifestName, tool+"[dev]\nbuild = \"cp out/$(cat main.src) a.wasm\"\nwatch = [\"*.src\"]\n")
	b.save("main.src", "one")
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// save replaces a file in one step.
func (b *bench) save(name, text string) {
	b.t.Helper()
	b.write(filepath.Join(filepath.Dir(name), ".saved"), text)
	if err := os.Rename(filepath.Join(b.folder, filepath.Dir(name), ".saved"), filepath.Join(b.folder, name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(change ...func(*Options)) {
	b.t.Helper()
	engine, err := plugin.NewEngine(plugin.EngineOptions{}, hclog.NewNullLogger())
	if err != nil {
		b.t.Fatal(err)
	}
	options := Options{Folder: b.folder, Engine: engine, Output: &b.output, Tell: func(event Event) { b.events <- event }}
	for _, one := range change {
		one(&options)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	b.stop = cancel
	go func() { b.ended <- Run(ctx, options) }()
	b.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-b.ended, engine.Close()); err != nil {
			b.t.Error(err)
		}
	})
}

// next is the next event of one of these kinds.
func (b *bench) next(kinds ...Kind) Event {
	b.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case event := <-b.events:
			if slices.Contains(kinds, event.Kind) {
				return event
			}
		case err := <-b.ended:
			b.ended <- err
			b.t.Fatalf("it has ended: %v", err)
		case <-timer.C:
			b.t.Fatalf("nothing of %v is told", kinds)
		}
	}
}

// kinds are those of the events up to done or refused.
func (b *bench) kinds() (kinds []Kind) {
	b.t.Helper()
	for {
		event := b.next(KindSaved, KindRefused, KindBuilt, KindChanged, KindServing, KindGoldens, KindRerun, KindDone, KindNote)
		if kinds = append(kinds, event.Kind); event.Kind == KindDone || event.Kind == KindRefused {
			return kinds
		}
	}
}

func TestEachSaveIsBuilt(t *testing.T) {
	b := newBench(t)
	b.run()
	if diff := cmp.Diff([]Kind{KindSaved, KindBuilt, KindGoldens, KindDone}, b.kinds()); diff != "" {
		t.Error(diff)
	}
	b.save("main.src", "two")
	if files := b.next(KindSaved).Files; !slices.Equal(files, []string{"main.src"}) {
		t.Errorf("%q", files)
	}
	built := b.next(KindBuilt).Built
	if built.ID != "acme/a" || built.TookNS <= 0 || !slices.Equal(built.Offers, []string{"tool a"}) || len(built.Requests) > 0 {
		t.Errorf("%+v", built)
	}
	if done := b.next(KindDone); done.TookNS < done.BuildNS || done.BuildNS <= 0 || done.Text != "" {
		t.Errorf("%+v", done)
	}
	b.save("other.txt", "not watched")
	b.save("plugin.toml", strings.Replace(tool, `name = "a"`, `name = "b"`, 1)+"[dev]\nbuild = \"cp out/$(cat main.src) a.wasm\"\nwatch = [\"*.src\", \"src/**\"]\n[request.kv]\nreason = \"r\"\n")
	if files := b.next(KindSaved).Files; !slices.Equal(files, []string{"plugin.toml"}) {
		t.Errorf("%q", files)
	}
	lines := strings.Join(b.next(KindChanged).Lines, "\n")
	for _, want := range []string{"tool b", "tool a", "kv"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in %q", want, lines)
		}
	}
	b.next(KindDone)
	b.write("src/deep/er.src", "a folder that is new") // and watched from now on
	if files := b.next(KindSaved).Files; !slices.Equal(files, []string{"src/deep/er.src"}) {
		t.Errorf("%q", files)
	}
	b.next(KindDone)
	b.save("src/deep/er.src", "again")
	b.next(KindDone)
}

// A build that is under way when a source is saved ends at once, with what it started.
func TestASaveEndsTheBuildBefore(t *testing.T) {
	b := newBench(t)
	fifo := filepath.Join(b.folder, "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b.write("plugin.toml", tool+"[dev]\nbuild = \"grep -q wait main.src && echo > started && sleep 1000; cp out/$(cat main.src) a.wasm\"\nwatch = [\"*.src\"]\n")
	b.save("main.src", "wait")
	b.run()
	if _, err := os.ReadFile(fifo); err != nil { // until the build writes
		t.Fatal(err)
	}
	b.save("main.src", "two")
	if diff := cmp.Diff([]Kind{KindSaved, KindSaved, KindBuilt, KindGoldens, KindDone}, b.kinds()); diff != "" {
		t.Error(diff)
	}
}

// A golden that does not come to an end is not waited for when a source is saved.
func TestASaveEndsTheGoldensBefore(t *testing.T) {
	b := newBench(t)
	b.write("out/loop", string(bridgetest.New().Loops(abi.ExportTool).Bytes()))
	b.write("in.json", `{"body":{}}`)
	b.write("out.json", `{"ok":{"title":"two"}}`)
	b.write("plugin.toml", tool+"[dev]\nbuild = \"cp out/$(cat main.src) a.wasm\"\nwatch = [\"*.src\"]\n[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n")
	b.save("main.src", "loop")
	b.run()
	b.next(KindBuilt)
	b.save("main.src", "two")
	if diff := cmp.Diff([]Kind{KindSaved, KindBuilt, KindGoldens, KindDone}, b.kinds()); diff != "" {
		t.Error(diff)
	}
}

func TestItGoesOnAfterMistakes(t *testing.T) {
	b := newBench(t)
	b.save("main.src", "none")
	b.run()
	if refused := b.next(KindRefused); !strings.Contains(refused.Text, "ended with exit status 1") {
		t.Errorf("%+v", refused)
	}
	b.save("plugin.toml", "schema =")
	if refused := b.next(KindRefused); !strings.Contains(refused.Text, "plugin.toml:1") {
		t.Errorf("%+v", refused)
	}
	if err := os.Remove(filepath.Join(b.folder, "plugin.toml")); err != nil {
		t.Fatal(err)
	}
	if refused := b.next(KindRefused); !strings.Contains(refused.Text, "plugin.toml: it is missing") {
		t.Errorf("%+v", refused)
	}
	b.save("main.src", "one")
	b.next(KindRefused)
	b.save("plugin.toml", tool+"[dev]\nbuild = \"cp out/$(cat main.src) a.wasm\"\nwatch = [\"*.src\"]\n")
	b.next(KindDone)
}

func TestItEndsInABuild(t *testing.T) {
	b := newBench(t)
	fifo := filepath.Join(b.folder, "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b.write("plugin.toml", tool+"[dev]\nbuild = \"echo > started; sleep 1000\"\nwatch = [\"*.src\"]\n")
	b.run()
	if _, err := os.ReadFile(fifo); err != nil {
		t.Fatal(err)
	}
	b.stop() // the cleanup waits for the end
}

// Where the system gives no hints, the sources are looked at now and then.
func TestSourcesWithoutHints(t *testing.T) {
	b := newBench(t)
	s, _, err := openSources(b.folder)
	if err != nil {
		t.Fatal(err)
	}
	err = s.hints.Close()
	s.hints = nil
	s.of(abi.Manifest{Dev: &abi.ManifestDev{Watch: []string{"*.src", "**/*.rs"}}})
	before := s.look()
	b.write("target/gone.rs", "made by a tool")
	b.write(".git/hook.rs", "hidden")
	b.write("src/a.rs", "new")
	b.write("a.wasm", "the module")
	b.save("main.src", "two")
	if diff := cmp.Diff([]string{"main.src", "src/a.rs"}, before.changed(s.look())); diff != "" || err != nil {
		t.Error(diff, err)
	}
	after := s.look()
	if err := os.Remove(filepath.Join(b.folder, "src/a.rs")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"src/a.rs"}, after.changed(s.look())); diff != "" {
		t.Error(diff)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func TestTheSourcesAreBounded(t *testing.T) {
	folder := t.TempDir()
	for n := range maxSources + 10 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%05d.src", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := openSources(folder)
	if err != nil {
		t.Fatal(err)
	}
	s.of(abi.Manifest{Dev: &abi.ManifestDev{Watch: []string{"**"}}})
	if found := s.look(); len(found) != maxSources {
		t.Errorf("%d sources are looked at", len(found))
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// fakeHost serves what it is told to.
type fakeHost struct {
	mu     sync.Mutex
	served Served
	err    error
	digest []string // of what it was sent
	log    func(Line)
	failed func(string, *replay.Recording)
	broken chan error // what watching ends with
}

func (h *fakeHost) Serve(_ context.Context, candidate plugin.Candidate) (Served, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.digest = append(h.digest, candidate.Digest)
	return h.served, h.err
}

func (h *fakeHost) Watch(ctx context.Context, id string, begun func(), log func(Line), failed func(string, *replay.Recording)) error {
	if id != "acme/a" {
		return fmt.Errorf("%s is watched", id)
	}
	h.mu.Lock()
	h.log, h.failed = log, failed
	h.mu.Unlock()
	begun()
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.broken:
		return err
	}
}

func TestAHostServesEachSave(t *testing.T) {
	b, host := newBench(t), &fakeHost{served: Served{Active: true, Revision: "r1"}, broken: make(chan error)}
	kept := make(chan *replay.Recording, 1)
	b.run(func(o *Options) {
		o.Host = host
		o.Keep = func(call *replay.Recording) error { kept <- call; return errors.New("no room") }
	})
	if served := b.next(KindServing).Served; !served.Active || served.Revision != "r1" {
		t.Errorf("%+v", served)
	}
	b.next(KindDone)
	host.log(Line{"warn", "careful"})
	if line := b.next(KindLog).Log; *line != (Line{"warn", "careful"}) {
		t.Errorf("%+v", line)
	}
	call := &replay.Recording{Header: replay.Header{Plugin: "acme/a", Entry: abi.ExportTool, Session: "ses_1", Isolated: "restore", Deadline: time.Second,
		Input: bridgetest.Message(`{"body":{}}`), Limits: replay.Limits{MemoryMiB: 32, StackKiB: 1024, InputBytes: 1 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 16, Operations: 10, OperationBytes: 1 << 20}},
		End: replay.End{Output: bridgetest.Message(`{"error":{"kind":"failed","message":"then"}}`), Failed: true}}
	host.failed("r1", call)
	if failed := b.next(KindFailed).Failed; failed.Session != "ses_1" || failed.Revision != "r1" || !strings.Contains(failed.Outcome, "then") || <-kept != call {
		t.Errorf("%+v", failed)
	}
	if note := b.next(KindNote).Text; !strings.Contains(note, "is not kept: no room") {
		t.Errorf("%s", note)
	}

	host.mu.Lock()
	host.served = Served{Held: true, Reason: "it asks for more"}
	host.mu.Unlock()
	b.save("main.src", "two")
	if served := b.next(KindServing).Served; !served.Held {
		t.Errorf("%+v", served)
	}
	if again := b.next(KindRerun).Rerun; !again.Passes || again.Now != `{"ok":{"title":"two"}}` || !strings.Contains(again.Outcome, "then") {
		t.Errorf("%+v", again)
	}
	if done := b.next(KindDone); done.Text != "the version before, if any, serves on" {
		t.Errorf("%+v", done)
	}

	host.broken <- errors.New("the connection is gone")
	if note := b.next(KindNote).Text; !strings.Contains(note, "the connection is gone") {
		t.Errorf("%s", note)
	}
	host.mu.Lock()
	host.err = errors.New("nobody answers")
	host.mu.Unlock()
	b.save("main.src", "one")
	if served := b.next(KindServing).Served; served.Active || served.Reason != "nobody answers" {
		t.Errorf("%+v", served)
	}
	b.next(KindDone)
	host.log(Line{"info", "it is watched again"})
	b.next(KindLog)
	if len(host.digest) != 3 || host.digest[0] != host.digest[2] || host.digest[0] == host.digest[1] {
		t.Errorf("%q", host.digest)
	}
}

// A plugin whose goldens are still to be recorded serves nobody.
func TestAGoldenThatIsMissing(t *testing.T) {
	b, host := newBench(t), &fakeHost{}
	b.write("in.json", `{"body":{}}`)
	b.write("plugin.toml", tool+"[dev]\nbuild = \"cp out/$(cat main.src) a.wasm\"\nwatch = [\"*.src\"]\n[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n")
	b.run(func(o *Options) { o.Host = host })
	if served := b.next(KindServing).Served; served.Active || !strings.Contains(served.Reason, "out.json is still to be recorded") {
		t.Errorf("%+v", served)
	}
	if goldens := b.next(KindGoldens).Goldens; len(goldens) != 1 || goldens[0].Passed {
		t.Errorf("%+v", goldens)
	}
	b.next(KindDone)
	b.save("out.json", `{"ok":{"title":"one"}}`) // the goldens are watched, too
	host.mu.Lock()
	host.served = Served{Active: true}
	host.mu.Unlock()
	if goldens := b.next(KindGoldens).Goldens; len(goldens) != 1 || !goldens[0].Passed {
		t.Errorf("%+v", goldens)
	}
}
