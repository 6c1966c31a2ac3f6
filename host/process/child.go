package process

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// reportEvery is the least time between two calls of Command.Progress.
	reportEvery = 200 * time.Millisecond
	// exitTime is how long what has closed the output may take to end.
	exitTime = 30 * time.Millisecond
	// countEvery is the time between two counts of a command's processes.
	countEvery = 250 * time.Millisecond
)

// child is a program that runs, with what it prints.
type child struct {
	process *os.Process
	group   group
	capture *capture
	pipes   pipes
	linger  time.Duration
	started time.Time

	ended  chan struct{} // closed when the program has ended
	took   time.Duration // set before ended is closed
	reap   chan struct{} // closed when the program's number is not needed any more
	reaped chan struct{} // closed when it is reaped
	state  *os.ProcessState

	closed chan struct{} // closed when nobody prints any more
	done   chan struct{} // closed when there is nothing more to report
	work   sync.WaitGroup
}

// start starts a plan. The caller has locked its goroutine to its thread. Errors
// are of type *Error.
func (r *Runner) start(p plan) (*child, error) {
	pipes, err := openPipes(p.spoken || len(p.Input) > 0, p.Output.Apart)
	if err != nil {
		return nil, startError(p.argv[0], err)
	}
	defer pipes.closeTheirs()
	if err := sealDescriptors(); err != nil {
		pipes.closeOurs()
		return nil, startError(p.argv[0], err)
	}
	started := time.Now()
	process, err := os.StartProcess(p.program, p.argv, &os.ProcAttr{Dir: p.enter, Env: p.variables, Files: pipes.theirs[:], Sys: attributes()})
	if err != nil {
		pipes.closeOurs()
		return nil, startError(p.argv[0], err)
	}
	c := &child{
		process: process, group: group{leader: process.Pid, signal: r.signal}, pipes: pipes, linger: r.linger, started: started,
		capture: newCapture(p.Output),
		ended:   make(chan struct{}), reap: make(chan struct{}), reaped: make(chan struct{}),
		closed: make(chan struct{}), done: make(chan struct{}),
	}
	go c.wait()
	c.attend(p)
	return c, nil
}

// wait tells when the program has ended, and reaps it when that is allowed.
func (c *child) wait() {
	if err := awaitEnd(c.process.Pid); err != nil {
		c.state, _ = c.process.Wait()
	}
	c.took = time.Since(c.started)
	close(c.ended)
	<-c.reap
	if c.state == nil {
		c.state, _ = c.process.Wait()
	}
	close(c.reaped)
}

// attend begins what goes on beside the program.
func (c *child) attend(p plan) {
	var reading sync.WaitGroup
	if !p.spoken {
		reading.Go(func() { c.capture.copy(&c.capture.output, c.pipes.output) })
	}
	if c.pipes.errors != nil {
		reading.Go(func() { c.capture.copy(&c.capture.errors, c.pipes.errors) })
	}
	c.work.Go(func() {
		reading.Wait()
		close(c.closed)
	})
	if c.pipes.input != nil && !p.spoken {
		c.work.Go(func() {
			_, _ = c.pipes.input.Write(p.Input) // nobody need read it
			c.pipes.input.Close()
		})
	}
	if p.Progress != nil {
		c.work.Go(func() { c.report(p.Progress) })
	}
}

// report tells what was printed, while there is news.
func (c *child) report(tell func(Progress)) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	var told int64
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		if lines, total := c.capture.newest(); total != told {
			told = total
			tell(Progress{Lines: lines, Total: total, Elapsed: time.Since(c.started)})
		}
	}
}

// watch waits until the program has ended and nobody prints any more, or until there
// is a reason to end it.
func (c *child) watch(ctx context.Context, timeout time.Duration, most int) Stop {
	over := time.NewTimer(timeout)
	defer over.Stop()
	count := time.NewTicker(countEvery)
	defer count.Stop()
	for {
		select {
		case <-c.ended:
			c.settle()
			return ""
		case <-over.C:
			return Timeout
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return Timeout
			}
			return Cancelled
		case <-c.capture.over:
			return Flood
		case <-count.C:
			if len(c.group.alive()) > most {
				return Crowd
			}
		}
	}
}

// settle gives what the program left in the background a little time to print.
func (c *child) settle() {
	if within(c.closed, c.linger) {
		c.group.until(exitTime, nil)
	}
}

// end ends what still runs and answers how it all ended. Nothing of the child is
// left then but survivors.
func (c *child) end(stopped Stop, grace time.Duration) Result {
	if stopped == Crowd {
		grace = 0
	}
	before, after := c.group.end(grace)
	result := Result{ExitCode: -1, Stopped: stopped, Survivors: after}
	if stopped == "" {
		result.Background = before
	}
	close(c.reap)
	if within(c.reaped, killWait) {
		result.Duration = c.took
		result.exit(c.state)
	} else {
		result.Duration = time.Since(c.started)
		result.Survivors = max(1, after)
	}
	// Who has the output open now left the session; what the others printed is in the pipe.
	c.pipes.interrupt()
	close(c.done)
	c.work.Wait()
	c.pipes.closeOurs()
	result.Output, result.Errors = c.capture.kept()
	return result
}

// within waits for an event, and says whether it came in time.
func within(event <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-event:
		return true
	case <-timer.C:
		return false
	}
}
