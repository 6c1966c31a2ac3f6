package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// baseline is what the session's first epoch tells.
func (r *rig) baseline(id string) string {
	r.t.Helper()
	event := r.await(id, -1, func(p session.Payload) bool { _, ok := p.(session.ContextInitialized); return ok })
	return r.decode(event).(session.ContextInitialized).Baseline
}

func TestContextCommands(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.settled(id, "hello there")
	out, err := r.command("sessions", "context", id)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"source     host/agent", "source     core/environment", "source     core/date", "tool       read", "user       msg_", "assistant  msg_",
		"total ", "of the model's 128000 tokens\n", "the largest part is the "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "no request") || strings.Contains(out, "cannot be read") {
		t.Errorf("printed\n%s", out)
	}
	out, err = r.command("sessions", "context", id, "--json")
	var report protocol.ContextReport
	if err != nil || json.Unmarshal([]byte(out), &report) != nil || report.SessionID != id || report.Epoch == nil || len(report.Messages) != 2 {
		t.Errorf("%v %s", err, out)
	}
	var baseline int64
	for _, source := range report.Sources {
		baseline += source.Bytes
	}
	if want := int64(len(r.baseline(id))); baseline != want {
		t.Errorf("the sources have %d bytes, the baseline %d", baseline, want)
	}
	if out, err = r.command("context"); err != nil || !strings.Contains(out, "core/environment  1 ") || !strings.Contains(out, "1 baseline of ") {
		t.Errorf("%v %s", err, out)
	}
	out, err = r.command("context", "--json")
	var metrics protocol.ContextMetrics
	if err != nil || json.Unmarshal([]byte(out), &metrics) != nil || metrics.BaselineMax != baseline || len(metrics.Sources) != 4 {
		t.Errorf("%v %s", err, out)
	}
	if _, err := r.command("sessions", "context", "ses_none"); exitCode(err) != exitFailed {
		t.Errorf("of no session: %v", err)
	}
}

// The date is the user's: at no moment is it the same day in these two zones.
func TestTheDateIsOfTheConfiguredTimezone(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"Etc/GMT+12", "Pacific/Kiritimati"} {
		r.configure("timezone = \"" + name + "\"\n")
		r.restart()
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		day := func() string { return "Today's date: " + time.Now().In(zone).Format("Mon Jan 02 2006") }
		id, before := r.session(), day()
		r.settled(id, "hello")
		if got := r.baseline(id); !strings.Contains(got, before) && !strings.Contains(got, day()) {
			t.Errorf("in %s the model is told %q", name, got)
		}
	}
}

// A day ends when it ends where the user is, and that alone is told.
func TestTheDateChangesAtTheUsersMidnight(t *testing.T) {
	r := newRig(t)
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	pin := r.registries.Pin("")
	defer pin.Release()
	source, ok := registry.Lookup(pin, r.kinds.Contexts, "core/environment")
	if !ok {
		t.Fatal("there is no core/environment")
	}
	observe := func(now time.Time, previous map[string]json.RawMessage) map[string]session.SourceState {
		t.Helper()
		states, err := source.Value.Observe(r.within(), session.Observation{Session: "ses_1", Agent: "build", Now: now.In(zone), Previous: previous,
			Location: session.Location{Directory: r.project, Root: r.project}})
		if err != nil {
			t.Fatal(err)
		}
		byKey := map[string]session.SourceState{}
		for _, state := range states {
			byKey[state.Key] = state
		}
		return byKey
	}
	midnight := time.Date(2026, 7, 14, 0, 0, 0, 0, zone)
	before := observe(midnight.Add(-time.Second), nil)
	after := observe(midnight, map[string]json.RawMessage{"core/date": before["core/date"].Value, "core/environment": before["core/environment"].Value})
	if got := before["core/date"].Baseline; got != "Today's date: Mon Jul 13 2026" {
		t.Errorf("before midnight: %s", got)
	}
	if got := after["core/date"].Update; got != "Today's date is now: Tue Jul 14 2026" {
		t.Errorf("after midnight: %s", got)
	}
	if diff := cmp.Diff(before["core/environment"].Value, after["core/environment"].Value); diff != "" {
		t.Errorf("something else changed: %s", diff)
	}
}

// What a session was told by a plugin stays told while the plugin does not run, and
// nobody begins without a plugin that is required.
func TestSourcesOfPluginsThatDoNotRun(t *testing.T) {
	r := newRig(t)
	folder := filepath.Join(filepath.Dir(r.data), "plugins", "facts")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	manifest := "schema = 1\nid = \"acme/facts\"\nversion = \"1.0.0\"\ndescription = \"Tells facts\"\n[[context]]\nkey = \"acme/facts/one\"\n"
	for name, text := range map[string]string{"plugin.toml": manifest, "facts.wasm": "\x00asm\x01\x00\x00\x00"} { // which exports nothing
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := "[plugins]\nfolders = [\"" + filepath.Dir(folder) + "\"]\n"
	r.configure(settings)
	r.restart()
	id := r.session()
	if result := r.settled(id, "hello"); result.Outcome != protocol.OutcomeCompleted {
		t.Errorf("a session without the plugin ends as %+v\n%s", result, r.log.String())
	}
	if report, err := (contextService{r.backend}).Report(r.within(), id); err != nil || !cmp.Equal(report.Unavailable, []string{"acme/facts/one"}) {
		t.Errorf("%+v, %v", report, err)
	}
	for _, required := range []string{"acme/facts", "acme/gone"} {
		r.configure(settings + "[plugins.\"" + required + "\"]\nrequired = true\n")
		r.restart()
		blocked := r.session()
		r.prompt(blocked, "hello")
		event := r.await(blocked, -1, func(p session.Payload) bool { _, ok := p.(session.ActivityEnded); return ok })
		if got := r.decode(event).(session.ActivityEnded); got.Error == nil || got.Error.Code != session.FailureContextBlocked || !strings.Contains(got.Error.Message, required) {
			t.Errorf("required %s: %+v", required, got)
		}
		if result := r.settled(id, "again"); result.Outcome != protocol.OutcomeCompleted {
			t.Errorf("a session that began without %s ends as %+v", required, result)
		}
	}
}
