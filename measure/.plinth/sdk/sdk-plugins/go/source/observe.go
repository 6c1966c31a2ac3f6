package source

import (
	"encoding/binary"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// readObserve reads the abi.Call of an abi.ContextObserve. Sources are observed before
// every turn, so it is read by hand; texts and raw JSON share data.
func readObserve(data []byte) (o abi.ContextObserve, err error) {
	err = guest.ReadBody(data, func(r *jsonscan.Reader) { readBody(r, &o) })
	return o, err
}

func readBody(r *jsonscan.Reader, o *abi.ContextObserve) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "session":
			o.Session = readSession(r)
		case "location":
			o.Location = readLocation(r)
		case "now_ms":
			o.NowMS = r.Int()
		case "model":
			o.Model = r.String()
		case "directories":
			for r.Array(); r.More(); {
				o.Directories = append(o.Directories, r.String())
			}
		case "previous":
			o.Previous = r.Members()
		default:
			r.Skip()
		}
	}
}

func readSession(r *jsonscan.Reader) (session abi.Session) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return session
		}
		switch key {
		case "id":
			session.ID = r.String()
		case "agent":
			session.Agent = r.String()
		default:
			r.Skip()
		}
	}
}

func readLocation(r *jsonscan.Reader) (location abi.Location) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return location
		}
		switch key {
		case "directory":
			location.Directory = r.String()
		case "root":
			location.Root = r.String()
		case "git":
			location.Git = r.Bool()
		case "platform":
			location.Platform = r.String()
		case "utc_offset":
			location.UTCOffset = int(r.Int())
		default:
			r.Skip()
		}
	}
}

// answer is the answer {"ok": {"sources": states}}.
func answer(states []abi.SourceState) []byte {
	size := 64
	for _, state := range states {
		size += 128 + len(state.Value) + len(state.Baseline) + len(state.Update) + len(state.Removed)
	}
	message := append(make([]byte, 4, size+size/8), `{"ok":{"sources":`...)
	if states == nil {
		message = append(message, "null"...)
	} else {
		message = append(message, '[')
		for i, state := range states {
			if i > 0 {
				message = append(message, ',')
			}
			message = appendState(message, state)
		}
		message = append(message, ']')
	}
	message = append(message, '}', '}')
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

func appendState(dst []byte, state abi.SourceState) []byte {
	dst = jsonscan.AppendString(append(dst, `{"key":`...), state.Key)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "state"), state.State)
	dst = jsonscan.AppendRawField(dst, "value", state.Value)
	dst = jsonscan.AppendStringField(dst, "baseline", state.Baseline)
	dst = jsonscan.AppendStringField(dst, "update", state.Update)
	dst = jsonscan.AppendStringField(dst, "removed", state.Removed)
	return append(dst, '}')
}
