package wasm

import (
	"errors"
	"strings"
)

const (
	maxExitMessage = 16 << 10
	maxExitLine    = 1 << 10
)

// exchangeHandles calls an entry of an Extism module with a message and answers a
// copy of its output. The blocks of whatever ran before are gone.
func (i *instance) exchangeHandles(c *call, entry *function, input []byte) ([]byte, error) {
	h := c.handles
	h.reset()
	at, err := h.put(input)
	if err != nil {
		return nil, err
	}
	h.input, _ = h.span(at, uint64(len(input)))
	i.stack[0] = 0
	err = i.invoke(c, entry, i.stack[:1])
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 0 {
		i.stack[0], err = 0, nil
	}
	if err != nil {
		return nil, err
	}
	if limit := c.module.spec.Limits.OutputBytes; len(h.output.bytes) > limit {
		return nil, i.invalid("it has %d bytes, the limit is %d (OutputBytes); answer less, or %s", len(h.output.bytes), limit, raise("OutputBytes"))
	}
	output := append([]byte{}, h.output.bytes...)
	code, message := uint32(i.stack[0]), h.view(h.failure)
	if code == 0 && len(message) == 0 {
		return output, nil
	}
	message = message[:min(len(message), maxExitMessage)]
	return nil, &ExitError{Code: code, Message: strings.ToValidUTF8(string(message), "\uFFFD"), Output: output}
}
