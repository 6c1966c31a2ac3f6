package config

import "github.com/plinthhost/plinth/session"

// Runner bounds what one prompt may set going.
type Runner struct {
	MaxTurns          int                    // provider turns per activity; 25
	MaxParallelTools  int                    // tool calls at once per turn; 16
	MaxCallsPerTurn   int                    // tool calls of one answer; 128
	Recovery          session.RecoveryPolicy // ask
	RetryAttempts     int                    // times a failed request is made again; 4
	RetryMaxWaitMS    int                    // milliseconds before one of them at most; 15 minutes
	FirstEventMS      int                    // milliseconds until an answer's first event; 60000
	IdleMS            int                    // milliseconds between two events; 120000
	ShutdownGraceMS   int                    // milliseconds that turns have to end at a shutdown; 10000
	MaxPending        int                    // prompts that wait in a session; 256
	MaxSteers         int                    // prompts that join at one boundary; 32
	StructuredRetries int                    // times a structured answer that does not fit is asked for again; 2
}

// runnerTable is [runner] as it is written. A nil field was not set.
type runnerTable struct {
	MaxTurns          *int    `toml:"max_turns"`
	MaxParallelTools  *int    `toml:"max_parallel_tools"`
	MaxCallsPerTurn   *int    `toml:"max_calls_per_turn"`
	Recovery          *string `toml:"recovery"`
	RetryAttempts     *int    `toml:"retry_attempts"`
	RetryMaxWaitMS    *int    `toml:"retry_max_wait_ms"`
	FirstEventMS      *int    `toml:"first_event_ms"`
	IdleMS            *int    `toml:"idle_ms"`
	ShutdownGraceMS   *int    `toml:"shutdown_grace_ms"`
	MaxPending        *int    `toml:"max_pending"`
	MaxSteers         *int    `toml:"max_steers"`
	StructuredRetries *int    `toml:"structured_retries"`
}

func defaultRunner() Runner {
	return Runner{
		MaxTurns: 25, MaxParallelTools: 16, MaxCallsPerTurn: 128, Recovery: session.RecoverAsk,
		RetryAttempts: 4, RetryMaxWaitMS: 15 * 60 * 1000, FirstEventMS: 60_000, IdleMS: 120_000, ShutdownGraceMS: 10_000,
		MaxPending: 256, MaxSteers: 32, StructuredRetries: 2,
	}
}

// runner takes the table over.
func (l *loader) runner(table runnerTable) {
	r := &l.config.Runner
	set(&r.MaxTurns, table.MaxTurns)
	set(&r.MaxParallelTools, table.MaxParallelTools)
	set(&r.MaxCallsPerTurn, table.MaxCallsPerTurn)
	if table.Recovery != nil {
		r.Recovery = session.RecoveryPolicy(*table.Recovery)
	}
	set(&r.RetryAttempts, table.RetryAttempts)
	set(&r.RetryMaxWaitMS, table.RetryMaxWaitMS)
	set(&r.FirstEventMS, table.FirstEventMS)
	set(&r.IdleMS, table.IdleMS)
	set(&r.ShutdownGraceMS, table.ShutdownGraceMS)
	set(&r.MaxPending, table.MaxPending)
	set(&r.MaxSteers, table.MaxSteers)
	set(&r.StructuredRetries, table.StructuredRetries)
}

func (l *loader) checkRunner() {
	r := l.config.Runner
	for _, bound := range []struct {
		name           string
		n, least, most int
	}{
		{"max_turns", r.MaxTurns, 1, 1000},
		{"max_parallel_tools", r.MaxParallelTools, 1, 256},
		{"max_calls_per_turn", r.MaxCallsPerTurn, 1, 1024},
		{"retry_attempts", r.RetryAttempts, 0, 100},
		{"retry_max_wait_ms", r.RetryMaxWaitMS, 1, maxWait},
		{"first_event_ms", r.FirstEventMS, 1, maxWait},
		{"idle_ms", r.IdleMS, 1, maxWait},
		{"shutdown_grace_ms", r.ShutdownGraceMS, 0, 10 * 60 * 1000},
		{"max_pending", r.MaxPending, 1, 10_000},
		{"max_steers", r.MaxSteers, 1, 1000},
		{"structured_retries", r.StructuredRetries, 0, 10},
	} {
		l.within(join("runner", bound.name), bound.n, bound.least, bound.most)
	}
	l.oneOf(join("runner", "recovery"), string(r.Recovery), string(session.RecoverOff), string(session.RecoverAsk), string(session.RecoverResume))
}
