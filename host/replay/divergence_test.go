package replay_test

import (
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

// recordOne records a call of a guest whose operations answer this.
func recordOne(t *testing.T, guest *bridgetest.Guest, answer string) (wasm.Spec, *replay.Recording) {
	t.Helper()
	s := newStage(t, wasm.Spec{Wasm: guest.Bytes()}, replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, answering(answer)); err != nil {
		t.Fatal(err)
	}
	return s.spec, s.only(t)
}

func withGuest(guest *bridgetest.Guest) wasm.Spec { return wasm.Spec{Wasm: guest.Bytes()} }

// A module that asks for something else is stopped there, and told what was recorded.
func TestAnotherOperationDiverges(t *testing.T) {
	_, recording := recordOne(t, asking(), `{"ok":{"text":"alpha"}}`)
	long := `{"path":"` + strings.Repeat("a/", 100) + `a.txt"}`
	for _, test := range []struct {
		name  string
		guest *bridgetest.Guest
		want  string
	}{
		{"request", bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", `{"path":"b.txt"}`, before, after),
			`replay diverges at step 1, "fs.read": the request is {"path":"b.txt"}; recorded was {"path":"a.txt"}`},
		{"long request", bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", long, before, after),
			`replay diverges at step 1, "fs.read": the request is ` + long[:160] + `…; recorded was {"path":"a.txt"}`},
		{"operation", bridgetest.NewAsking().Asks(abi.ExportTool, "fs.stat", `{"path":"a.txt"}`, before, after),
			`replay diverges at step 1: the guest asks for "fs.stat" {"path":"a.txt"}; it was recorded to ask for "fs.read" {"path":"a.txt"}`},
		{"none", bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`),
			`replay diverges: the guest ended before step 1: it was recorded to ask for "fs.read" {"path":"a.txt"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := again(t, withGuest(test.guest), recording)
			wantText(t, diverged(t, err), test.want)
			if report.Exact || report.Want.Fuel != recording.End.Fuel {
				t.Errorf("report %+v", report)
			}
		})
	}
	t.Run("one too many", func(t *testing.T) {
		_, quiet := recordOne(t, bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`), "")
		_, err := again(t, withGuest(asking()), quiet)
		divergence := diverged(t, err)
		wantText(t, divergence, `replay diverges at step 1: the guest asks for "fs.read" {"path":"a.txt"}; nothing more was recorded`)
		if divergence.Step != 1 || divergence.Want != nil || divergence.Got.Operation.Name != "fs.read" {
			t.Errorf("%+v", divergence)
		}
	})
}

// The recorded module diverges too, where the file was changed.
func TestChangedRecordingDiverges(t *testing.T) {
	spec, recording := recordOne(t, asking(), `{"ok":{"text":"alpha"}}`)
	changed := reread(t, recording)
	changed.Steps = append(changed.Steps, changed.Steps[0], changed.Steps[0])
	_, err := again(t, spec, changed)
	divergence := diverged(t, err)
	wantText(t, divergence, `replay diverges: the guest ended before step 2: it was recorded to ask for "fs.read" {"path":"a.txt"}, and for 1 more`)
	if divergence.Left != 2 || divergence.Got != nil {
		t.Errorf("%+v", divergence)
	}
	changed = reread(t, recording)
	changed.Limits.OperationBytes = 8
	_, err = again(t, spec, changed)
	if text := diverged(t, err).Error(); !strings.Contains(text, "an operation that the engine refuses") {
		t.Errorf("got %s", text)
	}
	changed = reread(t, recording)
	changed.Offered = false
	_, err = again(t, spec, changed)
	if text := diverged(t, err).Error(); !strings.Contains(text, "an operation that the engine refuses") {
		t.Errorf("got %s", text)
	}
}

// A new revision that asks for the same is compared by what it answers; its fuel is
// for information.
func TestAnotherRevisionIsCompared(t *testing.T) {
	_, recording := recordOne(t, asking(), `{"ok":{"text":"alpha"}}`)
	same, err := again(t, withGuest(asking().Answers("other", `{}`)), recording)
	if err != nil || same.Exact || !same.Equal() || same.Got.Fuel != same.Want.Fuel {
		t.Errorf("got %v, %v", same, err)
	}
	other, err := again(t, withGuest(bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", `{"path":"a.txt"}`, `{"ok":{"new":`, after)), recording)
	if err != nil {
		t.Fatal(err)
	}
	want := `not as recorded
  output: got {"ok":{"new":{"ok":{"text":"alpha"}}}}, recorded {"ok":{"host":{"ok":{"text":"alpha"}}}}
  fuel `
	if text := other.String(); !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "(for information: another module than the recorded one)") {
		t.Errorf("got %s", text)
	}
	broken, err := again(t, withGuest(asking().Answers("other", `{}`)), func() *replay.Recording {
		changed := reread(t, recording)
		changed.Limits.OutputBytes = 4
		return changed
	}())
	if err != nil || len(broken.Differences) != 2 || broken.Differences[0].Field != "error" ||
		!strings.Contains(broken.Differences[0].Got, "OutputBytes") || broken.Differences[0].Want != "none" {
		t.Errorf("got %v, %v", broken, err)
	}
}

// A call that ran out of time is compared with one of a new revision, which has as
// much time.
func TestAnotherRevisionOfATimeout(t *testing.T) {
	s := newStage(t, withGuest(bridgetest.New().Loops(abi.ExportTool)), replay.Options{})
	if _, err := s.ask(t.Context(), 20*time.Millisecond, nil); wasm.Kind(err) != wasm.KindDeadline {
		t.Fatal(err)
	}
	recording := s.only(t)
	mended, err := again(t, withGuest(bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`)), recording)
	if err != nil || mended.Err != nil || len(mended.Differences) != 2 {
		t.Errorf("got %v, %v", mended, err)
	}
	began := time.Now()
	still, err := again(t, withGuest(bridgetest.New().Loops(abi.ExportTool).Answers("other", "{}")), recording)
	if err != nil || !still.Equal() || wasm.Kind(still.Err) != wasm.KindDeadline {
		t.Errorf("got %v, %v", still, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("a deadline of 20 ms took %s", took)
	}
}

// Fuel, memory, log and output are compared one by one where the module is the same.
func TestEachFieldIsCompared(t *testing.T) {
	s := newStage(t, wasm.Spec{Wasm: bridgetest.NewPrinting().Prints(abi.ExportTool, "one\n", `{"ok":{}}`).Bytes()}, replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	recording := s.only(t)
	mustRepeat(t, s.spec, recording)
	for want, change := range map[string]func(r *replay.Recording){
		"fuel": func(r *replay.Recording) { r.End.Fuel++ },
		"error": func(r *replay.Recording) {
			r.End.Output, r.End.Error = nil, &replay.Failure{Kind: wasm.KindTrap, Message: "trap"}
		},
		"memory": func(r *replay.Recording) { r.End.Memory++ },
		"log":    func(r *replay.Recording) { r.Steps = nil },
		"output": func(r *replay.Recording) { r.End.Output = replay.Data("other") },
	} {
		changed := reread(t, recording)
		change(changed)
		report, err := again(t, s.spec, changed)
		if err != nil || len(report.Differences) == 0 || len(report.Differences) > 1 && want != "error" || report.Differences[0].Field != want {
			t.Errorf("%s: got %v, %v", want, report, err)
		}
	}
}

// The text of a guest's own error has to be the same, and where fuel is counted
// otherwise it is for information.
func TestErrorTextAndMeterAreCompared(t *testing.T) {
	s := newStage(t, withGuest(bridgetest.New().Traps(abi.ExportTool)), replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, nil); wasm.Kind(err) != wasm.KindTrap {
		t.Fatal(err)
	}
	recording := s.only(t)
	if !strings.Contains(recording.End.Error.Detail, abi.ExportTool) {
		t.Errorf("the stack is %q", recording.End.Error.Detail)
	}
	changed := reread(t, recording)
	changed.End.Error.Message = "call x: trap in y: integer overflow"
	report, err := again(t, s.spec, changed)
	if err != nil || len(report.Differences) != 1 || report.Differences[0].Field != "error" {
		t.Errorf("got %v, %v", report, err)
	}
	changed = reread(t, recording)
	changed.Meter, changed.End.Fuel = 2, 12345
	if report := wantInexact(t, s.spec, changed, "recorded with version 2 of the meter, this is 1"); !report.Equal() {
		t.Errorf("got %v", report)
	}
}
