package bridge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
)

// instructed is the committed core/environment with settings, in front of a project
// and a server.
type instructed struct {
	*rig
	source *Context
	told   map[string]json.RawMessage // the values admitted last
	slow   atomic.Int64               // milliseconds that the server takes
	asked  atomic.Int64
}

var instructionKeys = []string{"core/date", "core/environment", "core/instructions", "core/instructions-configured", "core/instructions-nested", "core/instructions-remote"}

func newInstructed(t testing.TB, files map[string]string, settings string) *instructed {
	t.Helper()
	i := &instructed{rig: newRig(t).stored(t)}
	for name, text := range files {
		path := filepath.Join(i.location.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := reaching(t, i.rig, func(w http.ResponseWriter, request *http.Request) {
		i.asked.Add(1)
		select {
		case <-time.After(time.Duration(i.slow.Load()) * time.Millisecond):
		case <-request.Context().Done():
		}
		fmt.Fprint(w, "of the web")
	})
	i.reach.Roots[RootOperator], i.reach.Files = AccessRead, []string{i.location.Root + "/own.md"}
	i.reach.Rules = &ruled{rules: allows("*")}
	settings = strings.NewReplacer("ROOT", i.location.Root, "URL", url+"/api").Replace(settings)
	init, err := Init("core/environment", json.RawMessage(settings))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range builtin.All() {
		if one.ID == "core/environment" {
			plugin, _ := load(t, wasm.Spec{Wasm: one.Wasm, Entries: []string{abi.ExportContext}, Builtin: true, Init: init, Limits: wasm.Limits{MemoryMiB: 32}})
			plugin.Builtin, plugin.Operations = true, 4000
			i.source = NewContext(plugin, instructionKeys, session.SourceSpec{}, i.reach)
		}
	}
	return i
}

// observe answers the states by key.
func (i *instructed) observe(t testing.TB, at time.Time, directories ...string) map[string]session.SourceState {
	t.Helper()
	observation := session.Observation{Session: "ses_1", Location: i.location, Now: at, Previous: i.told}
	for _, directory := range directories {
		observation.Directories = append(observation.Directories, filepath.Join(i.location.Root, directory))
	}
	states, err := i.source.Observe(t.Context(), observation)
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]session.SourceState{}
	for _, state := range states {
		byKey[state.Key] = state
		if state.State == session.SourceValue && i.told != nil {
			i.told[state.Key] = state.Value
		}
	}
	return byKey
}

const allSources = `{"files":[{"root":"project","path":"rules","pattern":"*.md"},{"root":"operator","path":"ROOT/own.md"}],"urls":["URL/style"]}`

// The committed module tells what it is configured with, from the real files and a
// real server.
func TestInstructionsOfAProject(t *testing.T) {
	i := newInstructed(t, map[string]string{"rules/a.md": "rule a", "rules/b.md": "rule b", "own.md": "my own", "src/AGENTS.md": "of src", "lib/CLAUDE.md": "of lib"}, allSources)
	states := i.observe(t, clock{}.Now(), "src/deep", "work/sub")
	for key, want := range map[string]string{
		"core/instructions":            "mine\n\nInstructions from: " + i.location.Root + "/AGENTS.md\nbe kind",
		"core/instructions-configured": "rule a\n\nInstructions from: " + i.location.Root + "/rules/b.md\nrule b\n\nInstructions from: " + i.location.Root + "/own.md\nmy own",
		"core/instructions-remote":     "/api/style\nof the web",
		"core/instructions-nested":     i.location.Root + "/src/AGENTS.md\nof src",
	} {
		if got := states[key]; got.State != session.SourceValue || !strings.HasSuffix(got.Baseline, want) {
			t.Errorf("%s: %+v", key, got)
		}
	}
	if i.observe(t, clock{}.Now()); i.asked.Load() != 1 {
		t.Errorf("%d requests for one page", i.asked.Load())
	}
}

// The project ends at its canonical root: what a link leads to outside of it is not
// told, and a file that links lead to twice is told once.
func TestInstructionsStayInTheProject(t *testing.T) {
	i := newInstructed(t, map[string]string{"rules/a.md": "rule a", "lib/AGENTS.md": "of lib"}, `{"files":[{"root":"project","path":"rules","pattern":"*.md"},{"root":"project","path":"alias/AGENTS.md"},{"root":"project","path":"out.md"}]}`)
	outside := filepath.Join(t.TempDir(), "outside.md")
	if err := os.WriteFile(outside, []byte("from outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"work/AGENTS.md": outside, "rules/link.md": outside, "out.md": outside, "rules/same.md": "a.md", "alias": "lib"} {
		if err := os.Symlink(target, filepath.Join(i.location.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	states, text := i.observe(t, clock{}.Now(), "lib"), ""
	for _, state := range states {
		if strings.HasPrefix(state.Key, "core/instructions") && state.State == session.SourceUnavailable {
			t.Errorf("%+v", state)
		}
		text += state.Baseline
	}
	for want, times := range map[string]int{"from outside": 0, "rule a": 1, "of lib": 1, "be kind": 1} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is told %d times, want %d:\n%s", want, got, times, text)
		}
	}
}

// A server that takes longer than a source may costs the other sources nothing: the
// clock of the call stands, and the wait is bounded.
func TestASlowServerHoldsNothingElse(t *testing.T) {
	i := newInstructed(t, nil, allSources)
	i.slow.Store(400) // beyond ContextDeadline
	if got := i.observe(t, clock{}.Now())["core/instructions-remote"]; !strings.HasSuffix(got.Baseline, "of the web") {
		t.Errorf("a slow server: %+v", got)
	}
	i.slow.Store(60_000)
	begun := time.Now()
	states := i.observe(t, clock{}.Now().Add(time.Hour))
	if got := states["core/instructions-remote"]; !strings.HasSuffix(got.Baseline, "of the web") || i.asked.Load() != 2 {
		t.Errorf("a server that hangs: %d requests, %+v", i.asked.Load(), got)
	}
	if states["core/date"].State != session.SourceValue || states["core/instructions"].State != session.SourceValue {
		t.Errorf("the others: %+v", states)
	}
	if took := time.Since(begun); took > 1900*time.Millisecond {
		t.Errorf("it took %v; a source may take 2 s", took)
	}
}

// BenchmarkInstructions is what a boundary pays for the sources of core/environment: 20
// instruction files of 2 KiB, 20 folders that were read in, and a page that is kept.
func BenchmarkInstructions(b *testing.B) {
	files, directories, text := map[string]string{}, []string{}, strings.Repeat("Do it well.\n", 170)
	for n := range 8 {
		files[fmt.Sprintf("rules/%d.md", n)] = text
	}
	for n := range 20 {
		directory := fmt.Sprintf("src/p%02d", n)
		directories = append(directories, directory)
		if n%2 == 0 {
			files[directory+"/AGENTS.md"] = text
		}
	}
	files["AGENTS.md"], files["own.md"] = text, text
	i := newInstructed(b, files, allSources)
	i.observe(b, clock{}.Now(), directories...)
	for b.Loop() {
		i.observe(b, clock{}.Now(), directories...)
	}
}
