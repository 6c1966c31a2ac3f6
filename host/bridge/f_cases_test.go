package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The cases of the instructions and the date, by the committed core/environment.
func TestCasesOfInstructions(t *testing.T) {
	sessiontest.Cases(t, "F", []sessiontest.Case{
		{Number: 170, Text: "Instruction files of the user, of the project's root and of a subdirectory that the session works in are told by one source: the user's, the subdirectory's, the root's.", Run: orderOfInstructions},
		{Number: 172, Text: "An instruction file that is found and gone before it is read makes the source unavailable, so what was told stays told.", Run: vanishedInstructions},
		{Number: 173, Text: "When the last instruction file goes the removal text is told, and when one of two goes an update with the other.", Run: removedInstructions},
		{Number: 175, Text: "The search for instruction files ends at the canonical root of a project that was named by a link.", Run: linkedProject},
		{Number: 176, Text: "On the same calendar day no date is told again; on the next one an update tells nothing but the date.", Run: nextDay},
	})
}

const userAndRoot = "Instructions from: AGENTS.md of the user's configuration\nmine\n\n"

func orderOfInstructions(t *testing.T) {
	i := newInstructed(t, map[string]string{"work/AGENTS.md": "of work"}, `{}`)
	root := i.location.Root
	want := userAndRoot + "Instructions from: " + root + "/work/AGENTS.md\nof work\n\nInstructions from: " + root + "/AGENTS.md\nbe kind"
	if diff := cmp.Diff(want, i.observe(t, clock{}.Now())["core/instructions"].Baseline); diff != "" {
		t.Error(diff)
	}
}

func vanishedInstructions(t *testing.T) {
	i := newInstructed(t, nil, `{}`)
	i.source.plugin.Caller = removing{Caller: i.source.plugin.Caller, file: filepath.Join(i.location.Root, "AGENTS.md")}
	states := i.observe(t, clock{}.Now())
	if got := states["core/instructions"]; got.State != session.SourceUnavailable || states["core/date"].State != session.SourceValue {
		t.Errorf("%+v", states)
	}
}

// removing takes a file away between the operations that find it and that read it.
type removing struct {
	Caller
	file string
}

func (r removing) Call(ctx context.Context, call Call) ([]byte, error) {
	served := call.Operations
	call.Operations = operationFunc(func(ctx context.Context, operation string, request []byte) []byte {
		if operation == abi.OpFSRead && strings.Contains(string(request), `"project"`) {
			if err := os.Remove(r.file); err != nil && !errors.Is(err, os.ErrNotExist) {
				panic(err)
			}
		}
		return served.Call(ctx, operation, request)
	})
	return r.Caller.Call(ctx, call)
}

func removedInstructions(t *testing.T) {
	i := newInstructed(t, nil, `{}`)
	i.told = map[string]json.RawMessage{}
	first := i.observe(t, clock{}.Now())["core/instructions"]
	if err := os.Remove(filepath.Join(i.location.Root, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	one := i.observe(t, clock{}.Now())["core/instructions"]
	if want := strings.TrimSpace(userAndRoot); one.Baseline != want || !strings.HasSuffix(one.Update, "supersede every instruction file told earlier.\n\n"+want) {
		t.Errorf("one of two: %+v", one)
	}
	if err := os.Remove(filepath.Join(i.reach.Config, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if last := i.observe(t, clock{}.Now())["core/instructions"]; last.State != session.SourceAbsent || !strings.Contains(first.Removed, "no longer apply") || one.Removed != first.Removed {
		t.Errorf("the last one: %+v, %q", last, first.Removed)
	}
}

func linkedProject(t *testing.T) {
	i := newInstructed(t, map[string]string{"work/.git/HEAD": "", "work/AGENTS.md": "of work", "work/sub/AGENTS.md": "of sub"}, `{}`)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(i.location.Directory, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(link), "AGENTS.md"), []byte("beside the link"), 0o600); err != nil {
		t.Fatal(err)
	}
	place, err := fsys.FindPlace(filepath.Join(link, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	i.location = session.Location{Directory: place.Directory, Root: place.Root}
	want := userAndRoot + "Instructions from: " + place.Root + "/sub/AGENTS.md\nof sub\n\nInstructions from: " + place.Root + "/AGENTS.md\nof work"
	if diff := cmp.Diff(want, i.observe(t, clock{}.Now())["core/instructions"].Baseline); diff != "" {
		t.Error(diff)
	}
}

func nextDay(t *testing.T) {
	i := newInstructed(t, nil, `{}`)
	at := clock{}.Now()
	first, same := i.observe(t, at)["core/date"], i.observe(t, at.Add(14*time.Hour))["core/date"]
	later := i.observe(t, at.Add(15*time.Hour))
	next := later["core/date"]
	if string(first.Value) != `{"date":"2026-11-20"}` || string(same.Value) != string(first.Value) {
		t.Errorf("one day: %s, %s", first.Value, same.Value)
	}
	if string(next.Value) != `{"date":"2026-11-21"}` || next.Update != "Today's date is now: Sat Nov 21 2026" {
		t.Errorf("the next: %+v", next)
	}
	for key, state := range i.observe(t, at) {
		if key != "core/date" && string(state.Value) != string(later[key].Value) {
			t.Errorf("%s is another: %s", key, later[key].Value)
		}
	}
}
