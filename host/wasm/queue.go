package wasm

import (
	"container/list"
	"context"
	"slices"
	"time"
)

// queue is who waits for something that is given out one by one: sessions take
// turns, and the calls of one session are served in order. The owner guards it
// with its own lock.
type queue[T any] struct {
	turns []string // sessions with waiters, the next to be served first
	waits map[string]*list.List
	n     int
}

// waiter is one call in a queue.
type waiter[T any] struct {
	session string
	granted chan T // of one; filled under the owner's lock when the waiter leaves the queue
	place   *list.Element
}

// push adds a waiter at the end of its session's line.
func (q *queue[T]) push(session string) *waiter[T] {
	w := &waiter[T]{session: session, granted: make(chan T, 1)}
	line := q.waits[session]
	if line == nil {
		if q.waits == nil {
			q.waits = make(map[string]*list.List)
		}
		line = list.New()
		q.waits[session] = line
		q.turns = append(q.turns, session)
	}
	w.place = line.PushBack(w)
	q.n++
	return w
}

// remove takes a waiter out that is still in.
func (q *queue[T]) remove(w *waiter[T]) {
	line := q.waits[w.session]
	line.Remove(w.place)
	q.n--
	if line.Len() == 0 {
		delete(q.waits, w.session)
		q.turns = slices.DeleteFunc(q.turns, func(session string) bool { return session == w.session })
	}
}

// next answers the waiter to serve, nil when there is none that may be served. It
// leaves the queue and its session goes to the end of the turns. Nil for may
// allows every session.
func (q *queue[T]) next(may func(session string) bool) *waiter[T] {
	for i, session := range q.turns {
		if may != nil && !may(session) {
			continue
		}
		w := q.waits[session].Front().Value.(*waiter[T])
		q.remove(w)
		if q.waits[session] != nil {
			q.turns = append(slices.Delete(q.turns, i, i+1), session)
		}
		return w
	}
	return nil
}

// await waits until the waiter is granted something: ErrBusy after the time, the
// context's end when it ends first. Then withdraw is called; it answers false
// when a grant came in between, and the grant counts.
func (w *waiter[T]) await(ctx context.Context, wait time.Duration, withdraw func() bool) (T, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case grant := <-w.granted:
		return grant, nil
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = endOf(ctx)
	}
	if !withdraw() {
		return <-w.granted, nil
	}
	var none T
	return none, err
}
