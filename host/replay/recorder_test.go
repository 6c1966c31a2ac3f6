package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/wasm"
)

// A call is the same with a recorder before its module, with one that is off, and
// without.
func TestRecorderChangesNothing(t *testing.T) {
	on := true
	s := newStage(t, wasm.Spec{Wasm: asking().Bytes()}, replay.Options{When: func() bool { return on }})
	request := wasm.Request{Entry: abi.ExportTool, Input: toolMessage(), Operations: answering(`{"ok":{"text":"alpha"}}`), Log: func(string) {}}
	want, err := s.module.Call(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	compare := func() {
		t.Helper()
		got, err := s.Call(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		got.Duration, got.Waited, got.Start = want.Duration, want.Waited, want.Start
		if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Start" }, cmp.Ignore())); diff != "" {
			t.Error(diff)
		}
	}
	compare()
	on = false
	compare()
	recording := s.only(t)
	if recording.Deadline != 10*time.Second || recording.Call != "call_1" || !bytes.Equal(recording.Input, toolMessage()) {
		t.Errorf("recorded %+v", recording.Header)
	}
}

// An observer that was there already sees what it would have seen.
func TestRecorderPassesOn(t *testing.T) {
	s := newStage(t, wasm.Spec{Wasm: asking().Bytes()}, replay.Options{})
	var seen watcher
	_, err := s.Call(t.Context(), wasm.Request{Entry: abi.ExportTool, Input: toolMessage(), Operations: answering(`{"ok":{}}`), Observer: &seen})
	if err != nil || fmt.Sprint(seen.events) != "[world asked fs.read answered]" {
		t.Errorf("saw %q, %v", seen.events, err)
	}
	mustRepeat(t, s.spec, s.only(t))
}

type watcher struct{ events []string }

func (w *watcher) World(world wasm.Ambient) wasm.Ambient {
	w.events = append(w.events, "world")
	return world
}
func (w *watcher) Asked(operation string, _ []byte) { w.events = append(w.events, "asked "+operation) }
func (w *watcher) Answered([]byte, error)           { w.events = append(w.events, "answered") }
func (w *watcher) Logged(string)                    { w.events = append(w.events, "logged") }

// What reaches no guest leaves no recording.
func TestCallsThatReachNoGuest(t *testing.T) {
	s := newStage(t, wasm.Spec{Wasm: asking().Bytes()}, replay.Options{})
	if _, err := s.Call(t.Context(), wasm.Request{Entry: "other"}); !errors.Is(err, wasm.ErrEntry) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ask(ctx, time.Minute, nil); !errors.Is(err, wasm.ErrCancelled) {
		t.Error(err)
	}
	if len(s.all) != 0 {
		t.Errorf("%d recordings", len(s.all))
	}
}

// Known secrets do not get into a file, in no field; the file says that something was
// taken out, and its replay is for information.
func TestSecretsStayOut(t *testing.T) {
	const hidden = "hunter2-hunter2"
	var scrubber secret.Scrubber
	scrubber.Add(secret.NewValue(hidden))
	guest := asking()
	s := newStage(t, wasm.Spec{Wasm: guest.Bytes()}, replay.Options{Scrubber: &scrubber})
	input := abi.EncodeMessage([]byte(`{"body":{"key":"`+hidden+`"}}`), []byte("raw "+hidden))
	result, err := s.Call(t.Context(), wasm.Request{Entry: abi.ExportTool, Input: input, Session: hidden,
		Operations: answering(`{"ok":{"text":"` + hidden + `"}}`)})
	if err != nil || !bytes.Contains(result.Output, []byte(hidden)) {
		t.Fatalf("answered %q, %v", result.Output, err)
	}
	recording := s.only(t)
	text, err := recording.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(hidden)) || !recording.Scrubbed || bytes.Count(text, []byte("[secret]")) != 4 {
		t.Errorf("recorded %s", text)
	}
	if want := abi.EncodeMessage([]byte(`{"body":{"key":"[secret]"}}`), []byte("raw [secret]")); !bytes.Equal(recording.Input, want) {
		t.Errorf("input %q", recording.Input)
	}
	report := wantInexact(t, s.spec, recording, "secrets were taken out of the recording")
	if !report.Equal() {
		t.Errorf("got %v", report)
	}
}

// Secrets in errors, in logs and in names go as well.
func TestScrubTakesEveryField(t *testing.T) {
	const hidden = "hunter2-hunter2"
	var scrubber secret.Scrubber
	scrubber.Add(secret.NewValue(hidden))
	line := "line " + hidden
	recording := &replay.Recording{
		Header: replay.Header{Call: hidden, Session: hidden, Init: replay.Data(hidden), Input: replay.Data(hidden)},
		Steps: []replay.Step{{Log: &line}, {Operation: &replay.Operation{Name: hidden, Request: replay.Data(hidden), Answer: replay.Data(hidden),
			Ended: &replay.Ended{Kind: wasm.KindCancelled, Cause: hidden}}}, {Random: []byte{1}}},
		End: replay.End{Output: replay.Data(hidden), Error: &replay.Failure{Message: hidden, Detail: hidden}},
	}
	clean := recording.Scrub(&scrubber)
	text, err := clean.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), hidden) || strings.Count(string(text), "[secret]") != 12 || !clean.Scrubbed {
		t.Errorf("recorded %s", text)
	}
	if line != "line "+hidden || recording.Scrubbed || string(recording.Input) != hidden {
		t.Error("the recording itself was changed")
	}
	if again := clean.Scrub(&secret.Scrubber{}); !again.Scrubbed {
		t.Error("the mark is lost")
	}
	if untouched := (&replay.Recording{Header: replay.Header{Input: replay.Data("x")}}).Scrub(&scrubber); untouched.Scrubbed {
		t.Error("marked although nothing was there")
	}
}

// A recording beyond its limit says so, stays readable and does not replay.
func TestCutRecording(t *testing.T) {
	for name, limit := range map[string]int{"answer": 400, "request": 60, "output": 60_500} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, wasm.Spec{Wasm: asking().Bytes()}, replay.Options{MaxBytes: limit})
			if _, err := s.ask(t.Context(), time.Minute, answering(`{"ok":"`+strings.Repeat("a", 60_000)+`"}`)); err != nil {
				t.Fatal(err)
			}
			recording := s.only(t)
			if !recording.Cut || recording.End.Output != nil {
				t.Errorf("recorded %+v, %d bytes of output", recording.Header, len(recording.End.Output))
			}
			text, err := recording.Encode()
			if err != nil || len(text) > limit+2000 {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			_, err = again(t, s.spec, recording)
			if _, ok := errors.AsType[*replay.CutError](err); !ok || !strings.Contains(err.Error(), "record it again with a higher one") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A flood of small steps meets the limit too.
func TestFloodOfStepsIsCut(t *testing.T) {
	spec := worldly(900, 0)
	s := newStage(t, spec, replay.Options{MaxBytes: 20_000})
	if _, err := s.ask(t.Context(), time.Minute, answering(`{"ok":{}}`)); err != nil {
		t.Fatal(err)
	}
	recording := s.only(t)
	if !recording.Cut || len(recording.Steps) > 250 {
		t.Errorf("%d steps, cut %v", len(recording.Steps), recording.Cut)
	}
}

// A sink that fails costs the recording, not the call.
func TestLostRecording(t *testing.T) {
	s := newStage(t, wasm.Spec{Wasm: asking().Bytes()}, replay.Options{})
	var lost error
	recorder := replay.Record(s.module, replay.Options{Sink: full{}, Lost: func(err error) { lost = err }})
	if _, err := recorder.Call(t.Context(), wasm.Request{Entry: abi.ExportTool, Input: toolMessage()}); err != nil {
		t.Error(err)
	}
	wantText(t, lost, "keep the recording of a call of acme/test: the disk is full")
}

type full struct{}

func (full) Keep(*replay.Recording) error { return errors.New("the disk is full") }

// Failing keeps the calls that failed only: by the engine, or in the answer.
func TestFailingKeepsFailures(t *testing.T) {
	var sink kept
	guest := bridgetest.New().Answers("good", `{"ok":{}}`).Answers("bad", `{"error":{"kind":"failed","message":"no"}}`).Traps("worse")
	entries := []string{"good", "bad", "worse"}
	s := newStage(t, wasm.Spec{Wasm: guest.Bytes(), Entries: entries}, replay.Options{Sink: replay.Failing(&sink)})
	for _, entry := range entries {
		_, err := s.Call(t.Context(), wasm.Request{Entry: entry})
		if entry != "worse" && err != nil {
			t.Error(err)
		}
	}
	var names []string
	for _, recording := range sink.all {
		names = append(names, recording.Entry)
	}
	if fmt.Sprint(names) != "[bad worse]" {
		t.Errorf("kept %q", names)
	}
}
