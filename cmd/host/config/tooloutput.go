package config

import "github.com/plinthhost/plinth/session"

// ToolOutput is [tool_output]: how much of a tool's text a model reads, and how long
// the whole of a longer one is kept.
type ToolOutput struct {
	MaxLines int // 2000
	MaxBytes int // of UTF-8; 51200
	KeepDays int // 7
}

// toolOutputTable is [tool_output] as it is written. A nil field was not set.
type toolOutputTable struct {
	MaxLines *int `toml:"max_lines"`
	MaxBytes *int `toml:"max_bytes"`
	KeepDays *int `toml:"keep_days"`
}

func defaultToolOutput() ToolOutput {
	return ToolOutput{MaxLines: session.DefaultOutputLines, MaxBytes: session.DefaultOutputBytes, KeepDays: 7}
}

// The least has room for a line of each end around the note of what is left out.
const (
	leastOutputLines = 10
	leastOutputBytes = 1 << 10
)

// toolOutput takes the table over. Nothing else gives its settings.
func (l *loader) toolOutput(table toolOutputTable) {
	set(&l.config.ToolOutput.MaxLines, table.MaxLines)
	set(&l.config.ToolOutput.MaxBytes, table.MaxBytes)
	set(&l.config.ToolOutput.KeepDays, table.KeepDays)
}

func (l *loader) checkToolOutput() {
	o := l.config.ToolOutput
	l.within(join("tool_output", "max_lines"), o.MaxLines, leastOutputLines, 100_000)
	l.within(join("tool_output", "max_bytes"), o.MaxBytes, leastOutputBytes, 1<<20)
	l.within(join("tool_output", "keep_days"), o.KeepDays, 1, 365)
}
