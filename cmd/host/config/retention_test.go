package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
)

func TestRetention(t *testing.T) {
	for text, want := range map[string]config.Retention{
		"":                                     {Keep: "all"},
		"[retention]\nkeep = \"compaction\"":   {Keep: "compaction"},
		"[retention]\ntombstones_days = 36500": {Keep: "all", TombstonesDays: 36500},
		"[retention]\nkeep = \"days\"\ndays=1": {Keep: "days", Days: 1},
	} {
		_, environ := home(t, text)
		got, err := config.Load(config.Sources{Environ: environ})
		if diff := cmp.Diff(want, got.Retention); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		`keep = "none"`:                 "config.toml:2: retention.keep = \"none\": must be one of all, compaction, days",
		`keep = "days"`:                 "retention.days = 0: must be from 1 to 36500",
		"keep = \"days\"\ndays = 36501": "retention.days = 36501: must be from 1 to 36500",
		"days = 3":                      `retention.days = 3: goes with keep = "days" only`,
		"tombstones_days = -1":          "retention.tombstones_days = -1: must be from 0 to 36500",
		"tombstone_days = 1":            "unknown key; known here: keep, days, tombstones_days",
	} {
		_, environ := home(t, "[retention]\n"+text)
		if _, err := config.Load(config.Sources{Environ: environ}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
