package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/dev"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
)

// workshop is a garden with a plugin whose author works on it: the file main.src names the
// module that its compiler makes.
type workshop struct {
	*garden
	author *process
}

// Modules that the compiler can make. The goldens are of the context source.
func compilable() map[string]*bridgetest.Guest {
	const observed = `{"ok":{"sources":[]}}`
	says := func(text string) *bridgetest.Guest {
		return bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"`+text+`"}]}}`)
	}
	return map[string]*bridgetest.Guest{
		"first":  says("one first").Answers(abi.ExportContext, observed),
		"second": says("one second").Answers(abi.ExportContext, observed),
		"wrong":  says("one wrong").Answers(abi.ExportContext, `{"error":{"kind":"failed","message":"no"}}`),
		"broken": bridgetest.NewPrinting().Prints(abi.ExportTool, "looks outside\n", `{"error":{"kind":"unavailable","message":"not today"}}`).Answers(abi.ExportContext, observed),
		"mended": says("one mended").Answers(abi.ExportContext, observed),
	}
}

const sources = `[[context]]
key = "test/one/state"
[dev]
build = "cat main.src && cp out/$(cat main.src).wasm one.wasm"
watch = ["*.src"]
[[golden]]
export = "context"
input = "in.json"
output = "out.json"
`

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	w := &workshop{garden: newGarden(t, "")}
	for name, guest := range compilable() {
		w.write("work/out/"+name+".wasm", string(guest.Bytes()))
	}
	w.write("work/in.json", `{"body":{}}`)
	w.write("work/out.json", `{"ok":{"sources":[]}}`)
	w.write("work/plugin.toml", declared("one", "1.0.0", sources))
	w.write("work/main.src", "first")
	return w
}

// save replaces a file of the plugin in one step, as editors do.
func (w *workshop) save(name, text string) {
	w.t.Helper()
	w.write("work/."+name, text)
	if err := os.Rename(filepath.Join(w.folder, "work", "."+name), filepath.Join(w.folder, "work", name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workshop) develop(args ...string) {
	w.t.Helper()
	w.author = w.spawn(append([]string{"plugin", "dev", filepath.Join(w.folder, "work"), "--json"}, args...)...)
}

// event is the next that is told of one of these kinds.
func (w *workshop) event(kinds ...dev.Kind) dev.Event {
	w.t.Helper()
	for {
		var event dev.Event
		if line := w.author.line(); json.Unmarshal([]byte(line), &event) != nil {
			w.t.Fatalf("not an event: %s", line)
		}
		if slices.Contains(kinds, event.Kind) {
			return event
		}
	}
}

// served is what became of a save that was built.
func (w *workshop) served() dev.Served {
	w.t.Helper()
	event := w.event(dev.KindServing, dev.KindRefused)
	if event.Served == nil {
		w.t.Fatalf("it was refused: %s\n%s", event.Text, w.author.notes)
	}
	return *event.Served
}

// says holds the plugin to what it tells a model.
func (w *workshop) says(want string) {
	w.t.Helper()
	if diff := cmp.Diff([]string{want}, w.say(w.host.session(w.world), "[call]")); diff != "" {
		w.t.Error(diff)
	}
}

// An author saves one mistake after the other, and what serves is always the last version
// that was good.
func TestAnAuthorAtWork(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.develop()
	if served := w.served(); !served.Active {
		t.Fatalf("%+v", served)
	}
	if goldens := w.event(dev.KindGoldens).Goldens; len(goldens) != 1 || !goldens[0].Passed || goldens[0].Memory == 0 {
		t.Errorf("%+v", goldens)
	}
	w.event(dev.KindDone)
	w.says("one first")

	w.save("main.src", "nothing") // there is no such module
	if refused := w.event(dev.KindRefused, dev.KindServing); !strings.Contains(refused.Text, "ended with exit status 1") {
		t.Errorf("%+v", refused)
	}
	w.says("one first")

	w.save("main.src", "wrong")
	if served := w.served(); served.Active || served.Held || !strings.Contains(served.Reason, "in.json") {
		t.Errorf("%+v", served)
	}
	if goldens := w.event(dev.KindGoldens).Goldens; len(goldens) != 1 || goldens[0].Passed || len(goldens[0].Differences) == 0 {
		t.Errorf("%+v", goldens)
	}
	w.says("one first")

	w.save("plugin.toml", "schema = 1\nid = ") // half a manifest
	if refused := w.event(dev.KindRefused, dev.KindServing); !strings.Contains(refused.Text, "plugin.toml:2") {
		t.Errorf("%+v", refused)
	}
	w.save("main.src", "second")
	w.event(dev.KindRefused)
	w.save("plugin.toml", declared("one", "1.0.1", sources))
	if served := w.served(); !served.Active {
		t.Errorf("%+v", served)
	}
	w.says("one second")

	if rest, code := w.author.stop(os.Interrupt); code != 0 {
		t.Errorf("it ends with %d: %s\n%s", code, rest, w.author.notes)
	}
	if notes := w.author.notes.String(); !strings.Contains(notes, "nothingcp: ") || !strings.Contains(notes, "out/nothing.wasm") {
		t.Errorf("the compiler's words are %q", notes)
	}
	w.says("one second") // it serves without its author
}

// A turn that runs while its plugin is replaced goes on with what it began with.
func TestARunningTurnOutlivesASave(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.develop()
	w.event(dev.KindDone)
	id := w.host.session(w.world)
	type answer struct {
		told []string
		err  error
	}
	answered := make(chan answer, 1)
	ctx := w.within()
	go func() {
		told, err := w.ask(ctx, id, "[stop]")
		answered <- answer{told, err}
	}()
	select {
	case <-w.stopped:
	case <-ctx.Done():
		t.Fatal("the model was not asked")
	}
	w.save("main.src", "second")
	if served := w.served(); !served.Active {
		t.Fatalf("%+v", served)
	}
	w.event(dev.KindDone)
	close(w.goOn)
	if got := <-answered; got.err != nil || !slices.Equal(got.told, []string{"one first"}) {
		t.Errorf("the turn was told %q, %v", got.told, got.err)
	}
	if told := w.say(id, "again"); !slices.Equal(told, []string{"one second"}) {
		t.Errorf("the next turn was told %q", told)
	}
}

// A call that fails in a session is shown with what the plugin logged, and made again by
// each version that follows.
func TestAFailedCallIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.save("main.src", "broken")
	w.develop()
	w.event(dev.KindDone)
	if told := w.say(w.host.session(w.world), "[call]"); len(told) != 1 || !strings.Contains(told[0], "not today") {
		t.Fatalf("%q", told)
	}
	if logged := w.event(dev.KindLog).Log; logged.Text != "looks outside" {
		t.Errorf("%+v", logged)
	}
	failed := w.event(dev.KindFailed).Failed
	if failed.Export != abi.ExportTool || !strings.Contains(failed.Outcome, "not today") || !strings.HasPrefix(failed.Session, "ses_") {
		t.Errorf("%+v", failed)
	}
	w.save("main.src", "mended")
	again := w.event(dev.KindRerun).Rerun
	if !again.Passes || !strings.Contains(again.Now, "one mended") || again.Outcome != failed.Outcome {
		t.Errorf("%+v", again)
	}
	if _, code := w.author.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("it ends with %d", code)
	}

	// The next time the author begins with it.
	w.develop()
	if again := w.event(dev.KindRerun).Rerun; !again.Passes || !strings.Contains(again.Outcome, "not today") {
		t.Errorf("%+v", again)
	}
}

// A version that asks for more does not serve until somebody approves of it.
func TestASaveThatAsksForMore(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.develop()
	w.event(dev.KindDone)
	more := declared("one", "1.1.0", sources+"[request.kv]\nreason = \"remembers\"\n")
	w.save("plugin.toml", more)
	if lines := w.event(dev.KindChanged).Lines; len(lines) == 0 || !strings.Contains(strings.Join(lines, "\n"), "kv") {
		t.Errorf("%q", lines)
	}
	held := w.served()
	if held.Active || !held.Held || !strings.Contains(held.Reason, "kv (remembers)") || !strings.Contains(held.Reason, "plinth plugin approve test/one") || len(held.Lines) == 0 {
		t.Errorf("%+v", held)
	}
	w.event(dev.KindDone)
	w.says("one first")
	w.save("main.src", "second")
	if held := w.served(); !held.Held {
		t.Errorf("%+v", held)
	}
	w.event(dev.KindDone)
	if out, notes, code := w.plinth("plugin", "approve", "test/one", "--grant", "kv"); code != 0 {
		t.Fatal(out, notes)
	}
	w.says("one second")
	w.save("main.src", "mended") // asks for what is granted now
	if served := w.served(); !served.Active {
		t.Errorf("%+v", served)
	}
	w.event(dev.KindDone)
	w.says("one mended")
}

// Without a host there are the goldens, and one that comes is found.
func TestAnAuthorWithoutAHost(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	if _, code := w.host.stop(os.Interrupt); code != 0 {
		t.Fatal(code, w.host.notes)
	}
	w.develop()
	if served := w.served(); served.Active || !strings.Contains(served.Reason, "no host serves") || !strings.Contains(served.Reason, "plinth serve") {
		t.Errorf("%+v", served)
	}
	if goldens := w.event(dev.KindGoldens).Goldens; len(goldens) != 1 || !goldens[0].Passed {
		t.Errorf("%+v", goldens)
	}
	w.event(dev.KindDone)
	w.host = w.serve()
	w.save("main.src", "second")
	if served := w.served(); !served.Active {
		t.Errorf("%+v", served)
	}
	w.event(dev.KindDone)
	w.says("one second")
	if out, notes, code := w.plinth("plugin", "test", filepath.Join(w.folder, "work"), "--as-built"); code != 0 || !strings.Contains(out, "1 of 1 goldens passed") {
		t.Error(fmt.Sprint(code), out, notes)
	}
}
