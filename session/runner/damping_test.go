package runner_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// A source that goes back and forth is held, in the next process too, and the operator
// is told when that begins.
func TestASourceThatFlapsIsHeld(t *testing.T) {
	w := newWorld(t, Options{})
	w.contribute("core/env", "", "core/a")
	var log bytes.Buffer
	logger := hclog.New(&hclog.LoggerOptions{Output: &log})
	var told []string
	for i := range 8 { // the clock stands still
		w.set("core/a", []string{"on", "off"}[i%2])
		w.Provider.Script(Say("Yes"))
		w.Admit(w.id, "And now?", session.Steer)
		put(w.World, w.id, session.ResumeRequested{})
		if err := drainWith(w.World, w.id, runner.DefaultConfig(), func(s *runner.Services) { s.Logger = logger }); err != nil {
			t.Fatal(err)
		}
		told = append(told, lastTexts(w.World)[i])
	}
	want := []string{"And now?", "core/a is now off", "core/a is now on", "core/a is now off", "core/a is now on", "And now?", "And now?", "And now?"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(log.String(), "[WARN]"); n != 1 || !strings.Contains(log.String(), "goes back and forth and is held") || !strings.Contains(log.String(), "key=core/a") {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
	w.set("core/a", "off")
	if diff := cmp.Diff([]string{"core/a"}, w.report().Held); diff != "" {
		t.Errorf("reported as held: %s", diff)
	}
	// A compaction changes the beginning anyway, so it tells what the source says.
	w.compact()
	if got := w.turn("And now?"); baseline(got) != "core/a is off" {
		t.Errorf("after a compaction: %q", baseline(got))
	}
	if admitted := w.epoch().Snapshot["core/a"]; admitted.Flips != 0 || admitted.Before != "" {
		t.Errorf("the flips outlive the epoch: %+v", admitted)
	}
}
