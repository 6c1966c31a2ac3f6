package main

import (
	"context"
	"errors"

	"github.com/plinthhost/plinth/host/wasm"
)

// crowd is hostile guests that keep processors busy.
type crowd struct {
	engine  *wasm.Engine
	modules []*wasm.Module // all hostile guests, in their order
	running []running
}

// gather loads all hostile guests into an engine that runs so many at a time in
// the lane of tools; 0 is as many as an engine does by itself.
func gather(ctx context.Context, tools int) (*crowd, error) {
	options := engineOptions(writtenContract())
	options.Tools = tools
	engine, err := wasm.New(options)
	if err != nil {
		return nil, err
	}
	c := &crowd{engine: engine}
	for _, h := range hostiles() {
		module, err := h.load(ctx, engine)
		if err != nil {
			return nil, errors.Join(err, engine.Close())
		}
		c.modules = append(c.modules, module)
	}
	return c, nil
}

func (c *crowd) join(ctx context.Context, lane wasm.Lane, modules ...*wasm.Module) {
	for _, module := range modules {
		c.running = append(c.running, begin(ctx, module, lane))
	}
}

// leave stops all guests that joined.
func (c *crowd) leave() error {
	var err error
	for _, r := range c.running {
		_, failed := r.stop()
		err = errors.Join(err, failed)
	}
	c.running = nil
	return err
}

func (c *crowd) close() error { return errors.Join(c.leave(), c.engine.Close()) }
