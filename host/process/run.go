package process

import (
	"context"
	"runtime"
)

// Run runs a command and answers how it ended: by itself, at its timeout, or because
// ctx ended or the runner was closed. It waits for a place first.
//
// An error means that nothing was run. It is of type *Error, or wraps the cause of
// ctx when that ended during the wait for a place.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	leave, err := r.enter()
	if err != nil {
		return Result{}, err
	}
	defer leave()
	c, err = c.complete()
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	defer stop()
	if err := r.places.take(ctx, c.Session); err != nil {
		return Result{}, err
	}
	defer r.places.give(c.Session)
	p, err := r.plan(c)
	if err != nil {
		return Result{}, err
	}
	if p.bounds == nil {
		// The program is killed when its thread ends, so the thread stays until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return r.attend(ctx, p)
	}
	var result Result
	alone(func() {
		if err = p.bounds.enforce(); err != nil {
			err = &Error{Kind: KindSandbox, Text: err.Error()}
			return
		}
		result, err = r.attend(ctx, p)
	})
	return result, err
}

// attend starts a plan and stays with it until it has ended. The thread is the
// caller's own.
func (r *Runner) attend(ctx context.Context, p plan) (Result, error) {
	child, err := r.start(p)
	if err != nil {
		return Result{}, err
	}
	result := child.end(child.watch(ctx, p.Timeout, r.processes), r.grace)
	if p.Project != "" {
		result.Sandbox = r.sandbox.Confinement
	}
	return result, nil
}
