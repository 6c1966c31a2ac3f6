package epoch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// Render edits the parts of a baseline before it is stored: the system
// transforms. It may be nil.
type Render func(parts []session.TextPart) ([]session.TextPart, error)

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

// Reconcile compares what was observed with the running epoch. It answers nil
// when nothing changed, a ContextUpdated with everything that did as one text, or
// a ContextReplaced when a source vanished that left no text to say so. While that
// cannot be rendered because an admitted source is unavailable, it answers nil and
// the epoch goes on. An update has no message id yet.
func Reconcile(running session.Epoch, observed []Observed, render Render) (session.Payload, error) {
	gone := vanished(running.Snapshot, observed)
	for _, key := range gone {
		if running.Snapshot[key].Removed == "" {
			return replace(running, observed, render, fmt.Sprintf("the source %s is gone and left no removal text", key))
		}
	}
	var texts []string
	changed := session.Snapshot{}
	for _, o := range observed {
		if o.State != session.SourceValue {
			continue
		}
		stored, admitted := running.Snapshot[o.Key]
		switch {
		case !admitted:
			texts = append(texts, o.Baseline)
		case equal(stored.Value, o.Value):
			continue
		case o.Update != "":
			texts = append(texts, o.Update)
		default:
			texts = append(texts, o.Baseline)
		}
		changed[o.Key] = admit(o)
	}
	for _, key := range gone {
		texts = append(texts, running.Snapshot[key].Removed)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	return session.ContextUpdated{Text: strings.Join(texts, separator), Changed: changed, Removed: gone}, nil
}

func replace(running session.Epoch, observed []Observed, render Render, reason string) (session.Payload, error) {
	for _, o := range observed {
		if _, admitted := running.Snapshot[o.Key]; admitted && o.State == session.SourceUnavailable {
			return nil, nil
		}
	}
	baseline, snapshot, err := generation(observed, render)
	if err != nil {
		return nil, err
	}
	return session.ContextReplaced{Baseline: baseline, Snapshot: snapshot, Reason: reason}, nil
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
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Text
	}
	return strings.Join(texts, separator), snapshot, nil
}

func admit(o Observed) session.Admitted {
	return session.Admitted{Value: o.Value, Removed: o.Removed, Revision: o.Revision}
}
