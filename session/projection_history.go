package session

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// onHistory projects what changes the history itself.
func (p projector) onHistory(payload Payload) (mine bool, err error) {
	switch e := payload.(type) {
	case CompactionRequested:
		return true, p.exec(`UPDATE session SET compact_seq = $1 WHERE id = $2`, p.seq, p.session)
	case CompactionStarted:
		return true, p.compactionStarted(e)
	case CompactionEnded:
		return true, p.compactionEnded(e)
	case CompactionFailed:
		return true, p.compactionFailed(e)
	case ResultsPruned:
		return true, p.resultsPruned(e)
	case Reminded:
		return true, p.message(e.Message, MessageSystem, p.at, MessageBody{Text: e.Text, Reminder: true})
	case DirectoriesRead:
		return true, p.directoriesRead(e.Directories)
	case RevertStaged:
		return true, p.revertStaged(e.Revert)
	case RevertCleared:
		return true, p.revertCleared(e)
	case RevertCommitted:
		return true, p.revertCommitted(e)
	case HistoryPruned:
		return true, p.historyPruned(e)
	case MessageImported:
		return true, p.messageImported(e)
	}
	return false, nil
}

// compactionStarted: the request that stands is being served, whatever comes of it. The
// turn of a request that was too large has its outcome.
func (p projector) compactionStarted(e CompactionStarted) error {
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if e.Reason == CompactionOverflow {
		if err := p.exec(`UPDATE activity SET turn_seq = -1, retries = '[]' WHERE session_id = $1`, p.session); err != nil {
			return err
		}
	}
	return p.exec(`UPDATE session SET compact_seq = -1, compacting = $1 WHERE id = $2`, string(encoded), p.session)
}

func (p projector) compactionFailed(e CompactionFailed) error {
	if err := p.paid(e.Usage, e.Cost); err != nil {
		return err
	}
	return p.exec(`UPDATE session SET compacting = '' WHERE id = $1`, p.session)
}

func (p projector) compactionEnded(e CompactionEnded) error {
	if e.Boundary >= p.seq {
		return fmt.Errorf("%w: the boundary %d is no sequence before the compaction's own, %d", ErrInvalid, e.Boundary, p.seq)
	}
	if err := p.message(e.Message, MessageCompaction, p.at, MessageBody{Text: e.Summary, Reason: e.Reason,
		Boundary: e.Boundary, Kept: e.Kept, Usage: e.Usage, Cost: e.Cost, Completed: p.at}); err != nil {
		return err
	}
	if err := p.paid(e.Usage, e.Cost); err != nil {
		return err
	}
	if e.Reason == CompactionOverflow { // the step is made again
		if err := p.exec(`UPDATE activity SET steps = steps - 1 WHERE session_id = $1 AND steps > 0`, p.session); err != nil {
			return err
		}
	}
	return p.exec(`UPDATE session SET history_seq = $1, compaction_seq = $2, rewritten_seq = $3, compacting = '' WHERE id = $4`,
		e.Boundary, p.seq, p.seq, p.session)
}

// paid counts a request beside the turns. One that used nothing that is known was not made.
func (p projector) paid(usage *Usage, cost *int64) error {
	if usage == nil && cost == nil {
		return nil
	}
	return p.spend(totalsOf(usage, cost))
}

// resultsPruned marks the parts; what is no settled call of the session changes nothing.
func (p projector) resultsPruned(e ResultsPruned) error {
	for _, ref := range e.Calls {
		found, err := p.call(ref.Message, ref.Call)
		if err != nil {
			return err
		}
		if found == nil || found.part.Tool.Unsettled() || found.part.Tool.Pruned != 0 {
			continue
		}
		found.part.Tool.Pruned = p.at
		encoded, err := json.Marshal(found.part)
		if err != nil {
			return err
		}
		if err := p.exec(`UPDATE part SET body = $1 WHERE session_id = $2 AND message_seq = $3 AND ordinal = $4`,
			string(encoded), p.session, found.seq, found.ordinal); err != nil {
			return err
		}
	}
	return p.exec(`UPDATE session SET rewritten_seq = $1 WHERE id = $2`, p.seq, p.session)
}

func (p projector) directoriesRead(directories []string) error {
	for _, directory := range directories {
		if err := p.exec(`INSERT INTO directory_read (session_id, directory) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			p.session, directory); err != nil {
			return err
		}
	}
	return nil
}

func (p projector) idle(what string) error {
	if err := idle(p.ctx, p.tx, p.session, what); err != nil {
		return err
	}
	return p.uncompacted(what)
}

// uncompacted refuses while a compaction is made of what is there.
func (p projector) uncompacted(what string) error {
	var compacting string
	err := p.tx.QueryRow(p.ctx, `SELECT compacting FROM session WHERE id = $1`, p.session).Scan(&compacting)
	if err == nil && compacting != "" {
		return &ConflictError{ID: p.session, Reason: "is being compacted, and " + what + " needs an idle session",
			Fix: "interrupt it, or wait until it is idle"}
	}
	if isNotFound(err) {
		return nil
	}
	return err
}

// messageImported adds a whole message at this place.
func (p projector) messageImported(e MessageImported) error {
	m := e.Message
	if m.Type == MessageCompaction {
		m.Kept, m.Boundary = nil, p.seq-1 // what it folded was left behind
	}
	if err := p.message(m.ID, m.Type, m.Created, m.MessageBody); err != nil {
		return err
	}
	if err := p.importParts(m.Parts); err != nil {
		return err
	}
	if e.Open || m.Type != MessageUser {
		return nil
	}
	return p.exec(`UPDATE session SET answered_seq = $1 WHERE id = $2`, p.seq, p.session)
}

// partsAtOnce is how many parts one statement adds.
const partsAtOnce = 8

func (p projector) importParts(parts []MessagePart) error {
	ordinal := 0
	for some := range slices.Chunk(parts, partsAtOnce) {
		var rows []string
		var args []any
		for _, part := range some {
			call := ""
			if part.Tool != nil {
				call = part.ID
			}
			encoded, err := json.Marshal(part)
			if err != nil {
				return err
			}
			rows = append(rows, "("+placeholders(len(args)+1, 5)+")")
			args = append(args, p.session, p.seq, ordinal, call, string(encoded))
			ordinal++
		}
		if err := p.exec(`INSERT INTO part (session_id, message_seq, ordinal, tool_call, body) VALUES `+strings.Join(rows, ", "), args...); err != nil {
			return err
		}
	}
	return nil
}

// historyPruned begins the session anew: its rows are what the event says, and the
// messages that follow it. It refuses a session with anything in the air.
func (p projector) historyPruned(e HistoryPruned) error {
	if err := p.idle("a pruning"); err != nil {
		return err
	}
	for _, open := range [...]string{
		`SELECT id FROM input WHERE session_id = $1 AND promoted_seq IS NULL AND cancelled_seq IS NULL LIMIT 1`,
		`SELECT id FROM permission WHERE session_id = $1 AND reply = '' LIMIT 1`,
		`SELECT id FROM question WHERE session_id = $1 AND state = 'open' LIMIT 1`,
		`SELECT request FROM child_request WHERE session_id = $1 LIMIT 1`,
		`SELECT child_id FROM task WHERE session_id = $1 AND outcome = '' LIMIT 1`,
		`SELECT 'a resume' FROM session WHERE id = $1 AND resume_seq >= 0`,
		`SELECT 'a compaction' FROM session WHERE id = $1 AND compact_seq >= 0`,
		`SELECT 'a staged revert' FROM session WHERE id = $1 AND revert <> ''`,
	} {
		var id string
		switch err := p.tx.QueryRow(p.ctx, open, p.session).Scan(&id); {
		case isNotFound(err):
		case err != nil:
			return err
		default:
			return &ConflictError{ID: p.session, Reason: "cannot be pruned while " + id + " waits", Fix: "let it be served or take it back first"}
		}
	}
	if err := forgetSeen(p.ctx, p.tx, p.session); err != nil {
		return err
	}
	if _, err := forgetRows(p.ctx, p.tx, p.session, math.MaxInt32); err != nil {
		return err
	}
	s := e.Session
	s.Pruned, s.Revert = p.seq, nil
	if err := p.insertSession(s); err != nil {
		return err
	}
	if err := p.todos(TodosChanged{Todos: e.Todos}); err != nil {
		return err
	}
	if err := p.directoriesRead(e.Directories); err != nil {
		return err
	}
	t := e.Totals
	return p.exec(`INSERT INTO spent (scope, input, output, reasoning, cache_read, cache_write, cost_nano, unpriced, turns)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, p.session, t.Usage.Input, t.Usage.Output, t.Usage.Reasoning,
		t.Usage.CacheRead, t.Usage.CacheWrite, t.CostNano, t.Unpriced, t.Turns)
}
