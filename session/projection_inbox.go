package session

import (
	"crypto/sha256"
	"encoding/hex"
)

// onInbox projects the life of a prompt.
func (p projector) onInbox(payload Payload) (mine bool, err error) {
	switch e := payload.(type) {
	case PromptAdmitted:
		return true, p.promptAdmitted(e)
	case PromptWoken:
		return true, p.waiting(e.Message, `UPDATE input SET wake_seq = $1 WHERE id = $2`+andWaiting, p.seq, e.Message, p.session)
	case PromptEdited:
		prompt, err := e.Prompt.Canonical()
		if err != nil {
			return true, err
		}
		return true, p.waiting(e.Message, `UPDATE input SET prompt = $1 WHERE id = $2`+andWaiting, string(prompt), e.Message, p.session)
	case PromptCancelled:
		return true, p.waiting(e.Message, `UPDATE input SET cancelled_seq = $1 WHERE id = $2`+andWaiting, p.seq, e.Message, p.session)
	case PromptRedelivered:
		if err := e.Delivery.check(); err != nil {
			return true, err
		}
		return true, p.waiting(e.Message, `UPDATE input SET delivery = $1 WHERE id = $2`+andWaiting, string(e.Delivery), e.Message, p.session)
	case PromptReordered:
		return true, p.promptReordered(e)
	case PromptPromoted:
		return true, p.promptPromoted(e)
	}
	return false, nil
}

const andWaiting = ` AND session_id = $3 AND promoted_seq IS NULL AND cancelled_seq IS NULL`

// waiting changes a prompt that still waits, and refuses for one that does not.
func (p projector) waiting(id, query string, args ...any) error {
	affected, err := p.tx.Exec(p.ctx, query, args...)
	if err != nil {
		return err
	}
	if affected != 1 {
		return notWaiting(id)
	}
	return nil
}

func notWaiting(id string) error {
	return &ConflictError{ID: id, Reason: "is no prompt that waits in this session", Fix: "list the inbox and choose one that waits"}
}

// admissionDigest is what an exact retry must repeat.
func admissionDigest(canonical []byte, delivery Delivery) string {
	sum := sha256.Sum256(append([]byte(string(delivery)+"\n"), canonical...))
	return hex.EncodeToString(sum[:])
}

func (p projector) promptAdmitted(e PromptAdmitted) error {
	if err := e.Delivery.check(); err != nil {
		return err
	}
	if err := p.free(e.Message); err != nil {
		return err
	}
	prompt, err := e.Prompt.Canonical()
	if err != nil {
		return err
	}
	wake := int64(-1)
	if e.Wake {
		wake = p.seq
	}
	digest := e.Sent
	if digest == "" {
		digest = admissionDigest(prompt, e.Delivery)
	}
	return p.exec(`INSERT INTO input (id, session_id, delivery, prompt, created_ms, admitted_seq, wake_seq, promoted_seq, position, synthetic, digest)
		VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8, $9, $10)`, e.Message, p.session, string(e.Delivery), string(prompt), p.at, p.seq, wake,
		p.seq, e.Synthetic, digest)
}

// promptReordered gives the places of all that wait to them in their new order.
func (p projector) promptReordered(e PromptReordered) error {
	pending, err := LoadPending(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	places := make([]int64, len(pending))
	for i, input := range pending {
		places[i] = input.Position
	}
	ordered, err := reorder(pending, e.Message, e.Before)
	if err != nil {
		return err
	}
	for i, input := range ordered {
		if input.Position == places[i] {
			continue
		}
		if err := p.exec(`UPDATE input SET position = $1 WHERE id = $2`, places[i], input.ID); err != nil {
			return err
		}
	}
	return nil
}

// reorder answers the list with one prompt before another, or last.
func reorder(pending []Input, id, before string) ([]Input, error) {
	var moved *Input
	rest := make([]Input, 0, len(pending))
	for i := range pending {
		if pending[i].ID == id {
			moved = &pending[i]
		} else {
			rest = append(rest, pending[i])
		}
	}
	if moved == nil {
		return nil, notWaiting(id)
	}
	if before == "" {
		return append(rest, *moved), nil
	}
	for i := range rest {
		if rest[i].ID == before {
			return append(append(append([]Input{}, rest[:i]...), *moved), rest[i:]...), nil
		}
	}
	return nil, notWaiting(before)
}

func (p projector) promptPromoted(e PromptPromoted) error {
	prompt, err := e.Prompt.Canonical()
	if err != nil {
		return err
	}
	affected, err := p.tx.Exec(p.ctx, `UPDATE input SET promoted_seq = $1 WHERE id = $2 AND session_id = $3
		AND promoted_seq IS NULL AND cancelled_seq IS NULL AND prompt = $4 AND created_ms = $5`,
		p.seq, e.Message, p.session, string(prompt), e.Created)
	if err != nil {
		return err
	}
	if affected != 1 {
		return &ConflictError{ID: e.Message, Reason: "no pending prompt of that body"}
	}
	if err := p.freeMessage(e.Message); err != nil {
		return err
	}
	kind := MessageUser
	if e.Synthetic {
		kind = MessageSynthetic
	}
	if err := p.insertMessage(e.Message, kind, e.Created, MessageBody{Prompt: &e.Prompt}); err != nil {
		return err
	}
	if e.Prompt.Agent != "" {
		if err := p.exec(`UPDATE session SET agent = $1 WHERE id = $2`, e.Prompt.Agent, p.session); err != nil {
			return err
		}
	}
	if m := e.Prompt.ModelRef(); m != nil {
		return p.model(*m)
	}
	if e.Prompt.Variant != "" {
		return p.exec(`UPDATE session SET model_variant = $1 WHERE id = $2`, e.Prompt.Variant, p.session)
	}
	return nil
}

// free refuses a message id that an input or a message has already.
func (p projector) free(id string) error {
	var kind string
	err := p.tx.QueryRow(p.ctx, `SELECT 'prompt' FROM input WHERE id = $1 UNION ALL SELECT 'message' FROM message WHERE id = $2`, id, id).Scan(&kind)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return &ConflictError{ID: id, Reason: "another " + kind}
}

// freeMessage refuses a message id that a message has already.
func (p projector) freeMessage(id string) error {
	var seq int64
	err := p.tx.QueryRow(p.ctx, `SELECT seq FROM message WHERE id = $1`, id).Scan(&seq)
	if err == nil {
		return &ConflictError{ID: id, Reason: "another message"}
	}
	if !isNotFound(err) {
		return err
	}
	return nil
}
