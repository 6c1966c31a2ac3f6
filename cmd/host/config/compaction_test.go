package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

func TestCompaction(t *testing.T) {
	whole := compaction.Settings{Auto: true, Buffer: 20_000, Keep: 8_000, Prune: true}
	changed := func(change func(*compaction.Settings)) compaction.Settings {
		c := whole
		change(&c)
		return c
	}
	for text, want := range map[string]compaction.Settings{
		"":                           whole,
		"[compaction]":               whole,
		"[compaction]\nauto = false": changed(func(c *compaction.Settings) { c.Auto = false }),
		"[compaction]\nbuffer = 0\nkeep = 10000000\nprune = false": changed(func(c *compaction.Settings) { c.Buffer, c.Keep, c.Prune = 0, 10_000_000, false }),
		"[compaction]\nmodel = \"offline/rules\"": changed(func(c *compaction.Settings) {
			c.Model = &session.ModelRef{Provider: "offline", Model: "rules"}
		}),
	} {
		_, environ := home(t, text)
		got, err := config.Load(config.Sources{Environ: environ})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got.Compaction); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestCompactionMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"buffer = -1":           "config.toml:2: compaction.buffer = -1: must be from 0 to 10000000",
		"keep = 10000001":       "compaction.keep = 10000001: must be from 0 to 10000000",
		`auto = "no"`:           "compaction.auto: must be true or false",
		`model = "rules"`:       `compaction.model = "rules": must be "provider/model", like "offline/rules"`,
		`model = "none/at-all"`: `compaction.model = "none/at-all": there is no provider "none"`,
		"threshold = 3":         "threshold",
	} {
		_, environ := home(t, "[compaction]\n"+text)
		_, err := config.Load(config.Sources{Environ: environ})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
