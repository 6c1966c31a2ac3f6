package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// A step of the purge removes between least and most rows, as many as take about the
// time: appends wait behind it.
const (
	purgeLeast = 16
	purgeMost  = 1024
	purgeTime  = 3 * time.Millisecond
)

// purger removes what Delete and Prune have marked, in steps that share the commits
// of the appends. It has one step in the queue at a time, so it takes its turn like any
// other caller.
type purger struct {
	writer *writer
	log    *sqllog.Log
	logger hclog.Logger
	limit  int // of the next step

	wanted chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	waiting []chan error // for a pass that has not begun
}

func newPurger(writer *writer, log *sqllog.Log, logger hclog.Logger) *purger {
	ctx, cancel := context.WithCancel(context.Background())
	return &purger{writer: writer, log: log, logger: logger, limit: 4 * purgeLeast,
		wanted: make(chan struct{}, 1), ctx: ctx, cancel: cancel, done: make(chan struct{})}
}

// start also goes on with what an earlier process left.
func (p *purger) start() {
	p.want()
	go p.run()
}

// stop waits for the step that is being written.
func (p *purger) stop() {
	p.cancel()
	<-p.done
}

func (p *purger) want() {
	select {
	case p.wanted <- struct{}{}:
	default:
	}
}

func (p *purger) run() {
	defer close(p.done)
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wanted:
		}
		waiting := p.waitingNow()
		err := p.pass()
		if p.ctx.Err() != nil {
			return // done says so
		}
		if err != nil && !errors.Is(err, store.ErrFailed) {
			p.logger.Error("removing what was deleted is put off to the next deletion or start", "error", err)
		}
		for _, answer := range waiting {
			answer <- err
		}
	}
}

// waitingNow takes those that wait for the pass that begins.
func (p *purger) waitingNow() []chan error {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.waiting
	p.waiting = nil
	return waiting
}

// pass removes all that is marked.
func (p *purger) pass() error {
	for {
		more, took, err := p.step(p.limit)
		if err != nil || !more {
			return err
		}
		switch {
		case took > purgeTime:
			p.limit = max(p.limit/2, purgeLeast)
		case took < purgeTime/2:
			p.limit = min(p.limit*2, purgeMost)
		}
	}
}

// step removes some, and answers how long the writer was kept.
func (p *purger) step(limit int) (more bool, took time.Duration, err error) {
	err = p.writer.do(p.ctx, &request{
		size: limit * stepRow,
		run: func(ctx context.Context, tx sqllog.Tx) (err error) {
			began := time.Now()
			more, err = p.log.Purge(ctx, tx, limit)
			took = time.Since(began)
			return err
		},
	})
	return more, took, err
}

// stepRow is about what removing a row writes, in bytes.
const stepRow = 300

// wait answers when a pass that began after this call is over.
func (p *purger) wait(ctx context.Context) error {
	answer := make(chan error, 1)
	p.mu.Lock()
	p.waiting = append(p.waiting, answer)
	p.mu.Unlock()
	p.want()
	select {
	case err := <-answer:
		return err
	case <-p.done:
		return store.ErrClosed
	case <-ctx.Done():
		return ended(ctx)
	}
}
