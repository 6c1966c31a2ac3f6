package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/session"
)

// watchdog ends a request whose provider is silent for too long.
type watchdog struct {
	timer  *time.Timer
	idle   time.Duration
	cancel context.CancelCauseFunc
}

// watch answers a context that ends when the first event, or a later one, is late.
func (t *turn) watch(ctx context.Context) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	first, idle := cmp.Or(t.model.FirstEvent, t.config.FirstEvent), cmp.Or(t.model.Idle, t.config.Idle)
	w := &watchdog{idle: idle, cancel: cancel}
	silence := func(limit time.Duration) func() {
		return func() {
			cancel(&session.ProviderError{Class: session.ProviderTransport, Retryable: true, Message: fmt.Sprintf(
				"The provider %s was silent for %v; if its model needs longer, raise first_event_ms or idle_ms", t.current.Model.Provider, limit)})
		}
	}
	w.timer = time.AfterFunc(first, silence(first))
	return ctx, w
}

// pause stops the clock while the host works on what it got.
func (w *watchdog) pause() { w.timer.Stop() }

// resume starts it again.
func (w *watchdog) resume() { w.timer.Reset(w.idle) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
