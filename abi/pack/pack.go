// Package pack makes one file of a plugin, named by one digest: its module with, as
// custom sections at the end, its manifest and the files that this names.
package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
)

// ErrModule is wrapped by every error about bytes that are no WebAssembly module.
var ErrModule = errors.New("not a WebAssembly module")

// ErrNoManifest is answered for a module without a manifest in it.
var ErrNoManifest = errors.New("the module has no section " + abi.ManifestSection)

// header is the magic number and version 1 of a core module.
const header = "\x00asm\x01\x00\x00\x00"

// customSection is the section id of a custom section.
const customSection = 0

// Manifest answers the manifest inside module: the text of its plugin.toml with
// its schemas inline. It shares module's memory.
func Manifest(module []byte) ([]byte, error) {
	var found []byte
	err := sections(module, func(s section) error {
		if s.name != abi.ManifestSection {
			return nil
		}
		if found != nil {
			return fmt.Errorf("%w: two sections %s, the second at byte %d", ErrModule, abi.ManifestSection, s.start)
		}
		found = s.content
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, ErrNoManifest
	}
	return found, nil
}

// WithManifest answers module with manifest as its last section, in place of any
// it had. Everything else stays byte for byte.
func WithManifest(module, manifest []byte) ([]byte, error) {
	return WithSections(module, Section{Name: abi.ManifestSection, Content: manifest})
}

// Section is a custom section. One without content, nil, is none.
type Section struct {
	Name    string
	Content []byte
}

// WithSections answers module with these as its last sections, in this order and in
// place of any of their names. Everything else stays byte for byte.
func WithSections(module []byte, last ...Section) ([]byte, error) {
	packed := append(make([]byte, 0, len(module)), header...)
	err := sections(module, func(s section) error {
		if s.custom && slices.ContainsFunc(last, func(l Section) bool { return l.Name == s.name }) {
			return nil
		}
		packed = append(packed, module[s.start:s.end]...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, section := range last {
		if section.Content == nil {
			continue
		}
		name := append(binary.AppendUvarint(nil, uint64(len(section.Name))), section.Name...)
		packed = append(packed, customSection)
		packed = binary.AppendUvarint(packed, uint64(len(name)+len(section.Content)))
		packed = append(packed, name...)
		packed = append(packed, section.Content...)
	}
	return packed, nil
}

// section is one section of a module, from start up to end. Name and content are
// set for custom sections.
type section struct {
	start, end int
	custom     bool
	name       string
	content    []byte
}

// sections calls each for every section in order.
func sections(module []byte, each func(section) error) error {
	if !bytes.HasPrefix(module, []byte(header)) {
		return fmt.Errorf("%w: it does not start with the magic number and version 1", ErrModule)
	}
	for at := len(header); at < len(module); {
		s := section{start: at}
		body, end, err := prefixed(module, at+1)
		if err != nil {
			return err
		}
		s.end = end
		if module[at] == customSection {
			name, after, err := prefixed(body, 0)
			if err != nil {
				return fmt.Errorf("the custom section at byte %d: %w", at, err)
			}
			s.custom, s.name, s.content = true, string(name), body[after:]
		}
		if err := each(s); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// prefixed reads a u32 length at from and that many bytes; end is behind them.
func prefixed(data []byte, from int) (body []byte, end int, err error) {
	const longest = 5 // bytes of a u32
	length, size := binary.Uvarint(data[from:min(from+longest, len(data))])
	if size <= 0 || length > uint64(len(data)-from-size) {
		return nil, 0, fmt.Errorf("%w: the length at byte %d is cut or leads beyond the end", ErrModule, from)
	}
	end = from + size + int(length)
	return data[from+size : end], end, nil
}
