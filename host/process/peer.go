package process

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
	"time"
)

// Peer is a program that the caller speaks with, over the program's input and its
// standard output, for as long as both want. Like a command it has its own process
// session, few of the host's variables and no terminal, and all that it started ends
// with it. It takes no place among the commands.
type Peer struct {
	child  *child
	cancel context.CancelFunc
	done   chan struct{}
	result Result // set before done is closed
	ending sync.Once
}

// Open starts a program to speak with. Of the command's Output the options of standard
// error count, which is always apart; its Input, Timeout, Session and Progress have no
// meaning. Errors are of type *Error.
func (r *Runner) Open(c Command) (*Peer, error) {
	leave, err := r.enter()
	if err != nil {
		return nil, err
	}
	c.Output.Apart, c.Output.Limit = true, math.MaxInt64
	c.Timeout, c.Input, c.Progress = math.MaxInt64, nil, nil
	p, err := r.speech(c)
	if err != nil {
		leave()
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	peer := &Peer{cancel: cancel, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer leave()
		defer cancel()
		// The program is killed when its thread ends, so the thread stays until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		child, err := r.start(p)
		peer.child = child
		started <- err
		if err != nil {
			return
		}
		peer.result = child.end(child.watch(ctx, p.Timeout, r.processes), r.grace)
		close(peer.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return peer, nil
}

func (r *Runner) speech(c Command) (plan, error) {
	c, err := c.complete()
	if err != nil {
		return plan{}, err
	}
	p, err := r.plan(c)
	p.spoken = true
	return p, err
}

// Input is what the program reads; closing it tells the program that nothing more comes.
func (p *Peer) Input() io.WriteCloser { return p.child.pipes.input }

// Output is what the program prints. Reading fails when the program has ended and what
// it printed by then is read, or when the peer is closed.
func (p *Peer) Output() io.ReadCloser { return heard{p} }

// Done is closed when the program, and all that it started, has ended.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Result waits for the end and answers how it was. Its Output is empty.
func (p *Peer) Result() Result {
	<-p.done
	return p.result
}

// farewell is how long a program has to end by itself once its input is closed.
const farewell = 500 * time.Millisecond

// Close ends the program and answers how that was: first its input ends, then it is
// signalled, then killed with all that it started. Safe twice.
func (p *Peer) Close() Result {
	p.ending.Do(func() {
		p.child.pipes.input.Close()
		within(p.child.ended, farewell)
		p.cancel()
	})
	return p.Result()
}

// heard is a peer's output, whose end is the end of the file however it came.
type heard struct{ peer *Peer }

func (h heard) Read(buffer []byte) (int, error) {
	n, err := h.peer.child.pipes.output.Read(buffer)
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.EOF
	}
	return n, err
}

func (h heard) Close() error { return h.peer.child.pipes.output.Close() }
