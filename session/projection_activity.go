package session

import (
	"encoding/json"
	"fmt"
	"time"
)

// onActivity projects what the runner works on.
func (p projector) onActivity(payload Payload) (mine bool, err error) {
	switch e := payload.(type) {
	case InterruptRequested:
		return true, p.exec(`UPDATE session SET interrupt_seq = $1, resume_seq = -1, compact_seq = -1 WHERE id = $2`, p.seq, p.session)
	case ResumeRequested:
		return true, p.resumeRequested()
	case ActivityStarted:
		return true, p.activityStarted(e)
	case ActivitySuspended:
		return true, p.activitySuspended(e)
	case ActivityRecovered:
		return true, p.activityRecovered(e)
	case ActivityEnded:
		return true, p.activityEnded(e)
	case TurnStarted:
		return true, p.turnStarted(e)
	case RetryScheduled:
		return true, p.retryScheduled(e)
	}
	return false, nil
}

// activity changes columns of the activity that runs; another one is refused.
func (p projector) activity(id, set string, args ...any) error {
	query := fmt.Sprintf(`UPDATE activity SET %s WHERE session_id = $%d AND id = $%d`, set, len(args)+1, len(args)+2)
	return p.mine(id, query, append(args, p.session, id)...)
}

func (p projector) mine(id, query string, args ...any) error {
	affected, err := p.tx.Exec(p.ctx, query, args...)
	if err == nil && affected != 1 {
		err = fmt.Errorf("%w: %s is not the session's activity", ErrInvalid, clip(id))
	}
	return err
}

// resumeRequested is served by an activity that a resume opened, when one runs.
func (p projector) resumeRequested() error {
	return p.exec(`UPDATE session SET resume_seq = $1 WHERE id = $2
		AND NOT EXISTS (SELECT 1 FROM activity WHERE session_id = $3 AND opener = 'resume')`, p.seq, p.session, p.session)
}

func (p projector) activityStarted(e ActivityStarted) error {
	affected, err := p.tx.Exec(p.ctx, `INSERT INTO activity (session_id, id, opener, started_seq, state, reason, turns, steps, attempts, turn_seq, retries)
		VALUES ($1, $2, $3, $4, 'running', '', 0, 0, 0, -1, '[]') ON CONFLICT DO NOTHING`, p.session, e.Activity, string(e.Opener), p.seq)
	if err != nil {
		return err
	}
	if affected != 1 {
		return fmt.Errorf("%w: another activity has not ended", ErrInvalid)
	}
	if e.Opener != OpenedByResume {
		return nil
	}
	return p.exec(`UPDATE session SET resume_seq = -1 WHERE id = $1`, p.session)
}

// activitySuspended counts the crash before anything is tried again.
func (p projector) activitySuspended(e ActivitySuspended) error {
	crashes := 0
	if e.Reason == SuspendedByCrash || e.Reason == SuspendedByDoubt {
		crashes = 1
	}
	return p.activity(e.Activity, `state = 'suspended', reason = $1, attempts = attempts + $2`, string(e.Reason), crashes)
}

// activityRecovered serves a resume that came while the activity was suspended.
func (p projector) activityRecovered(e ActivityRecovered) error {
	if err := p.activity(e.Activity, `state = 'running', reason = '', turn_seq = -1, retries = '[]'`); err != nil {
		return err
	}
	return p.exec(`UPDATE session SET resume_seq = -1 WHERE id = $1`, p.session)
}

func (p projector) activityEnded(e ActivityEnded) error {
	if e.Outcome == Completed {
		if err := p.lifted(e.Activity); err != nil {
			return err
		}
	}
	if err := p.mine(e.Activity, `DELETE FROM activity WHERE session_id = $1 AND id = $2`, p.session, e.Activity); err != nil {
		return err
	}
	switch e.Outcome {
	case Completed:
		return p.exec(`UPDATE session SET answered_seq = $1 WHERE id = $2`, p.seq, p.session)
	case Halted:
		return p.halted()
	}
	return nil
}

// lifted lets what waited since before the activity go on behind it, also in another
// process: who asked for the activity asked for all that waits.
func (p projector) lifted(activity string) error {
	return p.exec(`UPDATE session SET interrupt_seq = -1 WHERE id = $1
		AND interrupt_seq < (SELECT started_seq FROM activity WHERE session_id = $2 AND id = $3)`, p.session, p.session, activity)
}

// halted lets what asked for execution before the declined request wait for a new wish.
// What came while it was open is one.
func (p projector) halted() error {
	return p.exec(`UPDATE session SET interrupt_seq = (SELECT MAX(seq) FROM (
		SELECT interrupt_seq AS seq FROM session WHERE id = $1
		UNION ALL SELECT asked_seq FROM permission WHERE session_id = $2 AND reply = $3 AND feedback = ''
		UNION ALL SELECT asked_seq FROM question WHERE session_id = $4 AND state = $5) AS declined) WHERE id = $6`,
		p.session, p.session, string(ReplyReject), p.session, string(QuestionStateDismissed), p.session)
}

// turnStarted refuses a turn of a place that the session has left, and one of a history
// that a revert is about to shorten.
func (p projector) turnStarted(e TurnStarted) error {
	if err := p.unstaged(); err != nil {
		return err
	}
	if e.Location != "" {
		current, err := LoadSession(p.ctx, p.tx, p.session)
		if err != nil {
			return err
		}
		if current.Location.Directory != e.Location {
			return fmt.Errorf("%w: from %s to %s", ErrMoved, e.Location, current.Location.Directory)
		}
	}
	set := `turns = $1, steps = $2, turn_seq = $3`
	if e.Attempt <= 1 {
		set += `, retries = '[]'`
	}
	if err := p.activity(e.Activity, set, e.Turn, e.Step, p.seq); err != nil {
		return err
	}
	return p.spend(Totals{Turns: 1})
}

func (p projector) retryScheduled(e RetryScheduled) error {
	current, err := LoadActivity(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	retries, err := json.Marshal(append(current.Retries, Retry{Attempt: e.Attempt, At: e.At, Error: e.Error}))
	if err != nil {
		return err
	}
	return p.activity(e.Activity, `retries = $1, turn_seq = -1`, string(retries))
}

// spend adds to what the session, its ancestors and the day have spent.
func (p projector) spend(s Totals) error {
	scopes := []string{p.session, "day/" + time.UnixMilli(p.at).UTC().Format(time.DateOnly)}
	ancestors, err := LoadAncestors(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	for _, scope := range append(scopes, ancestors...) {
		if err := p.exec(`INSERT INTO spent (scope, input, output, reasoning, cache_read, cache_write, cost_nano, unpriced, turns)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (scope) DO UPDATE SET
			input = spent.input + excluded.input, output = spent.output + excluded.output, reasoning = spent.reasoning + excluded.reasoning,
			cache_read = spent.cache_read + excluded.cache_read, cache_write = spent.cache_write + excluded.cache_write,
			cost_nano = spent.cost_nano + excluded.cost_nano, unpriced = spent.unpriced + excluded.unpriced, turns = spent.turns + excluded.turns`,
			scope, s.Usage.Input, s.Usage.Output, s.Usage.Reasoning, s.Usage.CacheRead, s.Usage.CacheWrite, s.CostNano, s.Unpriced, s.Turns); err != nil {
			return err
		}
	}
	return nil
}
