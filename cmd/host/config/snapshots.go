package config

import "github.com/plinthhost/plinth/session"

// Snapshots is [snapshots]: states of a project's files that are kept, to show what
// changed and to go back.
type Snapshots struct {
	Enabled      bool // true
	MaxFileBytes int  // of a file that a snapshot holds; 8388608
	MaxFiles     int  // of a project that has snapshots; 50000
	TimeoutMS    int  // milliseconds that one operation may take; 10000
	KeepDays     int  // since the files were last in that state; 7
}

// snapshotsTable is [snapshots] as it is written. A nil field was not set.
type snapshotsTable struct {
	Enabled      *bool `toml:"enabled"`
	MaxFileBytes *int  `toml:"max_file_bytes"`
	MaxFiles     *int  `toml:"max_files"`
	TimeoutMS    *int  `toml:"timeout_ms"`
	KeepDays     *int  `toml:"keep_days"`
}

func defaultSnapshots() Snapshots {
	return Snapshots{Enabled: true, MaxFileBytes: 8 << 20, MaxFiles: 50_000, TimeoutMS: 10_000, KeepDays: 7}
}

// snapshots takes the table over. Nothing else gives its settings.
func (l *loader) snapshots(table snapshotsTable) {
	s := &l.config.Snapshots
	set(&s.Enabled, table.Enabled)
	set(&s.MaxFileBytes, table.MaxFileBytes)
	set(&s.MaxFiles, table.MaxFiles)
	set(&s.TimeoutMS, table.TimeoutMS)
	set(&s.KeepDays, table.KeepDays)
}

func (l *loader) checkSnapshots() {
	s := l.config.Snapshots
	l.within(join("snapshots", "max_file_bytes"), s.MaxFileBytes, 1<<10, 1<<27)
	l.within(join("snapshots", "max_files"), s.MaxFiles, 1, 1_000_000)
	l.within(join("snapshots", "timeout_ms"), s.TimeoutMS, 100, 10*60*1000)
	l.within(join("snapshots", "keep_days"), s.KeepDays, 1, 365)
}

// Titles is [titles]: names that a model gives to sessions without one.
type Titles struct {
	Enabled bool              // true
	Model   *session.ModelRef // nil: of the agent title, else the session's
}

// titlesTable is [titles] as it is written. A nil field was not set.
type titlesTable struct {
	Enabled *bool   `toml:"enabled"`
	Model   *string `toml:"model"` // provider/model
}

// titles takes the table over. Nothing else gives its settings.
func (l *loader) titles(table titlesTable) {
	set(&l.config.Titles.Enabled, table.Enabled)
	if table.Model == nil {
		return
	}
	model, err := session.ParseModel(*table.Model)
	if err != nil {
		l.problem(join("titles", "model"), *table.Model, `must be "provider/model", like "offline/rules"`)
		return
	}
	l.config.Titles.Model = &model
}

func (l *loader) checkTitles() {
	if model := l.config.Titles.Model; model != nil {
		l.offered(join("titles", "model"), *model)
	}
}
