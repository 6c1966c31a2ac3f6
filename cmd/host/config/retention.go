package config

import "github.com/plinthhost/plinth/session"

// Retention is [retention]: how much of a session's history is kept that its model is
// not sent any more, and for how long the ids of removed sessions stay taken.
type Retention struct {
	Keep           string // all, compaction or days; all
	Days           int    // with days; 0
	TombstonesDays int    // 0 is for ever; 0
}

// retentionTable is [retention] as it is written. A nil field was not set.
type retentionTable struct {
	Keep           *string `toml:"keep"`
	Days           *int    `toml:"days"`
	TombstonesDays *int    `toml:"tombstones_days"`
}

func defaultRetention() Retention { return Retention{Keep: string(session.RetainAll)} }

// retention takes the table over. Nothing else gives its settings.
func (l *loader) retention(table retentionTable) {
	set(&l.config.Retention.Keep, table.Keep)
	set(&l.config.Retention.Days, table.Days)
	set(&l.config.Retention.TombstonesDays, table.TombstonesDays)
}

func (l *loader) checkRetention() {
	r := l.config.Retention
	l.oneOf(join("retention", "keep"), r.Keep, string(session.RetainAll), string(session.RetainCompaction), string(session.RetainDays))
	switch days := join("retention", "days"); {
	case r.Keep == string(session.RetainDays):
		l.within(days, r.Days, 1, session.MaxRetentionDays)
	case r.Days != 0:
		l.problem(days, r.Days, `goes with keep = "days" only; leave it out, or set keep`)
	}
	l.within(join("retention", "tombstones_days"), r.TombstonesDays, 0, session.MaxRetentionDays)
}
