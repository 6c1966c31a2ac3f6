package server

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/plinthhost/plinth/client/protocol"
)

// PluginWatches tells authors what their plugins do while they serve.
type PluginWatches interface {
	// Watch has a function told what the guest of a plugin does, until stop is called. The
	// plugin need not be there yet. The function does not wait for the client.
	Watch(ctx context.Context, plugin protocol.PluginParams, tell func(protocol.PluginNotice)) (stop func(), err error)
}

// watchRoutes registers what tells authors of their plugins.
func (s *Server) watchRoutes(api huma.API) {
	route(s, api, protocol.ScopeAdmin, huma.Operation{
		OperationID: "watch-plugin", Method: http.MethodGet, Path: "/v1/plugins/{owner}/{name}/watch",
		Summary: "What a plugin does from now on, a line of JSON each: the lines that it logs, and its calls that fail with all that went into them",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			string(streamNDJSON): {Schema: &huma.Schema{Type: huma.TypeString}}}}},
	}, func(ctx context.Context, in *pluginInput) (*downloadOutput, error) {
		return s.watchPlugin(ctx, pluginNamed(in.Owner, in.Name, in.Location))
	})
}

func (s *Server) watchPlugin(ctx context.Context, plugin protocol.PluginParams) (*downloadOutput, error) {
	if !s.enterLive() {
		return nil, tooManyLive()
	}
	guarded, stop, err := s.guard(ctx, principalOf(ctx))
	if err != nil {
		s.leaveLive()
		return nil, err
	}
	notices := &noticeQueue{wake: make(chan struct{}, 1)}
	unwatch, err := s.backend.PluginWatches.Watch(guarded, plugin, notices.add)
	if err != nil {
		stop()
		s.leaveLive()
		return nil, err
	}
	return &downloadOutput{Body: func(ctx huma.Context) {
		defer s.leaveLive()
		defer stop()
		defer unwatch()
		_, w := humago.Unwrap(ctx)
		stream := &eventStream{w: w, control: http.NewResponseController(w), format: streamNDJSON, timeout: s.options.WriteTimeout}
		defer stream.hurry(guarded)()
		if err := stream.notices(guarded, notices, s.options.Heartbeat); err != nil {
			stream.fail(s.wireError("watch-plugin", err))
		}
	}}, nil
}

// notices writes what comes into the queue until the context ends. The first line, which
// is empty, says that nothing is missed from now on.
func (e *eventStream) notices(ctx context.Context, queue *noticeQueue, heartbeat time.Duration) error {
	e.w.Header().Set("Content-Type", string(e.format))
	e.w.Header().Set("Connection", "close") // it carries deadlines of its own
	e.w.Header().Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		if e.buffer.Write(queue.take()); e.buffer.Len() == 0 {
			e.end()
		}
		if err := e.flush(ctx); err != nil {
			return endOf(ctx, context.Canceled) // the client is gone, or the stream's time is over
		}
		select {
		case <-queue.wake:
		case <-beat.C:
		case <-ctx.Done():
			return endOf(ctx, context.Cause(ctx))
		}
	}
}

// maxQueued bounds what waits for a client that reads slowly. One recording may be larger.
const maxQueued = 8 << 20

// noticeQueue holds notices until they are written. It is safe for use by several
// goroutines.
type noticeQueue struct {
	wake chan struct{}

	mu    sync.Mutex
	lines bytes.Buffer
	lost  int
}

// add takes a notice, unless too much waits already: then it is counted.
func (q *noticeQueue) add(notice protocol.PluginNotice) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines.Len() > maxQueued {
		q.lost++
		return
	}
	notice.Lost, q.lost = q.lost, 0
	before := q.lines.Len()
	if err := protocol.EncodeTo(&q.lines, notice); err != nil {
		q.lines.Truncate(before)
		q.lost++
		return
	}
	q.lines.WriteByte('\n')
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take answers the lines that wait.
func (q *noticeQueue) take() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	lines := bytes.Clone(q.lines.Bytes())
	q.lines.Reset()
	if q.lines.Cap() > maxQueued/8 { // what one recording needed is not kept
		q.lines = bytes.Buffer{}
	}
	return lines
}
