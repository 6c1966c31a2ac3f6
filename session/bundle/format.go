package bundle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/store"
)

// Format and Version name the file.
const (
	Format  = "plinth.session"
	Version = 1
)

// MediaType is what a bundle is in HTTP.
const MediaType = "application/x-ndjson"

// Header begins the file, once for each session in it. The first is of the session
// that was exported, the others are of its descendants.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Session string `json:"session"`
	// First is the sequence of the first event, above 0 in a pruned log; Events is how
	// many there are.
	First  int64 `json:"first"`
	Events int64 `json:"events"`
	// Exported is when, Log the id of the log it was exported from and Plinth the
	// version of the program: for people, nothing depends on them.
	Exported time.Time `json:"exported"`
	Log      string    `json:"log,omitempty"`
	Plinth   string    `json:"plinth,omitempty"`
}

func (h Header) last() int64 { return h.First + h.Events - 1 }

// line is any line but a header.
type line struct {
	Event *event `json:"event,omitempty"`
	Blob  *blob  `json:"blob,omitempty"`
	End   *end   `json:"end,omitempty"`
}

// event is the whole envelope. The position is of the log it comes from.
type event struct {
	ID       string          `json:"id"`
	Session  string          `json:"session"`
	Seq      int64           `json:"seq"`
	Position int64           `json:"position"`
	Type     string          `json:"type"`
	Version  int             `json:"version"`
	Time     time.Time       `json:"time"`
	Actor    string          `json:"actor,omitempty"`
	Cause    string          `json:"cause,omitempty"`
	Trace    string          `json:"trace,omitempty"`
	Fence    int64           `json:"fence,omitempty"`
	Data     json.RawMessage `json:"data"`
}

// blob is one value with its SHA-256.
type blob struct {
	Digest string `json:"digest"`
	Data   []byte `json:"data"` // base64
}

// end is the last line: how many lines came before, and the SHA-256 of their bytes.
type end struct {
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`
}

func wire(e store.Event) *event {
	return &event{ID: e.ID, Session: e.Aggregate, Seq: e.Seq, Position: e.Position, Type: e.Type, Version: e.Version, Time: e.Time,
		Actor: e.Actor, Cause: e.Cause, Trace: e.Trace, Fence: e.Fence, Data: e.Data}
}

func (e *event) stored() store.Event {
	return store.Event{ID: e.ID, Aggregate: e.Session, Seq: e.Seq, Type: e.Type, Version: e.Version, Time: e.Time,
		Actor: e.Actor, Cause: e.Cause, Trace: e.Trace, Fence: e.Fence, Data: e.Data}
}

// FormatError is a file that is no bundle, or is one no more.
type FormatError struct {
	Line   int64 // from 1; 0 for the file as a whole
	Reason string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return "the session file " + e.Reason
	}
	return fmt.Sprintf("the session file, line %d: %s", e.Line, e.Reason)
}

func at(number int64, format string, args ...any) error {
	return &FormatError{Line: number, Reason: fmt.Sprintf(format, args...)}
}

// Limits bound what is read. The zero value is replaced by DefaultLimits.
type Limits struct {
	Bytes    int64 // of the file
	Line     int   // bytes of one line
	Sessions int
}

// DefaultLimits hold what a store can have: the largest event is 64 MiB.
func DefaultLimits() Limits { return Limits{Bytes: 16 << 30, Line: 66 << 20, Sessions: 1024} }
