package protocol

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
)

// Cursor is a place in a session's events: after the event with sequence Seq.
// Its text is opaque to clients, the same over WebSocket, event streams and
// pages.
type Cursor struct {
	// Log is the id of the log's incarnation.
	Log string
	// Seq is the sequence of the last event before the place, -1 at the start.
	Seq int64
	// Tag is a short digest of that event's id; zero when it is not known.
	Tag uint32
}

// cursorVersion is the first byte of a cursor's encoding.
const cursorVersion = 1

// maxCursor bounds the text of a cursor, in bytes.
const maxCursor = 256

// NewCursor makes the cursor after one event. The event's id may be empty, which
// leaves only log and range to be verified on resume.
func NewCursor(log string, seq int64, eventID string) Cursor {
	c := Cursor{Log: log, Seq: seq}
	if eventID != "" && seq >= 0 {
		c.Tag = EventTag(eventID)
	}
	return c
}

// EventTag is the short digest of an event's id, never zero.
func EventTag(eventID string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(eventID))
	if tag := h.Sum32(); tag != 0 {
		return tag
	}
	return 1
}

// String encodes the cursor.
func (c Cursor) String() string {
	raw := make([]byte, 0, 1+4+binary.MaxVarintLen64+len(c.Log))
	raw = append(raw, cursorVersion)
	raw = binary.BigEndian.AppendUint32(raw, c.Tag)
	raw = binary.AppendUvarint(raw, uint64(c.Seq+1))
	raw = append(raw, c.Log...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseCursor decodes a cursor that the server made. The empty text is no
// cursor. Error: bad_request.
func ParseCursor(text string) (Cursor, error) {
	bad := Errorf(BadRequest, "the cursor is malformed; send one as the server gave it")
	if len(text) > maxCursor {
		return Cursor{}, bad
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 7 || raw[0] != cursorVersion {
		return Cursor{}, bad
	}
	next, n := binary.Uvarint(raw[5:])
	if n <= 0 || next > 1<<62 {
		return Cursor{}, bad
	}
	c := Cursor{Tag: binary.BigEndian.Uint32(raw[1:5]), Seq: int64(next) - 1, Log: string(raw[5+n:])}
	if c.Log == "" || c.String() != text {
		return Cursor{}, bad
	}
	return c, nil
}
