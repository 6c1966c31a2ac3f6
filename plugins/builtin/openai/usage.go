package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// readUsage reads a usage object. The protocol's counts are inclusive as ours are;
// servers that count reasoning beside the completion show it in their total.
func readUsage(r *jsonscan.Reader) *abi.Usage {
	usage := &abi.Usage{}
	var total int64
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "prompt_tokens":
			usage.Input = r.Int()
		case "completion_tokens":
			usage.Output = r.Int()
		case "total_tokens":
			total = r.Int()
		case "prompt_cache_hit_tokens":
			usage.CacheRead = r.Int()
		case "prompt_tokens_details":
			readDetails(r, "cached_tokens", &usage.CacheRead)
		case "completion_tokens_details":
			readDetails(r, "reasoning_tokens", &usage.Reasoning)
		default:
			r.Skip()
		}
	}
	if usage.Reasoning > 0 && total == usage.Input+usage.Output+usage.Reasoning {
		usage.Output += usage.Reasoning
	}
	return usage
}

func readDetails(r *jsonscan.Reader, name string, count *int64) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		if key == name {
			*count = r.Int()
		} else {
			r.Skip()
		}
	}
}
