package session

import (
	"encoding/json"
	"maps"
)

// onContext projects the context epoch.
func (p projector) onContext(payload Payload) (mine bool, err error) {
	switch e := payload.(type) {
	case ContextInitialized:
		return true, p.epoch(e.Baseline, e.Snapshot)
	case ContextReplaced:
		return true, p.epoch(e.Baseline, e.Snapshot)
	case ContextUpdated:
		return true, p.contextUpdated(e)
	}
	return false, nil
}

func (p projector) epoch(baseline string, snapshot Snapshot) error {
	encoded, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	if err := p.exec(`DELETE FROM epoch WHERE session_id = $1`, p.session); err != nil {
		return err
	}
	return p.exec(`INSERT INTO epoch (session_id, baseline, snapshot, baseline_seq) VALUES ($1, $2, $3, $4)`,
		p.session, baseline, string(encoded), p.seq)
}

func (p projector) contextUpdated(e ContextUpdated) error {
	epoch, err := LoadEpoch(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(epoch.Snapshot.Advance(e.Changed, e.Removed))
	if err != nil {
		return err
	}
	if err := p.exec(`UPDATE epoch SET snapshot = $1 WHERE session_id = $2`, string(encoded), p.session); err != nil {
		return err
	}
	return p.message(e.Message, MessageSystem, p.at, MessageBody{Text: e.Text})
}

// Advance answers the snapshot after an update.
func (s Snapshot) Advance(changed Snapshot, removed []string) Snapshot {
	next := make(Snapshot, len(s)+len(changed))
	maps.Copy(next, s)
	for _, key := range removed {
		delete(next, key)
	}
	maps.Copy(next, changed)
	return next
}
