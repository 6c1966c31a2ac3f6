package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// A key makes a command repeatable: the same actor has one effect with it, however
// often the command arrives and whatever dies in between. No receipt is stored,
// because a crash could part it from the effect; the effect itself is the receipt.
//
//   - A prompt and a session have their id from the key. The kernel refuses a second
//     thing of an id in the transaction that would make it, so a retry meets the
//     first one, for good.
//   - The other commands leave an event. Before the first attempt a row says, durably,
//     at which place the session's log stood and what was asked. A retry looks behind
//     that place: where the event is, the answer is made of it; where it is not, the
//     command had no effect and is carried out. The row alone means nothing, so it
//     does not matter whether the host died after writing it.
//
// Requests with one key come after another, so that two at once are one. One process
// holds the log, so that needs no more than its memory.
type keys struct {
	kv  store.KV
	now func() time.Time

	mu   sync.Mutex
	busy map[string]chan struct{} // by row; closed when the command is over
}

func newKeys(kv store.KV, now func() time.Time) *keys {
	return &keys{kv: kv, now: now, busy: map[string]chan struct{}{}}
}

// attempt is what the row of a command says.
type attempt struct {
	// Request digests what was asked; another request under the key is a conflict.
	Request string `json:"request"`
	Session string `json:"session"`
	// After is the sequence of the session's last event before the first attempt.
	After int64 `json:"after"`
}

// digest digests parts that no part can run into another.
func digest(parts ...string) [sha256.Size]byte {
	encoded, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings always encode
	}
	return sha256.Sum256(encoded)
}

// requestID names a request under a key, for the Cause of the event it makes.
func requestID(caller server.Caller, command string, body any) (string, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("digest %s: %w", command, err)
	}
	sum := digest(caller.Actor, caller.Key, command, string(encoded))
	return "req_" + hex.EncodeToString(sum[:16]), nil
}

// idOf is the id that the caller's key gives to what it makes; empty without a key.
// It has the form of the kernel's ids, and no time in it.
func idOf(prefix string, caller server.Caller) string {
	if caller.Key == "" {
		return ""
	}
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := digest(prefix, caller.Actor, caller.Key)
	tail := sum[8:22]
	for i, b := range tail {
		tail[i] = base62[int(b)%len(base62)]
	}
	return prefix + hex.EncodeToString(sum[:8]) + string(tail)
}

// keyConflict is the answer to another request under a key.
func keyConflict(reason string) *protocol.Error {
	return protocol.Errorf(protocol.Conflict, "the key was used for %s; use a new key, or repeat the first request exactly", reason)
}

// keyedError words a conflict that the caller's key caused, not an id it sent.
func keyedError(caller server.Caller, id string, err error) error {
	var conflict *session.ConflictError
	if caller.Key != "" && id == "" && errors.As(err, &conflict) {
		return keyConflict(conflict.Reason)
	}
	return wireError(err)
}

// begin answers the row of the caller's command, which it writes when this is the
// first attempt; place answers the session and where its log stands. The function it
// answers is called when the attempt is over: until then others with the key wait.
func (k *keys) begin(ctx context.Context, caller server.Caller, command string, body any,
	place func() (session string, head int64, err error)) (attempt, func(), error) {
	request, err := requestID(caller, command, body)
	if err != nil {
		return attempt{}, nil, err
	}
	sum := digest(caller.Actor, caller.Key, command)
	name := hex.EncodeToString(sum[:])
	over, err := k.enter(ctx, name)
	if err != nil {
		return attempt{}, nil, err
	}
	row, err := k.load(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		row = attempt{Request: request}
		if row.Session, row.After, err = place(); err == nil {
			err = k.save(ctx, name, row)
		}
	}
	switch {
	case err != nil:
		over()
		return attempt{}, nil, err
	case row.Request != request:
		over()
		return attempt{}, nil, keyConflict("another request")
	}
	return row, over, nil
}

// enter waits for its turn with the row.
func (k *keys) enter(ctx context.Context, name string) (over func(), err error) {
	for {
		k.mu.Lock()
		other := k.busy[name]
		if other == nil {
			done := make(chan struct{})
			k.busy[name] = done
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				defer k.mu.Unlock()
				delete(k.busy, name)
				close(done)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Rows stand by the day they were written, so that the oldest are listed first. They
// are kept for that day and the next: at least the 24 hours that a key counts.
const (
	keyNamespace = "keys"
	keySweep     = 4 // old rows removed with each new one, so that they get fewer
)

func (k *keys) row(day int64, name string) string { return fmt.Sprintf("%08d/%s", day, name) }

func (k *keys) today() int64 { return k.now().Unix() / (24 * 60 * 60) }

func (k *keys) load(ctx context.Context, name string) (row attempt, err error) {
	today := k.today()
	value, err := k.kv.Get(ctx, keyNamespace, k.row(today, name))
	if errors.Is(err, store.ErrNotFound) {
		value, err = k.kv.Get(ctx, keyNamespace, k.row(today-1, name))
	}
	if err != nil {
		return attempt{}, fmt.Errorf("read key: %w", err)
	}
	if err := json.Unmarshal(value, &row); err != nil {
		return attempt{}, fmt.Errorf("decode key: %w", err)
	}
	return row, nil
}

func (k *keys) save(ctx context.Context, name string, row attempt) error {
	value, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	today := k.today()
	if err := k.kv.Set(ctx, keyNamespace, k.row(today, name), value); err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	old, err := k.kv.List(ctx, keyNamespace, "", "", keySweep)
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	for _, key := range old {
		if key >= k.row(today-1, "") {
			break
		}
		if err := k.kv.Delete(ctx, keyNamespace, key); err != nil {
			return fmt.Errorf("remove key: %w", err)
		}
	}
	return nil
}
