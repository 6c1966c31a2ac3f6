package transform

import (
	"encoding/binary"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/request"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// readApply reads the abi.Call of an abi.TransformApply.
func readApply(data []byte) (call abi.TransformApply, err error) {
	err = guest.ReadBody(data, func(r *jsonscan.Reader) { readApplyBody(r, &call) })
	return call, err
}

func readApplyBody(r *jsonscan.Reader, call *abi.TransformApply) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "transform":
			call.Transform = r.String()
		case "purpose":
			call.Purpose = r.String()
		case "agent":
			call.Agent = r.String()
		case "system":
			call.System = request.List(r, request.TextPart)
		case "messages":
			call.Messages = request.List(r, request.Message)
		case "tools":
			call.Tools = request.List(r, request.Tool)
		case "generation":
			if !r.Null() {
				controls := request.Controls(r)
				call.Generation = &controls
			}
		case "options":
			call.Options = r.Members()
		case "headers":
			call.Headers = readHeaders(r)
		default:
			r.Skip()
		}
	}
}

func readHeaders(r *jsonscan.Reader) map[string]string {
	if r.Null() {
		return nil
	}
	headers := map[string]string{}
	for r.Object(); ; {
		name, ok := r.Next()
		if !ok {
			return headers
		}
		headers[name] = r.String()
	}
}

// answer is the answer {"ok": {"edits": edits}}.
func answer(edits []abi.Edit) []byte {
	size := 32
	for _, edit := range edits {
		size += 64 + len(edit.Part) + 2*len(edit.ID) + len(edit.Value)
	}
	message := append(make([]byte, 4, size), `{"ok":{"edits":[`...)
	for i, edit := range edits {
		if i > 0 {
			message = append(message, ',')
		}
		message = jsonscan.AppendString(append(message, `{"part":`...), edit.Part)
		message = jsonscan.AppendString(jsonscan.AppendField(message, "op"), edit.Op)
		message = jsonscan.AppendString(jsonscan.AppendField(message, "id"), edit.ID)
		message = jsonscan.AppendRawField(message, "value", edit.Value)
		message = append(message, '}')
	}
	message = append(message, `]}}`...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return message
}
