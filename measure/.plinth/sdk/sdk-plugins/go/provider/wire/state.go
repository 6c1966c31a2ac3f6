package wire

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// ReadUsage reads what provider.AppendUsage wrote into a codec's state.
func ReadUsage(r *jsonscan.Reader) *abi.Usage {
	usage := &abi.Usage{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return usage
		}
		switch key {
		case "input":
			usage.Input = r.Int()
		case "output":
			usage.Output = r.Int()
		case "reasoning":
			usage.Reasoning = r.Int()
		case "cache_read":
			usage.CacheRead = r.Int()
		case "cache_write":
			usage.CacheWrite = r.Int()
		default:
			r.Skip()
		}
	}
}

// BadFrame refuses a frame that is not what the protocol has, such as a "chunk".
func BadFrame(kind, data string, err error) error {
	const shown = 200
	if len(data) > shown {
		data = strings.ToValidUTF8(data[:shown], "") + "…"
	}
	return plinth.Errorf(abi.KindFailed, "the provider sent a frame that is no %s: %v, in %s", kind, err, data)
}
