package config

import "github.com/plinthhost/plinth/session"

// compactionTable is [compaction] as it is written. A nil field was not set.
type compactionTable struct {
	Auto   *bool   `toml:"auto"`
	Buffer *int64  `toml:"buffer"`
	Keep   *int64  `toml:"keep"`
	Model  *string `toml:"model"`
	Prune  *bool   `toml:"prune"`
}

// compaction takes the table over. Nothing else gives its settings.
func (l *loader) compaction(table compactionTable) {
	c := &l.config.Compaction
	set(&c.Auto, table.Auto)
	set(&c.Buffer, table.Buffer)
	set(&c.Keep, table.Keep)
	set(&c.Prune, table.Prune)
	if table.Model == nil {
		return
	}
	model, err := session.ParseModel(*table.Model)
	if err != nil {
		l.problem(join("compaction", "model"), *table.Model, `must be "provider/model", like "offline/rules"`)
		return
	}
	c.Model = &model
}

// maxCompaction is more tokens than a window has.
const maxCompaction = 10_000_000

func (l *loader) checkCompaction() {
	c := l.config.Compaction
	l.within(join("compaction", "buffer"), int(c.Buffer), 0, maxCompaction)
	l.within(join("compaction", "keep"), int(c.Keep), 0, maxCompaction)
	if c.Model != nil {
		l.offered(join("compaction", "model"), *c.Model)
	}
}
