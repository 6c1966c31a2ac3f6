package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// counts are the numbers of a usage object. The protocol counts what came from the
// cache, and what went into it, beside the input.
type counts struct {
	input, cacheRead, cacheWrite, output int64
	known                                bool
}

// read takes the numbers that are there: those of the start are told again at the end,
// and the last counts.
func (c *counts) read(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		var into *int64
		switch key {
		case "input_tokens":
			into = &c.input
		case "cache_read_input_tokens":
			into = &c.cacheRead
		case "cache_creation_input_tokens":
			into = &c.cacheWrite
		case "output_tokens":
			into = &c.output
		}
		if into == nil || r.Kind() == 'n' {
			r.Skip()
			continue
		}
		*into = r.Int()
		c.known = true
	}
}

// usage counts inclusively.
func (c counts) usage() abi.Usage {
	return abi.Usage{Input: c.input + c.cacheRead + c.cacheWrite, Output: c.output, CacheRead: c.cacheRead, CacheWrite: c.cacheWrite}
}
