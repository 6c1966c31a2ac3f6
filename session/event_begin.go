package session

import "github.com/plinthhost/plinth/store"

// From answers where a session's log may begin whose first event this is: at 0, or at a
// pruning (store.ReplayOptions.From).
func From(first store.Event) int64 {
	if first.Type == (HistoryPruned{}).EventType() {
		return first.Seq
	}
	return 0
}
