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
	all, err := customs(module)
	if err != nil {
		return nil, err
	}
	var found []byte
	for _, section := range all {
		if section.Name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the custom section %q is there twice", name)
		}
		found = append([]byte{}, section.Data...)
	}
	return found, nil
}

// nameSection is the one custom section that the engine itself reads.
const nameSection = "name"

// customs lists the other custom sections of what begins like a module.
func customs(module []byte) ([]Custom, error) {
	var found []Custom
	for rest := module[headerBytes:]; len(rest) > 0; {
		id := rest[0]
		content, after, ok := announced(rest[1:])
		if !ok {
			return nil, &AdmissionError{Stage: StageParse, Offset: len(module) - len(rest), Reason: "a section ends behind the module"}
		}
		rest = after
		if name, data, ok := announced(content); ok && id == 0 && string(name) != nameSection {
			found = append(found, Custom{Name: string(name), Data: data})
		}
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
