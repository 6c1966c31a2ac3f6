// Package model plays random sequences of what may happen to a host and its sessions, and
// holds them to a small reference after every step.
package model

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/session"
)

// TestModel plays random sequences.
func TestModel(t *testing.T) {
	var first error
	t.Cleanup(func() {
		if first != nil {
			t.Log("the first sequence that failed, before it was shortened:\n", first)
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		c := drawCourse(r)
		defer counted.course(c)
		if err := play(t, c); err != nil {
			if first == nil {
				first = err
			}
			r.Log(err)
			r.Fatal("the sequence breaks the reference") // the same words each time, or rapid cannot shrink
		}
	})
}

// play makes a course happen in a world of its own, whose time stands still while
// anything moves.
func play(t *testing.T, c course) (failed error) {
	defer func() {
		if stuck := recover(); stuck != nil { // something that was begun does not end
			stacks := make([]byte, 1<<20)
			failed = fmt.Errorf("%v\n%w\n%s", stuck, failed, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := newWorld(t, c)
		w.host = newHost(w, t.TempDir())
		said, err := w.run(ctx)
		if err != nil {
			failed = errors.New(renamed(fmt.Sprintf("%v\n\n%s\nWhat came of it:\n%s\nThe log:\n%s", err, c, said, w.story())))
		}
		w.unblock()
		w.host.close(0)
	})
	return failed
}

// run plays the steps and answers what they came to.
func (w *world) run(ctx context.Context) (string, error) {
	var said strings.Builder
	for range 2 {
		if _, _, err := w.host.sessions.Create(ctx, session.System(), session.CreateRequest{Directory: home}); err != nil {
			return "", err
		}
	}
	w.base = w.host.log.position()
	if err := w.catchUp(); err != nil {
		return "", err
	}
	for i, s := range w.course.Steps {
		words, err := w.step(ctx, s)
		fmt.Fprintf(&said, "%3d  %s: %s\n", i+1, s.Do, words)
		if err != nil {
			return said.String(), fmt.Errorf("step %d, %s: %w", i+1, s.Do, err)
		}
	}
	return said.String(), w.finish(ctx)
}

func (w *world) step(ctx context.Context, s step) (words string, err error) {
	if s.Do == "together" {
		words, err = w.together(ctx, s.Parts)
	} else {
		words, err = timely(func() (string, error) { return w.do(ctx, s, true) })
	}
	if err != nil {
		return words, err
	}
	settle()
	return words, w.check(ctx)
}
