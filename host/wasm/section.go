package wasm

import (
	"encoding/binary"
	"fmt"
	"slices"

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
	err := eachSection(module, func(_ int, custom *Custom) {
		if custom != nil && custom.Name != nameSection {
			found = append(found, *custom)
		}
	})
	return found, err
}

// coreOf answers a module up to its last section that is not custom, or is the name
// section: all that its code, and the place of anything in it, follows from. What no
// sections can be read of is all core.
func coreOf(module []byte) []byte {
	if len(module) < headerBytes {
		return module
	}
	core := headerBytes
	err := eachSection(module, func(end int, custom *Custom) {
		if custom == nil || custom.Name == nameSection {
			core = end
		}
	})
	if err != nil {
		return module
	}
	return module[:core]
}

// checkAppended holds what stands behind a module's core to what Decode holds a whole
// module to: how custom sections are written, and how many there may be.
func checkAppended(module, core []byte) error {
	limits := formLimits()
	err := eachSection(core, func(_ int, custom *Custom) {
		if custom != nil {
			limits.CustomSections--
		}
	})
	if err != nil {
		return err
	}
	_, err = form.Decode(slices.Concat(module[:headerBytes], module[len(core):]), limits)
	return err
}

// eachSection calls for each section with where it ends and, for a custom one whose name
// can be read, that section.
func eachSection(module []byte, section func(end int, custom *Custom)) error {
	for rest := module[headerBytes:]; len(rest) > 0; {
		id := rest[0]
		content, after, ok := announced(rest[1:])
		if !ok {
			return &AdmissionError{Stage: StageParse, Offset: len(module) - len(rest), Reason: "a section ends behind the module"}
		}
		rest = after
		var custom *Custom
		if name, data, ok := announced(content); ok && id == 0 {
			custom = &Custom{Name: string(name), Data: data}
		}
		section(len(module)-len(rest), custom)
	}
	return nil
}

// announced takes the bytes whose number stands before them.
func announced(data []byte) (content, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(length)], data[n+int(length):], true
}
