package egress

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The parts of a message of an AWS event stream: lengths of all and of the headers
// with a checksum of both, the headers, the payload, a checksum of all before it.
// Numbers are big-endian, checksums are CRC-32 (IEEE).
const (
	eventPrelude = 12
	eventTrailer = 4

	headerBytes  = 6 // with a length of two bytes
	headerString = 7 // likewise
)

// headerSizes are the sizes of the values of headers without a length, by type.
var headerSizes = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// eventStream parses messages of an AWS event stream, each into a frame.
type eventStream struct {
	partial []byte
}

func newEventStream() *eventStream { return &eventStream{} }

func (s *eventStream) feed(chunk []byte) ([]Frame, error) {
	s.partial = append(s.partial, chunk...)
	rest := s.partial
	var frames []Frame
	for len(rest) >= eventPrelude {
		size, headers, err := readPrelude(rest)
		if err != nil {
			return frames, err
		}
		if len(rest) < size {
			break
		}
		frame, err := readMessage(rest[:size], headers)
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame)
		rest = rest[size:]
	}
	s.partial = append(s.partial[:0], rest...)
	return frames, nil
}

func (s *eventStream) end() ([]Frame, error) {
	if len(s.partial) > 0 {
		return nil, &Error{Kind: KindReset, Text: "the streamed answer ends in the middle of a message"}
	}
	return nil, nil
}

// readPrelude answers the sizes of the message that begins data and of its headers.
func readPrelude(data []byte) (size, headers int, err error) {
	total, names := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	switch {
	case crc32.ChecksumIEEE(data[:8]) != binary.BigEndian.Uint32(data[8:]):
		return 0, 0, damaged("the checksum of its lengths is wrong")
	case total > maxFrame:
		return 0, 0, &Error{Kind: KindTooLarge, Text: "a message of the streamed answer is larger than 1 MiB"}
	case total < eventPrelude+eventTrailer || names > total-eventPrelude-eventTrailer:
		return 0, 0, damaged("its lengths do not fit")
	}
	return int(total), int(names), nil
}

// readMessage answers the frame of a whole message.
func readMessage(message []byte, headers int) (Frame, error) {
	end := len(message) - eventTrailer
	if crc32.ChecksumIEEE(message[:end]) != binary.BigEndian.Uint32(message[end:]) {
		return Frame{}, damaged("its checksum is wrong")
	}
	payload := message[eventPrelude+headers : end]
	texts, err := headerTexts(message[eventPrelude : eventPrelude+headers])
	if err != nil {
		return Frame{}, err
	}
	switch texts[":message-type"] {
	case "exception":
		return Frame{Event: texts[":exception-type"], Data: text(payload)}, nil
	case "error":
		return Frame{Event: texts[":error-code"], Data: texts[":error-message"]}, nil
	}
	return Frame{Event: texts[":event-type"], Data: text(payload)}, nil
}

// headerTexts answers the headers that are texts.
func headerTexts(data []byte) (map[string]string, error) {
	texts := map[string]string{}
	for len(data) > 0 {
		name, rest, ok := cutAt(data[1:], int(data[0]))
		if !ok || len(rest) == 0 {
			return nil, damaged("its headers break off")
		}
		kind, size := rest[0], 0
		rest = rest[1:]
		switch {
		case kind == headerBytes || kind == headerString:
			if len(rest) < 2 {
				return nil, damaged("its headers break off")
			}
			size, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
		case int(kind) < len(headerSizes):
			size = headerSizes[kind]
		default:
			return nil, damaged("a header is of the unknown type %d", kind)
		}
		var value []byte
		if value, data, ok = cutAt(rest, size); !ok {
			return nil, damaged("its headers break off")
		}
		if kind == headerString {
			texts[text(name)] = text(value)
		}
	}
	return texts, nil
}

// cutAt answers the first size bytes and the rest, if there are so many.
func cutAt(data []byte, size int) (first, rest []byte, ok bool) {
	if size > len(data) {
		return nil, nil, false
	}
	return data[:size], data[size:], true
}

func damaged(format string, args ...any) *Error {
	return &Error{Kind: KindFailed, Text: "a message of the streamed answer is damaged: " + fmt.Sprintf(format, args...)}
}
