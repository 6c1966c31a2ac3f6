package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/watch"
)

// Options say what is developed, and where it serves.
type Options struct {
	Folder string // of the plugin, absolute
	// Engine runs the goldens and the call that failed. Over the host's own cache it finds
	// compiled what the host has compiled.
	Engine *wasm.Engine
	Host   Host // nil for none: goldens only
	// Output takes what the build command prints, as it is.
	Output io.Writer
	// Tell is told what happens, one call at a time, and not while the build command runs
	// except for what the host has to say.
	Tell func(Event)
	// Failing is the call that failed last, as far as one is known. Keep is given each new
	// one; nil keeps none.
	Failing *replay.Recording
	Keep    func(call *replay.Recording) error
	// Settle is how long nothing must have been saved before it is built; 15 ms.
	Settle time.Duration
	// Recheck is how often the sources are looked at without a hint, Poll likewise where
	// the system gives none; 5 s and 500 ms.
	Recheck, Poll time.Duration
}

// errSaved ends a cycle when the sources are saved again.
var errSaved = errors.New("it was saved again")

// Run develops a plugin until ctx ends, which is no error. It fails when the folder cannot
// be watched.
func Run(ctx context.Context, options Options) (err error) {
	fill(&options.Settle, 15*time.Millisecond)
	fill(&options.Recheck, 5*time.Second)
	fill(&options.Poll, 500*time.Millisecond)
	sources, poor, err := openSources(options.Folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sources.close()) }()
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{options: options, sources: sources, failing: options.Failing}
	defer l.work.Wait()
	defer cancel()
	if poor != nil {
		l.options.Recheck = options.Poll
		l.tell(Event{Kind: KindNote, Text: "the system tells of no saved files, so they are looked at now and then: " + poor.Error()})
	}
	l.run(ctx)
	return nil
}

func fill(field *time.Duration, value time.Duration) {
	if *field <= 0 {
		*field = value
	}
}

// loop is one Run.
type loop struct {
	options Options
	sources *sources
	work    sync.WaitGroup

	telling sync.Mutex // held while Tell runs

	// The goroutine of run alone has these.
	built state     // what the build under way, or the last one, was begun with
	again bool      // the cycle under way is ended, for another one
	since time.Time // of the first sign that something else was saved; zero for none
	cycle *cycle    // under way; nil for none

	mu       sync.Mutex
	failing  *replay.Recording
	watching bool          // the host tells what the plugin does
	previous *abi.Manifest // of what was built last; the goroutine of the cycle has it
}

func (l *loop) tell(event Event) {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.options.Tell(event)
}

// cycle is what follows a save.
type cycle struct {
	began time.Time
	saved context.CancelCauseFunc // ends it early
	done  chan struct{}
}

// run begins a cycle whenever the sources are otherwise than the last one found them.
func (l *loop) run(ctx context.Context) {
	l.since = time.Now()
	l.look(ctx)
	settle, recheck := time.NewTimer(l.options.Settle), time.NewTicker(l.options.Recheck)
	settle.Stop()
	defer settle.Stop()
	defer recheck.Stop()
	hint := func() {
		if l.since.IsZero() {
			l.since = time.Now()
		}
		settle.Reset(l.options.Settle)
	}
	for {
		var done chan struct{}
		if l.cycle != nil {
			done = l.cycle.done
		}
		select {
		case <-ctx.Done():
			return
		case event := <-l.sources.hints.C():
			if !watch.Quiet(event) {
				hint()
			}
		case err := <-l.sources.hints.Lost():
			l.tell(Event{Kind: KindNote, Text: fmt.Sprintf("the system has not told of all that was saved; everything is looked at again: %v", err)})
			hint()
		case <-settle.C:
			l.look(ctx)
		case <-recheck.C:
			l.look(ctx)
		case <-done:
			l.cycle = nil
			l.look(ctx) // what was saved meanwhile
		}
	}
}

// look begins a cycle if something was saved, or ends the one under way so that another
// begins.
func (l *loop) look(ctx context.Context) {
	// Also one that is refused names files; what cannot be read leaves them as they were.
	if manifest, err := plugin.ManifestOf(l.options.Folder); err == nil || manifest.Dev != nil || l.built == nil {
		l.sources.of(manifest)
	}
	found := l.sources.look()
	changed := l.built.changed(found)
	switch {
	case l.cycle != nil && len(changed) > 0:
		l.again = true
		l.cycle.saved(errSaved)
		return
	case l.cycle != nil:
		return
	case l.built != nil && len(changed) == 0 && !l.again:
		l.since = time.Time{}
		return
	case l.built == nil:
		changed = nil
	}
	if l.since.IsZero() { // nothing told of it
		l.since = time.Now()
	}
	l.built, l.again = found, false
	until, saved := context.WithCancelCause(ctx)
	l.cycle = &cycle{began: l.since, saved: saved, done: make(chan struct{})}
	l.since = time.Time{}
	current := l.cycle
	l.work.Go(func() {
		defer close(current.done)
		defer saved(nil)
		l.tell(Event{Kind: KindSaved, Files: changed})
		l.turn(ctx, until, current.began)
	})
}

// watch has the host tell what the plugin does, until it cannot, and returns once it does.
func (l *loop) watch(ctx context.Context, id string) {
	l.mu.Lock()
	already := l.watching
	l.watching = true
	l.mu.Unlock()
	if already {
		return
	}
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	l.work.Go(func() {
		defer once()
		err := l.options.Host.Watch(ctx, id, once, func(line Line) { l.tell(Event{Kind: KindLog, Log: &line}) }, l.failed)
		l.mu.Lock()
		l.watching = false
		l.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			l.tell(Event{Kind: KindNote, Text: fmt.Sprintf("what the plugin logs, and its calls that fail, are not seen until the next save: %v", err)})
		}
	})
	<-begun
}

// failed is told of a call that failed in the host.
func (l *loop) failed(revision string, call *replay.Recording) {
	l.mu.Lock()
	l.failing = call
	l.mu.Unlock()
	failed := failedOf(call)
	failed.Revision = revision
	l.tell(Event{Kind: KindFailed, Failed: &failed})
	if l.options.Keep == nil {
		return
	}
	if err := l.options.Keep(call); err != nil {
		l.tell(Event{Kind: KindNote, Text: fmt.Sprintf("the call that failed is not kept: %v", err)})
	}
}

func (l *loop) lastFailing() *replay.Recording {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failing
}
