package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// instruction is one file of the value of a source. The digest stands for the text,
// which would be stored and sent around with every sample otherwise:
//
//	[{"path": "/p/AGENTS.md", "sha256": "…"}]
//
// What is said of files that there was no room for has no path.
type instruction struct {
	path   string
	digest string
	text   string
}

func same(a, b instruction) bool { return a.path == b.path && a.digest == b.digest }

func value(files []instruction) json.RawMessage {
	encoded := []byte{'['}
	for i, file := range files {
		if i > 0 {
			encoded = append(encoded, ',')
		}
		encoded = jsonscan.AppendString(append(encoded, `{"path":`...), file.path)
		encoded = jsonscan.AppendString(append(encoded, `,"sha256":`...), file.digest)
		encoded = append(encoded, '}')
	}
	return append(encoded, ']')
}

// readValue reads the value last told; ok is false when there is none, or none that
// can be read.
func readValue(encoded json.RawMessage) (files []instruction, ok bool) {
	if encoded == nil {
		return nil, false
	}
	r := jsonscan.NewReader(encoded)
	for r.Array(); r.More(); {
		files = append(files, readInstruction(&r))
	}
	return files, r.End()
}

func readInstruction(r *jsonscan.Reader) (file instruction) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return file
		}
		switch key {
		case "path":
			file.path = r.String()
		case "sha256":
			file.digest = r.String()
		default:
			r.Skip()
		}
	}
}
