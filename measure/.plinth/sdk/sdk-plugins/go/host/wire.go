package host

import (
	"encoding/binary"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// What context sources ask for before every turn is written and read by hand.

// readAnswer reads an abi.Answer. ok is the JSON of its ok, nil when there is none.
func readAnswer(data []byte) (ok []byte, failure *abi.Error, err error) {
	r := jsonscan.NewReader(data)
	for r.Object(); ; {
		key, more := r.Next()
		if !more {
			break
		}
		switch {
		case (key == "ok" || key == "error") && r.Null():
		case key == "ok":
			ok = r.Raw()
		case key == "error":
			failure = readError(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	return ok, failure, r.Err()
}

func readError(r *jsonscan.Reader) *abi.Error {
	failure := &abi.Error{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return failure
		}
		switch key {
		case "kind":
			failure.Kind = abi.Kind(r.String())
		case "message":
			failure.Message = r.String()
		default:
			r.Skip()
		}
	}
}

func readFileInfo(r *jsonscan.Reader) (info abi.FileInfo) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return info
		}
		switch key {
		case "path":
			info.Path = r.String()
		case "name":
			info.Name = r.String()
		case "kind":
			info.Kind = r.String()
		case "size":
			info.Size = r.Int()
		case "modified_ms":
			info.ModifiedMS = r.Int()
		default:
			r.Skip()
		}
	}
}

func readFSRead(data []byte) (answer abi.FSReadOK, err error) {
	r := jsonscan.NewReader(data)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "info":
			answer.Info = readFileInfo(&r)
		case "data":
			answer.Data = readBytes(&r)
		case "eof":
			answer.EOF = r.Bool()
		default:
			r.Skip()
		}
	}
	r.End()
	return answer, r.Err()
}

// readBytes reads {"$bytes": [offset, length]}.
func readBytes(r *jsonscan.Reader) (b abi.Bytes) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return b
		}
		if key != "$bytes" {
			r.Skip()
			continue
		}
		at := 0
		for r.Array(); r.More(); at++ {
			switch at {
			case 0:
				b.Offset = int(r.Int())
			case 1:
				b.Length = int(r.Int())
			default:
				r.Skip()
			}
		}
	}
}

// newMessage begins a message: room for its length, and the object.
func newMessage() []byte { return append(make([]byte, 4, 256), '{') }

// sealed puts the length in front of a message that is complete.
func sealed(message []byte) []byte {
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

// appendPath appends the members of an abi.Path.
func appendPath(dst []byte, path abi.Path) []byte {
	dst = jsonscan.AppendStringField(dst, "root", path.Root)
	return jsonscan.AppendString(jsonscan.AppendField(dst, "path"), path.Path)
}
