package wasm

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// extismConfigGet answers an operator's setting, no block when there is none.
func extismConfigGet(c *call, stack []uint64) {
	stack[0] = c.hand([]byte(c.module.spec.Config[string(c.argument(stack[0]))]))
}

// extismLogLevel answers trace: everything is taken, up to Limits.LogBytes.
func extismLogLevel(_ *call, stack []uint64) { stack[0] = 0 }

func extismLog(level string) func(c *call, stack []uint64) {
	return func(c *call, stack []uint64) { c.log.message(level, c.consume(stack[0])) }
}

func extismVarGet(c *call, stack []uint64) {
	name := string(c.consume(stack[0]))
	var value []byte
	c.reach("var_get", func(ctx context.Context) (err error) {
		value, err = c.variables().Get(ctx, name)
		return err
	})
	stack[0] = c.hand(value)
}

func extismVarSet(c *call, stack []uint64) {
	name := string(c.consume(stack[0]))
	var value []byte
	if stack[1] != 0 {
		value = append([]byte{}, c.consume(stack[1])...) // not nil, which removes
	}
	c.reach("var_set", func(ctx context.Context) error { return c.variables().Set(ctx, name, value) })
}

func (c *call) variables() Variables {
	if c.world.Variables != nil {
		return c.world.Variables
	}
	return instanceVariables{c.instance, c.module.spec.Limits.VariableBytes}
}

// extismHTTPRequest takes handles of a request in JSON and of a body, 0 for none,
// and answers the handle of the answer's body.
func extismHTTPRequest(c *call, stack []uint64) {
	c.response = HTTPResponse{}
	var asked struct { // its names are matched in any case
		URL     string
		Method  string
		Headers map[string]string
	}
	if err := json.Unmarshal(c.consume(stack[0]), &asked); err != nil {
		c.stop(&TrapError{Reason: "http_request: its request cannot be read: " + clean(err.Error(), maxLine)})
	}
	request := HTTPRequest{Method: strings.ToUpper(asked.Method), URL: asked.URL, Headers: asked.Headers}
	if request.Method == "" {
		request.Method = "GET"
	}
	if stack[1] != 0 {
		request.Body = append([]byte{}, c.consume(stack[1])...)
	}
	c.reach("http_request", func(ctx context.Context) (err error) {
		if c.world.HTTP == nil {
			return ErrUnavailable
		}
		c.response, err = c.world.HTTP.Do(ctx, request)
		return err
	})
	if limit := c.module.spec.Limits.OperationBytes; len(c.response.Body) > limit {
		c.stop(&LimitError{What: "bytes of an HTTP answer", Got: int64(len(c.response.Body)), Limit: int64(limit), Knob: "OperationBytes"})
	}
	stack[0] = c.hand(c.response.Body)
	c.response.Body = nil
}

func extismHTTPStatus(c *call, stack []uint64) { stack[0] = uint64(uint32(c.response.Status)) }

// extismHTTPHeaders answers the handle of the last answer's headers, in JSON.
func extismHTTPHeaders(c *call, stack []uint64) {
	headers := c.response.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	encoded, err := json.Marshal(headers)
	if err != nil {
		c.stop(err)
	}
	stack[0] = c.hand(encoded)
}

// reach runs a function of the world. It counts as an operation; its error ends
// the guest, since Extism has no way to answer one.
func (c *call) reach(name string, fn func(ctx context.Context) error) {
	c.safepoint()
	if c.told {
		c.stop(c.ended(time.Now()))
	}
	c.asked++
	if limit := c.module.spec.Limits.Operations; c.asked > limit {
		c.stop(&LimitError{What: "operations in one call", Got: int64(c.asked), Limit: int64(limit), Knob: "Operations"})
	}
	var err error
	c.carryOut(name, func(ctx context.Context) { err = fn(ctx) })
	if ended := c.ended(time.Now()); ended != nil {
		c.stop(ended)
	}
	if err == nil {
		return
	}
	if kindOfType(err) != "" {
		c.stop(err)
	}
	c.stop(&TrapError{Reason: name + ": " + clean(err.Error(), maxLine)})
}

// extismCall is the operation as Extism's user function: handles of its name and
// request in, the handle of its answer out.
func extismCall(c *call, stack []uint64) {
	c.safepoint()
	name, request := c.argument(stack[0]), c.argument(stack[1])
	c.charge(int64(len(request) / bytesPerFuel))
	c.pending = c.operate(uint64(len(name)), uint64(len(request)), func() (string, []byte) {
		return string(name), append([]byte(nil), request...)
	})
	c.endOperation()
	stack[0] = c.hand(c.pending)
}
