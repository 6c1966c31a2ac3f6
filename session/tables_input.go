package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Input is one admitted prompt.
type Input struct {
	ID       string   `json:"id"`
	Session  string   `json:"session"`
	Delivery Delivery `json:"delivery"`
	Prompt   Prompt   `json:"prompt"`
	Created  int64    `json:"created"` // milliseconds since 1970 UTC
	Admitted int64    `json:"admitted_seq"`
	// Position orders the inbox.
	Position int64 `json:"-"`
	// Synthetic: the host wrote it.
	Synthetic bool `json:"synthetic,omitempty"`
	// Digest is of what was admitted, which an exact retry repeats; "" in old logs.
	Digest string `json:"-"`
	// Wake is the sequence of the event that asked for execution, -1 when none did.
	Wake int64 `json:"-"`
	// Promoted is the sequence of the promotion, nil while it is pending.
	Promoted *int64 `json:"promoted_seq,omitempty"`
	// Cancelled is the sequence of the cancellation, nil unless it was cancelled.
	Cancelled *int64 `json:"cancelled_seq,omitempty"`
}

// waits reports a prompt that was neither promoted nor cancelled.
func (in *Input) waits() bool { return in.Promoted == nil && in.Cancelled == nil }

const inputColumns = `id, session_id, delivery, prompt, created_ms, admitted_seq, wake_seq, promoted_seq,
	position, synthetic, digest, cancelled_seq`

func scanInput(row store.Row) (Input, error) {
	var in Input
	var prompt string
	if err := row.Scan(&in.ID, &in.Session, &in.Delivery, &prompt, &in.Created, &in.Admitted, &in.Wake, &in.Promoted,
		&in.Position, &in.Synthetic, &in.Digest, &in.Cancelled); err != nil {
		return Input{}, err
	}
	if err := json.Unmarshal([]byte(prompt), &in.Prompt); err != nil {
		return Input{}, fmt.Errorf("input %s: decode prompt: %w", in.ID, err)
	}
	return in, nil
}

// LoadInput reads one admitted prompt; ErrNotFound when there is none.
func LoadInput(ctx context.Context, tx store.Tx, id string) (Input, error) {
	in, err := scanInput(tx.QueryRow(ctx, `SELECT `+inputColumns+` FROM input WHERE id = $1`, id))
	if isNotFound(err) {
		return Input{}, fmt.Errorf("prompt %s: %w", clip(id), ErrNotFound)
	}
	return in, err
}

// LoadPending reads the prompts that wait for promotion, in the order of the inbox.
func LoadPending(ctx context.Context, tx store.Tx, session string) ([]Input, error) {
	rows, err := tx.Query(ctx, `SELECT `+inputColumns+` FROM input
		WHERE session_id = $1 AND promoted_seq IS NULL AND cancelled_seq IS NULL ORDER BY position`, session)
	return collect(rows, err, scanInput)
}

// Backlog counts the prompts that wait in one session.
type Backlog struct {
	Pending int
	Steers  int
}

func (b *Backlog) add(delivery Delivery, count int) {
	b.Pending += count
	if delivery == Steer {
		b.Steers += count
	}
}

// LoadBacklog counts what LoadPending reads.
func LoadBacklog(ctx context.Context, tx store.Tx, session string) (Backlog, error) {
	var waiting Backlog
	rows, err := tx.Query(ctx, `SELECT delivery, COUNT(*) FROM input
		WHERE session_id = $1 AND promoted_seq IS NULL AND cancelled_seq IS NULL GROUP BY delivery`, session)
	_, err = collect(rows, err, func(row store.Row) (struct{}, error) {
		var delivery Delivery
		var count int
		err := row.Scan(&delivery, &count)
		waiting.add(delivery, count)
		return struct{}{}, err
	})
	return waiting, err
}
