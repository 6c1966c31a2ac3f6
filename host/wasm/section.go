package wasm

import (
	"encoding/binary"
	"fmt"

	form "github.com/plinthhost/plinth/host/wasm/binary"
)

const headerBytes = 8

// Section answers the data of the custom section of that name, nil when there is
// none. Two of one name are an error: one of them would go unread. Nothing else of
// the module is looked at, which Load does; so this is quick.
func Section(module []byte, name string) ([]byte, error) {
	if _, err := form.Decode(module[:min(headerBytes, len(module))], formLimits()); err != nil {
		return nil, refusal(err)
	}
	var found []byte
	for rest := module[headerBytes:]; len(rest) > 0; {
		id := rest[0]
		content, after, ok := announced(rest[1:])
		if !ok {
			return nil, &AdmissionError{Stage: StageParse, Offset: len(module) - len(rest), Reason: "a section ends behind the module"}
		}
		rest = after
		title, data, ok := announced(content)
		if id != 0 || !ok || string(title) != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the custom section %q is there twice", name)
		}
		found = append([]byte{}, data...)
	}
	return found, nil
}

// announced takes the bytes whose number stands before them.
func announced(data []byte) (content, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(length)], data[n+int(length):], true
}
