package epoch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/session"
)

// Render edits the parts of a baseline before it is stored: the system
// transforms. It may be nil.
type Render func(parts []session.TextPart) ([]session.TextPart, error)

// Outcome is what a sample means to a running epoch.
type Outcome struct {
	// Change is what is recorded: a ContextUpdated without a message id, a
	// ContextReplaced, or nil when the epoch goes on as it is.
	Change session.Payload
	// Blocked are the admitted keys, in order, that are unavailable while the epoch
	// should be replaced. There is no Change then.
	Blocked []string
	// Held are the keys that flap: they differ from what was told, and are not told.
	Held []string
}

const separator = "\n\n"

// Initialize begins the first epoch of a session. It answers *BlockedError while
// a required source is unavailable; another one joins later.
func Initialize(observed []Observed, render Render) (session.ContextInitialized, error) {
	var blocked []string
	for _, o := range observed {
		if o.Required && o.State == session.SourceUnavailable {
			blocked = append(blocked, o.Key)
		}
	}
	if len(blocked) > 0 {
		return session.ContextInitialized{}, &session.BlockedError{Keys: blocked}
	}
	baseline, snapshot, err := generation(observed, render)
	return session.ContextInitialized{Baseline: baseline, Snapshot: snapshot}, err
}

// Reconcile compares a sample with the running epoch: everything that changed is one
// update. A stored value that is not understood any more, and a source that vanished
// and left no text to say so, replace the epoch.
func Reconcile(running session.Epoch, observed []Observed, now time.Time, render Render) (Outcome, error) {
	gone := vanished(running.Snapshot, observed)
	if reason := incompatible(running.Snapshot, observed, gone); reason != "" {
		return Replace(running, observed, reason, render)
	}
	var texts []string
	var outcome Outcome
	changed := session.Snapshot{}
	for _, o := range observed {
		if o.State != session.SourceValue {
			continue
		}
		stored, admitted := running.Snapshot[o.Key]
		switch {
		case !admitted:
			texts = append(texts, o.Baseline)
			changed[o.Key] = admit(o)
			continue
		case equal(stored.Value, o.Value):
			continue
		case !o.Undamped && held(stored, now):
			outcome.Held = append(outcome.Held, o.Key)
			continue
		case o.Update != "":
			texts = append(texts, o.Update)
		default:
			texts = append(texts, o.Baseline)
		}
		changed[o.Key] = advance(stored, o, now)
	}
	for _, key := range gone {
		texts = append(texts, running.Snapshot[key].Removed)
	}
	if len(texts) > 0 {
		outcome.Change = session.ContextUpdated{Text: strings.Join(texts, separator), Changed: changed, Removed: gone}
	}
	return outcome, nil
}

// Replace renders everything anew, whatever flaps. It is blocked while an admitted
// source is unavailable: its text would be lost with the old baseline.
func Replace(running session.Epoch, observed []Observed, reason string, render Render) (Outcome, error) {
	var blocked []string
	for _, o := range observed {
		if _, admitted := running.Snapshot[o.Key]; admitted && o.State == session.SourceUnavailable {
			blocked = append(blocked, o.Key)
		}
	}
	if len(blocked) > 0 {
		return Outcome{Blocked: blocked}, nil
	}
	baseline, snapshot, err := generation(observed, render)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Change: session.ContextReplaced{Baseline: baseline, Snapshot: snapshot, Reason: reason}}, nil
}

// incompatible says why no update can tell the change; "" when one can.
func incompatible(snapshot session.Snapshot, observed []Observed, gone []string) string {
	for _, o := range observed {
		if o.State == session.SourceValue && o.Misfit != "" {
			return fmt.Sprintf("the stored value of the source %s does not fit its schema: %s", o.Key, o.Misfit)
		}
	}
	for _, key := range gone {
		if snapshot[key].Removed == "" {
			return fmt.Sprintf("the source %s is gone and left no removal text", key)
		}
	}
	return ""
}

// vanished lists the admitted keys that are absent or have no source any more,
// ascending.
func vanished(snapshot session.Snapshot, observed []Observed) []string {
	present := make(map[string]bool, len(observed))
	for _, o := range observed {
		if o.State != session.SourceAbsent {
			present[o.Key] = true
		}
	}
	var gone []string
	for _, key := range slices.Sorted(maps.Keys(snapshot)) {
		if !present[key] {
			gone = append(gone, key)
		}
	}
	return gone
}

// generation renders everything that is available.
func generation(observed []Observed, render Render) (baseline string, snapshot session.Snapshot, err error) {
	var parts []session.TextPart
	snapshot = session.Snapshot{}
	for _, o := range observed {
		if o.State != session.SourceValue {
			continue
		}
		parts = append(parts, session.TextPart{ID: o.Key, Text: o.Baseline})
		snapshot[o.Key] = admit(o)
	}
	if render != nil {
		if parts, err = render(parts); err != nil {
			return "", nil, err
		}
	}
	var texts []string
	for _, part := range parts {
		if part.Text == "" {
			continue
		}
		texts = append(texts, part.Text)
		if admitted, ok := snapshot[part.ID]; ok {
			admitted.Bytes = len(part.Text)
			snapshot[part.ID] = admitted
		}
	}
	return strings.Join(texts, separator), snapshot, nil
}

func admit(o Observed) session.Admitted {
	return session.Admitted{Value: o.Value, Removed: o.Removed, Revision: o.Revision}
}
