package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// The limits of what can be taken over into a log at once.
const (
	MaxImportedMessages = 10_000
	MaxImportedBytes    = 32 << 20
)

// passage is a run of history in the order the model is sent it, as it is stored.
type passage struct {
	session string
	// whole takes along what a passage leaves out that goes on elsewhere: updates of
	// an epoch, and what is unfinished.
	whole    bool
	messages []storedMessage
	bySeq    map[int64]int // indexes of messages
	size     int           // of the bodies, bytes
}

// storedMessage is a message with its JSON as the tables have it.
type storedMessage struct {
	seq, created int64
	id           string
	kind         MessageType
	body         []byte
	parts        [][]byte
}

// loadPassage reads what the model was sent of a session when the message at until was
// its last: since the newest compaction that was there, its kept messages, and what
// came after its boundary. Left out are the updates of its epoch and what is unfinished:
// an answer or a command that runs, a call without a settlement. A *ConflictError when
// it is beyond the limits.
func loadPassage(ctx context.Context, tx store.Tx, session string, until int64) (*passage, error) {
	return (&passage{session: session, bySeq: map[int64]int{}}).load(ctx, tx, until, math.MaxInt64)
}

// loadActive reads all of what the model is sent of a session now (LoadHistory), whose
// epoch began at baseline.
func loadActive(ctx context.Context, tx store.Tx, session string, baseline int64) (*passage, error) {
	return (&passage{session: session, whole: true, bySeq: map[int64]int{}}).load(ctx, tx, math.MaxInt64, baseline)
}

func (p *passage) load(ctx context.Context, tx store.Tx, until, baseline int64) (*passage, error) {
	boundary, kept := int64(-1), []string(nil)
	err := p.read(ctx, tx, `session_id = $1 AND seq <= $2 AND type = 'compaction' ORDER BY seq DESC LIMIT 1`, p.session, until)
	if err != nil {
		return nil, err
	}
	if len(p.messages) > 0 {
		var body MessageBody
		if err := json.Unmarshal(p.messages[0].body, &body); err != nil {
			return nil, &MessageDecodeError{Message: p.messages[0].id, Err: err}
		}
		boundary, kept = body.Boundary, body.Kept
	}
	if err := p.kept(ctx, tx, kept); err != nil {
		return nil, err
	}
	if baseline < boundary {
		if err := p.read(ctx, tx, `session_id = $1 AND seq > $2 AND seq <= $3 AND type = 'system' ORDER BY seq`, p.session, baseline, boundary); err != nil {
			return nil, err
		}
		p.order()
	}
	// An earlier summary may stand behind the boundary of the newest, which has it in itself.
	if err := p.read(ctx, tx, `session_id = $1 AND seq > $2 AND seq <= $3 AND type <> 'compaction' ORDER BY seq`, p.session, boundary, until); err != nil {
		return nil, err
	}
	if err := p.readParts(ctx, tx, `message_seq > $2 AND message_seq <= $3`, boundary, until); err != nil {
		return nil, err
	}
	return p, nil
}

// kept reads messages that a compaction left as they are.
func (p *passage) kept(ctx context.Context, tx store.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	// An id has one message. A condition on the session as well would lead the database
	// through the whole of it.
	if err := p.read(ctx, tx, `id IN (`+placeholders(1, len(ids))+`) ORDER BY seq`, args...); err != nil {
		return err
	}
	var seqs []any
	for _, message := range p.messages[1:] {
		seqs = append(seqs, message.seq)
	}
	if len(seqs) == 0 {
		return nil
	}
	return p.readParts(ctx, tx, `message_seq IN (`+placeholders(2, len(seqs))+`)`, seqs...)
}

// order puts what a compaction left by sequence, behind its summary.
func (p *passage) order() {
	if len(p.messages) == 0 {
		return
	}
	slices.SortFunc(p.messages[1:], func(a, b storedMessage) int { return cmp.Compare(a.seq, b.seq) })
	for i, message := range p.messages {
		p.bySeq[message.seq] = i
	}
}

// placeholders are n of them from a number on.
func placeholders(from, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(all, ", ")
}

// read adds the messages that a condition selects.
func (p *passage) read(ctx context.Context, tx store.Tx, where string, args ...any) error {
	rows, err := tx.Query(ctx, `SELECT seq, id, type, created_ms, body FROM message WHERE `+where, args...)
	if err != nil {
		return fmt.Errorf("read messages of %s: %w", p.session, err)
	}
	defer rows.Close()
	for rows.Next() {
		var m storedMessage
		if err := rows.Scan(&m.seq, &m.id, &m.kind, &m.created, &m.body); err != nil {
			return fmt.Errorf("read messages of %s: %w", p.session, err)
		}
		whole, err := p.takes(m)
		if err != nil {
			return err
		}
		if !whole {
			continue
		}
		p.bySeq[m.seq] = len(p.messages)
		p.messages = append(p.messages, m)
		if err := p.grow(len(m.body)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// takes reports a message that is finished and concerns more than its epoch.
func (p *passage) takes(m storedMessage) (bool, error) {
	if m.kind != MessageAssistant && m.kind != MessageShell && m.kind != MessageSystem || p.whole {
		return true, nil
	}
	var state struct {
		Completed int64 `json:"completed"`
		Reminder  bool  `json:"reminder"`
	}
	if err := json.Unmarshal(m.body, &state); err != nil {
		return false, &MessageDecodeError{Message: m.id, Err: err}
	}
	if m.kind == MessageSystem {
		return state.Reminder, nil
	}
	return state.Completed != 0, nil
}

// readParts adds the parts that a condition on the session's selects to the messages
// that are there.
func (p *passage) readParts(ctx context.Context, tx store.Tx, where string, args ...any) error {
	rows, err := tx.Query(ctx, `SELECT message_seq, tool_call, body FROM part WHERE session_id = $1 AND `+where+` ORDER BY message_seq, ordinal`,
		append([]any{p.session}, args...)...)
	if err != nil {
		return fmt.Errorf("read parts of %s: %w", p.session, err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var call string
		var body []byte
		if err := rows.Scan(&seq, &call, &body); err != nil {
			return fmt.Errorf("read parts of %s: %w", p.session, err)
		}
		at, ok := p.bySeq[seq]
		if !ok || !p.whole && call != "" && unsettled(body) {
			continue
		}
		p.messages[at].parts = append(p.messages[at].parts, body)
		if err := p.grow(len(body)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// unsettled reports the stored part of a call that has no settlement. Few bodies have
// the words, so few are decoded.
func unsettled(body []byte) bool {
	if !bytes.Contains(body, []byte(`"state":"`+ToolStatePending)) && !bytes.Contains(body, []byte(`"state":"`+ToolStateRunning)) {
		return false
	}
	var part MessagePart
	return json.Unmarshal(body, &part) == nil && part.Tool != nil && part.Tool.Unsettled()
}

func (p *passage) grow(size int) error {
	p.size += size
	if len(p.messages) <= MaxImportedMessages && p.size <= MaxImportedBytes {
		return nil
	}
	return &ConflictError{ID: p.session, Fix: "compact it first",
		Reason: fmt.Sprintf("has too long a history for this: %d messages with %d bytes so far, the limits are %d and %d",
			len(p.messages), p.size, MaxImportedMessages, MaxImportedBytes)}
}

// imported is the data of the event that takes the message over under an id.
func (m *storedMessage) imported(id string, open bool) []byte {
	size := len(m.body) + 128
	for _, part := range m.parts {
		size += len(part) + 1
	}
	data := make([]byte, 0, size)
	data = append(data, `{"message":{"id":"`...)
	data = append(data, id...)
	data = append(data, `","seq":0,"type":"`...)
	data = append(data, m.kind...)
	data = append(data, `","created":`...)
	data = strconv.AppendInt(data, m.created, 10)
	if fields := bytes.TrimSpace(m.body); len(fields) > 2 { // an object with any
		data = append(data, ',')
		data = append(data, fields[1:len(fields)-1]...)
	}
	if len(m.parts) > 0 {
		data = append(data, `,"parts":[`...)
		data = append(data, bytes.Join(m.parts, []byte{','})...)
		data = append(data, ']')
	}
	if open {
		return append(data, `},"open":true}`...)
	}
	return append(data, "}}"...)
}
