package replay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

// A guest of the Go toolchain, with its collector, scheduler and seeded maps, gives
// the same answer for the same fuel.
func TestGuestOfTheGoToolchainRepeats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the Go guest: %v\n%s", err, out)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, isolation := range []wasm.Isolation{wasm.Restore, wasm.Fresh} {
		spec := wasm.Spec{Wasm: module, Isolation: isolation, Limits: wasm.Limits{MemoryMiB: 128}}
		s := newStage(t, spec, replay.Options{})
		outputs := map[string]bool{}
		for range 3 {
			result, err := s.ask(t.Context(), time.Minute, answering(`{"ok":{}}`))
			if err != nil {
				t.Fatal(err)
			}
			outputs[string(result.Output)] = true
		}
		if len(outputs) != 3 {
			t.Errorf("%s: %d outputs of 3 calls", isolation, len(outputs))
		}
		for _, recording := range s.all {
			if recording.End.Failed {
				t.Errorf("answered %.200q", recording.End.Output)
			}
			mustRepeat(t, spec, recording)
		}
	}
}
