package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

const (
	// checkpointPages is how long the WAL may grow before it is copied back. A
	// page that changes often is copied once for all of its changes in between.
	checkpointPages = 16 << 20 / pageSize
	// behindPages is how much may wait to be copied before commits have to wait.
	behindPages = 4 * checkpointPages
	// lookGroups and lookBytes say after how many commits or bytes written the
	// length of the WAL is looked at.
	lookGroups = 64
	lookBytes  = 1 << 20
)

// checkpointer copies the WAL back into the database beside the commits. SQLite
// starts the WAL anew only when all of it was copied and nobody reads from it, so
// under load the writer copies the last pages itself, between two groups.
type checkpointer struct {
	db     *sql.DB
	logger hclog.Logger

	// groups and bytes are what was written since the last look; the writer's.
	groups, bytes int
	// wanted tells the goroutine that the WAL is long.
	wanted chan struct{}
	// remainder asks the writer to copy what was written meanwhile.
	remainder atomic.Bool
	// copying is held while pages are copied: SQLite refuses the second at once.
	copying sync.Mutex
	// failure is what the goroutine met and the writer must answer with.
	failure atomic.Pointer[error]

	stopped chan struct{}
	done    chan struct{}
}

func newCheckpointer(db *sql.DB, logger hclog.Logger) *checkpointer {
	return &checkpointer{db: db, logger: logger, wanted: make(chan struct{}, 1),
		stopped: make(chan struct{}), done: make(chan struct{})}
}

func (c *checkpointer) start() { go c.run() }

func (c *checkpointer) stop() {
	close(c.stopped)
	<-c.done
}

// written runs on the writer after each group. An error ends the log.
func (c *checkpointer) written(ctx context.Context, conn *conn, group []*request) error {
	if failure := c.failure.Load(); failure != nil {
		return *failure
	}
	c.groups++
	for _, r := range group {
		c.bytes += r.size
	}
	if c.remainder.Swap(false) {
		return c.judge(c.copy(ctx, conn.sql))
	}
	if c.groups < lookGroups && c.bytes < lookBytes {
		return nil
	}
	c.groups, c.bytes = 0, 0
	return c.judge(c.look(ctx, conn.sql))
}

// look has the WAL copied when it is long: beside the commits, or at once when
// the goroutine is too far behind.
func (c *checkpointer) look(ctx context.Context, on querier) error {
	wal, err := checkpoint(ctx, on, "NOOP")
	switch {
	case err != nil:
		return err
	case wal.pages-wal.copied >= behindPages:
		return c.copy(ctx, on)
	case wal.pages >= checkpointPages:
		select {
		case c.wanted <- struct{}{}:
		default:
		}
	}
	return nil
}

func (c *checkpointer) run() {
	defer close(c.done)
	for {
		select {
		case <-c.stopped:
			return
		case <-c.wanted:
			if err := c.judge(c.copy(context.Background(), c.db)); err != nil {
				c.failure.Store(&err)
				return
			}
			c.remainder.Store(true)
		}
	}
}

// copy copies what is in the WAL now and no reader needs there.
func (c *checkpointer) copy(ctx context.Context, on querier) error {
	c.copying.Lock()
	defer c.copying.Unlock()
	_, err := checkpoint(ctx, on, "PASSIVE")
	return err
}

// judge lets the log go on when there was no room, and ends it when pages may be
// lost: a sync that failed once must not be believed the second time.
func (c *checkpointer) judge(err error) error {
	if err == nil {
		return nil
	}
	found := resource(err)
	if errors.Is(found, store.ErrFailed) {
		return fmt.Errorf("checkpoint: %w", found)
	}
	c.logger.Warn("checkpoint put off", "error", err)
	return nil
}

// walState is the WAL's length and how much of it is in the database file.
type walState struct{ pages, copied int }

func checkpoint(ctx context.Context, on querier, mode string) (walState, error) {
	var busy int
	var s walState
	err := on.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &s.pages, &s.copied)
	return s, err
}
