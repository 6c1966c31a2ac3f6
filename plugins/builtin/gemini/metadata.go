package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// metadata is what the codec keeps with a part.
type metadata struct {
	signature string // of the thinking: the part must come back with it
	text      bool   // the signature is of the text before; the part itself is empty
	id        string // the provider's own id of a call
	code      bool   // a call of the code execution that Google runs
}

func (m metadata) encode() []byte {
	dst := jsonscan.AppendStringField([]byte{'{'}, "id", m.id)
	dst = jsonscan.AppendStringField(dst, "signature", m.signature)
	if m.text {
		dst = append(jsonscan.AppendField(dst, "text"), "true"...)
	}
	if m.code {
		dst = append(jsonscan.AppendField(dst, "code"), "true"...)
	}
	return append(dst, '}')
}

func readMetadata(data json.RawMessage) (m metadata, err error) {
	if len(data) == 0 {
		return m, nil
	}
	r := jsonscan.NewReader(data)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "id":
			m.id = r.String()
		case "signature":
			m.signature = r.String()
		case "text":
			m.text = r.Bool()
		case "code":
			m.code = r.Bool()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return m, plinth.Errorf(abi.KindInvalidInput, "the metadata of a part: %v", r.Err())
	}
	return m, nil
}
