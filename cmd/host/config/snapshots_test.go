package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
)

func TestSnapshotsAndTitles(t *testing.T) {
	snapshots := config.Snapshots{Enabled: true, MaxFileBytes: 8 << 20, MaxFiles: 50_000, TimeoutMS: 10_000, KeepDays: 7}
	for text, want := range map[string]struct {
		config.Snapshots
		config.Titles
	}{
		"": {snapshots, config.Titles{Enabled: true}},
		"[snapshots]\nenabled = false\nmax_file_bytes = 1024\nmax_files = 1\ntimeout_ms = 100\nkeep_days = 365\n[titles]\nenabled = false": {
			config.Snapshots{MaxFileBytes: 1024, MaxFiles: 1, TimeoutMS: 100, KeepDays: 365}, config.Titles{}},
		"[titles]\nmodel = \"offline/rules\"": {snapshots, config.Titles{Enabled: true, Model: &session.ModelRef{Provider: "offline", Model: "rules"}}},
	} {
		_, environ := home(t, text)
		got, err := config.Load(config.Sources{Environ: environ})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want.Snapshots, got.Snapshots); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if diff := cmp.Diff(want.Titles, got.Titles); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestSnapshotsAndTitlesMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"[snapshots]\nmax_file_bytes = 1023":      "config.toml:2: snapshots.max_file_bytes = 1023: must be from 1024 to 134217728",
		"[snapshots]\nmax_file_bytes = 134217729": "snapshots.max_file_bytes = 134217729: must be from 1024 to 134217728",
		"[snapshots]\nmax_files = 0":              "snapshots.max_files = 0: must be from 1 to 1000000",
		"[snapshots]\ntimeout_ms = 99":            "snapshots.timeout_ms = 99: must be from 100 to 600000",
		"[snapshots]\nkeep_days = 366":            "snapshots.keep_days = 366: must be from 1 to 365",
		"[snapshots]\nenabled = 1":                "snapshots.enabled: must be true or false",
		"[snapshots]\nkeep = 7":                   "unknown key; known here: enabled, max_file_bytes, max_files, timeout_ms, keep_days",
		"[titles]\nmodel = \"rules\"":             `titles.model = "rules": must be "provider/model", like "offline/rules"`,
		"[titles]\nmodel = \"gone/x\"":            `titles.model = "gone/x": there is no provider "gone"`,
		"[titles]\nagent = \"x\"":                 "unknown key; known here: enabled, model",
	} {
		_, environ := home(t, text)
		if _, err := config.Load(config.Sources{Environ: environ}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
