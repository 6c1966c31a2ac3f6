package bridge

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// Limits of a batch.
const (
	MaxBatch = 100
	// MaxBatchBytes bounds the answers of a batch together. It leaves room for their
	// frame in what the engine lets through as one answer.
	MaxBatchBytes = 15 << 20
	// batchWidth is how many operations of a batch work at once.
	batchWidth = 8
)

// batch carries out operations side by side. Each counts as one of the call's.
func (o *operations) batch(ctx context.Context, request abi.Batch, raw []byte) (any, []byte, error) {
	if n := len(request.Operations); n == 0 || n > MaxBatch {
		return nil, nil, refuse(abi.KindInvalidInput, "there are %d operations; there must be 1 to %d", n, MaxBatch)
	}
	g := newGathering(len(request.Operations))
	answers := gathered{answers: make([]abi.BatchAnswer, len(request.Operations)), raws: make([][]byte, len(request.Operations))}
	for i, one := range request.Operations {
		g.begin(func() {
			if one.Operation == abi.OpBatch {
				answers.put(i, nil, nil, refuse(abi.KindInvalidInput, "a batch holds no batch"))
				return
			}
			body, raw, err := o.perform(context.WithValue(ctx, gatheringKey{}, g), one.Operation, one.Request, raw)
			answers.put(i, body, raw, err)
		})
	}
	g.run(ctx)
	return answers.message()
}

// gathered is the answers of a batch, each at its place. What comes when there is no
// room left is dropped at once.
type gathered struct {
	mu      sync.Mutex
	answers []abi.BatchAnswer
	raws    [][]byte
	size    int
}

func (g *gathered) put(i int, body any, raw []byte, err error) {
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(body)
	}
	if err != nil {
		told := wireError(err)
		g.answers[i].Error, raw = told, nil
		encoded, _ = json.Marshal(told)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if length := len(encoded) + len(raw); g.size+length > MaxBatchBytes {
		g.answers[i].Error = refuse(abi.KindLimit, "the answers of the batch have more than %d bytes; ask for less at once", MaxBatchBytes)
		return
	}
	g.size += len(encoded) + len(raw)
	if err == nil {
		g.answers[i].OK, g.raws[i] = encoded, raw
	}
}

// message puts the raw bytes behind each other.
func (g *gathered) message() (any, []byte, error) {
	var all []byte
	for i, raw := range g.raws {
		if len(raw) > 0 {
			g.answers[i].Bytes = &abi.Bytes{Offset: len(all), Length: len(raw)}
			all = append(all, raw...)
			g.raws[i] = nil
		}
	}
	return abi.BatchOK{Answers: g.answers}, all, nil
}

type gatheringKey struct{}

// gathering runs operations side by side. While all that are left wait for the
// world outside, the guest makes room; while one works, the call's clock runs.
type gathering struct {
	mu      sync.Mutex
	changed sync.Cond
	left    int // operations that are not through
	working int
	waiting int
	fault   any // of the first operation that panicked
}

func newGathering(count int) *gathering {
	g := &gathering{left: count}
	g.changed.L = &g.mu
	return g
}

// begin starts one operation.
func (g *gathering) begin(operation func()) {
	go func() {
		defer func() {
			fault := recover()
			g.set(func() {
				g.working--
				g.left--
				if g.fault == nil {
					g.fault = fault
				}
			})
		}()
		g.work()
		operation()
	}()
}

// work takes a place among those that work.
func (g *gathering) work() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.working >= batchWidth {
		g.changed.Wait()
	}
	g.working++
	g.changed.Broadcast()
}

func (g *gathering) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	g.changed.Broadcast()
}

// wait gives up the place while fn runs.
func (g *gathering) wait(ctx context.Context, fn func(ctx context.Context) error) error {
	g.set(func() { g.working--; g.waiting++ })
	defer func() {
		g.set(func() { g.waiting-- })
		g.work()
	}()
	return fn(timeless{context.WithValue(ctx, gatheringKey{}, inside{})})
}

// timeless ends with its context and has no deadline, as in wasm.Wait: that of the call
// stands meanwhile, and one that is derived with a time of its own would take an earlier
// deadline for it.
type timeless struct{ context.Context }

func (timeless) Deadline() (time.Time, bool) { return time.Time{}, false }

// inside marks what runs in a wait: it has nothing more to give up.
type inside struct{}

// run returns when all operations are through. A panic of one is the caller's.
func (g *gathering) run(ctx context.Context) {
	for parked := true; ; {
		g.mu.Lock()
		for g.left > 0 && (!parked || g.waiting < g.left) {
			g.changed.Wait()
		}
		left := g.left
		g.mu.Unlock()
		if left == 0 {
			break
		}
		// When the call has ended, the operations end with it and nothing is given up.
		parked = wasm.Wait(ctx, func(context.Context) error { g.untilOneWorks(); return nil }) == nil
	}
	if fault := g.fault; fault != nil {
		g.fault = nil
		panic(fault)
	}
}

func (g *gathering) untilOneWorks() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.left > 0 && g.waiting == g.left {
		g.changed.Wait()
	}
}

// wait runs something of an operation that waits for the world outside; the guest
// makes room as soon as nothing else of its call works.
func wait(ctx context.Context, fn func(ctx context.Context) error) error {
	switch g := ctx.Value(gatheringKey{}).(type) {
	case *gathering:
		return g.wait(ctx, fn)
	case inside:
		return fn(ctx)
	}
	return wasm.Wait(ctx, fn)
}
