package abi

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrMessage is wrapped by every error of DecodeMessage.
var ErrMessage = errors.New("malformed message")

// EncodeMessage frames JSON and the raw bytes it refers to.
func EncodeMessage(body, raw []byte) []byte {
	message := make([]byte, 0, 4+len(body)+len(raw))
	message = binary.LittleEndian.AppendUint32(message, uint32(len(body)))
	message = append(message, body...)
	return append(message, raw...)
}

// DecodeMessage splits a message into its JSON and its raw bytes. Both alias
// message.
func DecodeMessage(message []byte) (body, raw []byte, err error) {
	if len(message) < 4 {
		return nil, nil, fmt.Errorf("%w: %d bytes, the length alone has 4", ErrMessage, len(message))
	}
	length := uint64(binary.LittleEndian.Uint32(message))
	rest := message[4:]
	if length > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("%w: the length says %d bytes of JSON, %d are there", ErrMessage, length, len(rest))
	}
	return rest[:length], rest[length:], nil
}

// Bytes refers to a run of a message's raw bytes: {"$bytes": [offset, length]}.
type Bytes struct {
	Offset int
	Length int
}

type bytesJSON struct {
	Bytes [2]int `json:"$bytes"`
}

// MarshalJSON writes the reference.
func (b Bytes) MarshalJSON() ([]byte, error) {
	return json.Marshal(bytesJSON{Bytes: [2]int{b.Offset, b.Length}})
}

// UnmarshalJSON reads the reference.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var value bytesJSON
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	b.Offset, b.Length = value.Bytes[0], value.Bytes[1]
	return nil
}

// Of answers the run of raw that b refers to.
func (b Bytes) Of(raw []byte) ([]byte, error) {
	if b.Offset < 0 || b.Length < 0 || b.Offset > len(raw) || b.Length > len(raw)-b.Offset {
		return nil, fmt.Errorf("%w: $bytes [%d, %d] lies outside of %d raw bytes", ErrMessage, b.Offset, b.Length, len(raw))
	}
	return raw[b.Offset : b.Offset+b.Length], nil
}
