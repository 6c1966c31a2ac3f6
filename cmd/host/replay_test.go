package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplayFindsWhatWasAdded: a recording is made again on the bytes that the host keeps
// of the plugin, also after another version took its place; not on damaged ones, and not
// when they are gone.
func TestReplayFindsWhatWasAdded(t *testing.T) {
	r := newRig(t)
	r.configure("[plugins.\"acme/weather\"]\nrecord = \"all\"\n")
	r.restart()
	r.pluginSays(exitOK, nil, "add", r.file("weather-1.wasm", weather("1.0.0", "")))
	digest := r.plugin("acme/weather", "").Digest
	r.settled(r.session(), "call weather {}")
	recordings, err := filepath.Glob(filepath.Join(r.data, recordingsFolder, "*.jsonl"))
	if err != nil || len(recordings) != 1 {
		t.Fatalf("%q, %v", recordings, err)
	}
	r.pluginSays(exitOK, nil, "add", r.file("weather-2.wasm", weather("2.0.0", "")))
	if printed, err := r.command("plugin", "replay", recordings[0]); err != nil || !strings.HasPrefix(printed, "as recorded\n") {
		t.Errorf("%s, %v", printed, err)
	}
	if printed, err := r.command("plugin", "replay", recordings[0], filepath.Join(r.project, "weather-2.wasm")); exitCode(err) != exitFailed || !strings.HasPrefix(printed, "not as recorded\n") {
		t.Errorf("another version: %s, %v", printed, err)
	}
	kept := filepath.Join(r.data, pluginsFolder, digest+".wasm")
	if err := os.WriteFile(kept, weather("2.0.0", ""), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.command("plugin", "replay", recordings[0]); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("damaged: %v", err)
	}
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := r.command("plugin", "replay", recordings[0]); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "the recorded revision of acme/weather (module "+digest[:12]+"…) is neither builtin nor in one of plugins.folders, and is not among what was added to "+r.data) {
		t.Errorf("gone: %v", err)
	}
}
