package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

// KeeperOptions say how much of the sessions is kept.
type KeeperOptions struct {
	// Retention is of the sessions without one of their own.
	Retention Retention
	// TombstoneDays is how long ids of removed sessions stay taken; 0 is for ever.
	TombstoneDays int
	// Every is the time between two passes over all sessions; an hour when 0.
	Every time.Duration
	Clock Clock
}

// Keeper prunes sessions by their retention: those that become idle, and all of them
// from time to time. It also finishes what a host that died has begun.
type Keeper struct {
	log      store.Log
	sessions *Sessions
	options  KeeperOptions
	logger   hclog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	poke   chan struct{}

	mu   sync.Mutex
	idle map[string]struct{} // sessions to look at
}

// NewKeeper makes a keeper that does nothing before Start.
func NewKeeper(log store.Log, sessions *Sessions, options KeeperOptions, logger hclog.Logger) *Keeper {
	if options.Every == 0 {
		options.Every = time.Hour
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Keeper{log: log, sessions: sessions, options: options, logger: logger, ctx: ctx, cancel: cancel,
		poke: make(chan struct{}, 1), idle: map[string]struct{}{}}
}

// Start begins with a pass over all sessions, beside the caller.
func (k *Keeper) Start() { k.group.Go(k.run) }

// Close waits for the session that is being pruned. Safe twice, and without Start.
func (k *Keeper) Close() {
	k.cancel()
	k.group.Wait()
}

// Idle says that a session has ended its work. It does not wait.
func (k *Keeper) Idle(session string) {
	k.mu.Lock()
	k.idle[session] = struct{}{}
	k.mu.Unlock()
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

func (k *Keeper) take() map[string]struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	idle := k.idle
	k.idle = map[string]struct{}{}
	return idle
}

func (k *Keeper) run() {
	k.told(k.Pass(k.ctx))
	every := time.NewTicker(k.options.Every)
	defer every.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-every.C:
			k.told(k.Pass(k.ctx))
		case <-k.poke:
			for id := range k.take() {
				k.told(k.ended(id))
			}
		}
	}
}

func (k *Keeper) told(err error) {
	if err != nil && k.ctx.Err() == nil {
		k.logger.Error("old history was not removed; the next pass tries it again", "error", err)
	}
}

// ended looks at a session whose drain is about to be over.
func (k *Keeper) ended(id string) error {
	if err := k.sessions.execution.Settle(k.ctx, id); err != nil {
		return err
	}
	_, err := k.keep(k.ctx, id)
	return err
}

// Pass looks at all sessions once, finishes prunings that a crash cut off, and forgets
// old tombstones.
func (k *Keeper) Pass(ctx context.Context) error {
	var folded, pruned []string
	err := k.log.View(ctx, func(tx store.Tx) (err error) {
		if folded, err = loadIDs(ctx, tx, `SELECT id FROM session WHERE compaction_seq > pruned_seq`); err != nil {
			return err
		}
		pruned, err = loadIDs(ctx, tx, `SELECT id FROM session WHERE pruned_seq >= 0`)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for old history: %w", err)
	}
	for _, id := range pruned {
		if err := k.finish(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range folded {
		if _, err := k.keep(ctx, id); err != nil {
			return err
		}
	}
	if k.options.TombstoneDays == 0 {
		return nil
	}
	_, err = k.log.Bury(ctx, k.before(k.options.TombstoneDays))
	return err
}

func loadIDs(ctx context.Context, tx store.Tx, query string) ([]string, error) {
	rows, err := tx.Query(ctx, query)
	return collect(rows, err, scanText)
}

// finish lets nobody read what a pruning has left behind.
func (k *Keeper) finish(ctx context.Context, id string) error {
	head, err := store.ReadHead(ctx, k.log, id)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish a pruning: %w", err)
	}
	session, err := k.sessions.Get(ctx, id)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish a pruning: %w", err)
	}
	return k.sessions.finishPruning(ctx, id, session.Pruned, head.First)
}

// keep prunes a session if its retention says so. One that works is looked at again when
// it is idle.
func (k *Keeper) keep(ctx context.Context, id string) (pruned bool, err error) {
	due, err := k.due(ctx, id)
	if err != nil || !due {
		return false, err
	}
	pruning, err := k.sessions.Prune(ctx, System(), id)
	if _, busy := errors.AsType[*ConflictError](err); busy || isGone(err) || errors.Is(err, store.ErrSequence) {
		k.logger.Debug("a session is not pruned now", "session", id, "reason", err)
		return false, nil
	}
	return pruning.Pruned, err
}

// due reports whether the session has history that its retention does not keep.
func (k *Keeper) due(ctx context.Context, id string) (due bool, err error) {
	err = k.log.View(ctx, func(tx store.Tx) error {
		session, err := LoadSession(ctx, tx, id)
		if isMissing(err) || err == nil && session.Compaction <= session.Pruned {
			return nil
		}
		if err != nil {
			return err
		}
		retention := k.options.Retention
		if session.Retention != nil {
			retention = *session.Retention
		}
		switch retention.Keep {
		case RetainCompaction:
			due = true
		case RetainDays:
			due, err = foldedBefore(ctx, tx, session, k.before(retention.Days).UnixMilli())
		}
		return err
	})
	return due, err
}

// before is the instant so many days ago.
func (k *Keeper) before(days int) time.Time { return k.options.Clock.Now().AddDate(0, 0, -days) }

// foldedBefore reports whether all that a compaction folded is from before an instant
// (milliseconds).
func foldedBefore(ctx context.Context, tx store.Tx, session Session, instant int64) (bool, error) {
	var created int64
	err := tx.QueryRow(ctx, `SELECT created_ms FROM message WHERE session_id = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1`,
		session.ID, session.History).Scan(&created)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil && created < instant, err
}
