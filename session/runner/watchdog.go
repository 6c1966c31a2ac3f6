package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/session"
)

// watchdog ends a request whose provider is silent for too long. It is used by the
// goroutine that consumes the stream.
type watchdog struct {
	timer   *time.Timer
	begun   bool // the first event has come
	idle    time.Duration
	silence func(limit time.Duration) func()
	cancel  context.CancelCauseFunc
}

// watch answers a context that ends when the first event, or a later one, is late.
func (t *turn) watch(ctx context.Context) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{idle: cmp.Or(t.model.Idle, t.config.Idle), cancel: cancel}
	w.silence = func(limit time.Duration) func() {
		return func() {
			cancel(&session.ProviderError{Class: session.ProviderTransport, Retryable: true, Message: fmt.Sprintf(
				"The provider %s was silent for %v; if its model needs longer, raise first_event_ms or idle_ms", t.current.Model.Provider, limit)})
		}
	}
	first := cmp.Or(t.model.FirstEvent, t.config.FirstEvent)
	w.timer = time.AfterFunc(first, w.silence(first))
	return ctx, w
}

// pause stops the clock while the host works on what it got.
func (w *watchdog) pause() { w.timer.Stop() }

// resume starts it again.
func (w *watchdog) resume() {
	if !w.begun {
		w.begun = true
		w.timer = time.AfterFunc(w.idle, w.silence(w.idle))
		return
	}
	w.timer.Reset(w.idle)
}

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
