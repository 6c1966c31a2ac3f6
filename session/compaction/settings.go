package compaction

import "github.com/plinthhost/plinth/session"

// Settings are the operator's. Counts are tokens.
type Settings struct {
	// Auto: without being asked, before a request that has no room and after one that
	// was too large for the model.
	Auto bool
	// Buffer is the least that is left free for an answer, at most a fifth of the window.
	Buffer int64
	// Keep is how much of the newest history stays as it is, at most a quarter of the window.
	Keep int64
	// Model makes the summaries; nil for the session's.
	Model *session.ModelRef
	// Prune: old results of tools go first, where that is enough.
	Prune bool
}

// DefaultSettings is what design/session.md decides.
func DefaultSettings() Settings {
	return Settings{Auto: true, Buffer: 20_000, Keep: 8_000, Prune: true}
}

// MaxSummary is the most tokens that a summary may have.
const MaxSummary = 4_096

// Budget divides a window. Counts are tokens.
type Budget struct {
	Window int64 // 0: unknown, and then Limit is too
	Limit  int64 // the most that a request may have before room is made
	Keep   int64 // of the newest history
	// Summary is what is reserved for the summary.
	Summary int64
	Recent  int64 // of the newest results of tools, which are not pruned
	Saving  int64 // the least that a pruning must save
}

// Divide answers the budget of a window for answers of up to output tokens; 0 of either
// is unknown. What an answer is left is at most half of the window: a model whose
// answers may fill its window would have no room for a request.
func (s Settings) Divide(window, output int64) Budget {
	if window <= 0 {
		return Budget{Keep: s.Keep, Summary: MaxSummary}
	}
	free := min(max(output, min(s.Buffer, window/5)), window/2)
	return Budget{Window: window, Limit: window - free, Keep: min(s.Keep, window/4), Summary: min(MaxSummary, window/4),
		Recent: min(40_000, window/3), Saving: min(20_000, window/10)}
}
