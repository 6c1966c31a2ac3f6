package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// readUsage reads a usage object. The protocol counts what came from the cache, and what
// went into it, beside the input.
func readUsage(r *jsonscan.Reader) *abi.Usage {
	usage := &abi.Usage{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "inputTokens":
			usage.Input = r.Int()
		case "outputTokens":
			usage.Output = r.Int()
		case "cacheReadInputTokens":
			usage.CacheRead = r.Int()
		case "cacheWriteInputTokens":
			usage.CacheWrite = r.Int()
		default:
			r.Skip()
		}
	}
	usage.Input += usage.CacheRead + usage.CacheWrite
	return usage
}
