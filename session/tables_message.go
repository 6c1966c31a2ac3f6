package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// LoadMessages reads up to limit messages with Seq > after, oldest first, whole.
func LoadMessages(ctx context.Context, tx store.Tx, session string, after int64, limit int) ([]Message, error) {
	rows, err := tx.Query(ctx, `SELECT seq, id, type, created_ms, body FROM message
		WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, session, after, limit)
	messages, err := collect(rows, err, scanMessage)
	if err != nil {
		return nil, err
	}
	return withParts(ctx, tx, session, messages)
}

// LoadMessage reads one message of a session without its parts; ErrNotFound when it
// has none of that id.
func LoadMessage(ctx context.Context, tx store.Tx, session, id string) (Message, error) {
	message, err := scanMessage(tx.QueryRow(ctx, `SELECT seq, id, type, created_ms, body FROM message
		WHERE session_id = $1 AND id = $2`, session, id))
	if isNotFound(err) {
		return Message{}, fmt.Errorf("message %s: %w", clip(id), ErrNotFound)
	}
	return message, err
}

// LoadHistory reads what the model is sent of a session, oldest first: everything, or
// since a compaction its summary, the messages it kept, the updates of the running
// epoch that it folded, and what came after its boundary.
func LoadHistory(ctx context.Context, tx store.Tx, s Session, baseline int64) ([]Message, error) {
	if s.Compaction < 0 {
		return LoadMessages(ctx, tx, s.ID, -1, math.MaxInt32)
	}
	compaction, err := scanMessage(tx.QueryRow(ctx, `SELECT seq, id, type, created_ms, body FROM message
		WHERE session_id = $1 AND seq = $2`, s.ID, s.Compaction))
	if err != nil {
		return nil, fmt.Errorf("session %s: read the compaction at %d: %w", s.ID, s.Compaction, err)
	}
	var kept []Message
	for _, id := range compaction.Kept {
		message, err := scanMessage(tx.QueryRow(ctx, `SELECT seq, id, type, created_ms, body FROM message
			WHERE session_id = $1 AND id = $2`, s.ID, id))
		if err != nil {
			return nil, fmt.Errorf("session %s: read the kept message %s: %w", s.ID, id, err)
		}
		kept = append(kept, message)
	}
	if baseline < s.History {
		rows, err := tx.Query(ctx, `SELECT seq, id, type, created_ms, body FROM message
			WHERE session_id = $1 AND seq > $2 AND seq <= $3 AND type = 'system' ORDER BY seq`, s.ID, baseline, s.History)
		updates, err := collect(rows, err, scanMessage)
		if err != nil {
			return nil, err
		}
		kept = append(kept, updates...)
		slices.SortFunc(kept, func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	for i := range kept {
		whole, err := withParts(ctx, tx, s.ID, kept[i:i+1])
		if err != nil {
			return nil, err
		}
		kept[i] = whole[0]
	}
	later, err := LoadMessages(ctx, tx, s.ID, s.History, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	later = slices.DeleteFunc(later, func(m Message) bool { return m.Type == MessageCompaction && m.Seq <= s.Compaction })
	return slices.Concat([]Message{compaction}, kept, later), nil
}

// LoadSince reads the messages after a sequence, oldest first.
func LoadSince(ctx context.Context, tx store.Tx, session string, after int64) ([]Message, error) {
	return LoadMessages(ctx, tx, session, after, math.MaxInt32)
}

// withParts reads the parts of consecutive messages.
func withParts(ctx context.Context, tx store.Tx, session string, messages []Message) ([]Message, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	bySeq := make(map[int64]*Message, len(messages))
	for i := range messages {
		bySeq[messages[i].Seq] = &messages[i]
	}
	rows, err := tx.Query(ctx, `SELECT message_seq, body FROM part
		WHERE session_id = $1 AND message_seq >= $2 AND message_seq <= $3 ORDER BY message_seq, ordinal`,
		session, messages[0].Seq, messages[len(messages)-1].Seq)
	type located struct {
		seq  int64
		part MessagePart
	}
	parts, err := collect(rows, err, func(row store.Row) (located, error) {
		var l located
		var body string
		if err := row.Scan(&l.seq, &body); err != nil {
			return l, err
		}
		if err := json.Unmarshal([]byte(body), &l.part); err != nil {
			return l, &MessageDecodeError{Message: bySeq[l.seq].ID, Err: err}
		}
		return l, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read parts of %s: %w", session, err)
	}
	for _, l := range parts {
		message := bySeq[l.seq]
		message.Parts = append(message.Parts, l.part)
	}
	return messages, nil
}

func scanMessage(row store.Row) (Message, error) {
	var m Message
	var body string
	if err := row.Scan(&m.Seq, &m.ID, &m.Type, &m.Created, &body); err != nil {
		return Message{}, err
	}
	if err := json.Unmarshal([]byte(body), &m.MessageBody); err != nil {
		return Message{}, &MessageDecodeError{Message: m.ID, Err: err}
	}
	return m, nil
}
