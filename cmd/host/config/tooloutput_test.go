package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
)

func TestToolOutput(t *testing.T) {
	whole := config.ToolOutput{MaxLines: 2000, MaxBytes: 51200, KeepDays: 7}
	for text, want := range map[string]config.ToolOutput{
		"":              whole,
		"[tool_output]": whole,
		"[tool_output]\nmax_lines = 10\nmax_bytes = 1024\nkeep_days = 1":          {MaxLines: 10, MaxBytes: 1024, KeepDays: 1},
		"[tool_output]\nmax_lines = 100000\nmax_bytes = 1048576\nkeep_days = 365": {MaxLines: 100000, MaxBytes: 1 << 20, KeepDays: 365},
		"[tool_output]\nmax_lines = 300":                                          {MaxLines: 300, MaxBytes: 51200, KeepDays: 7},
	} {
		_, environ := home(t, text)
		got, err := config.Load(config.Sources{Environ: environ})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got.ToolOutput); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestToolOutputMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"max_lines = 9":       "config.toml:2: tool_output.max_lines = 9: must be from 10 to 100000",
		"max_lines = 100001":  "tool_output.max_lines = 100001: must be from 10 to 100000",
		"max_bytes = 1023":    "tool_output.max_bytes = 1023: must be from 1024 to 1048576",
		"max_bytes = 1048577": "tool_output.max_bytes = 1048577: must be from 1024 to 1048576",
		"keep_days = 0":       "tool_output.keep_days = 0: must be from 1 to 365",
		"keep_days = 366":     "tool_output.keep_days = 366: must be from 1 to 365",
		`keep_days = "7"`:     "tool_output.keep_days: must be a whole number",
		"keep = 7":            "unknown key; known here: max_lines, max_bytes, keep_days",
	} {
		_, environ := home(t, "[tool_output]\n"+text)
		if _, err := config.Load(config.Sources{Environ: environ}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
