package store

import "time"

// Event is one immutable fact of one aggregate. None of its envelope fields can
// be added later, so all of them are here from the first event on.
type Event struct {
	// ID names the event for ever: "evt_" and 31 characters or so, made by the
	// writer. It is unique over the whole store.
	ID string
	// Aggregate is the thing the event is about: a session id, or "host".
	Aggregate string
	// Seq counts the events of the aggregate from 0, without gaps. Set by Append.
	Seq int64
	// Position counts the events of the whole store from 1, ascending, gaps
	// allowed. Set by Append. Feeds and views read by it.
	Position int64
	// Type is the kind of fact, for example "session.prompt.admitted".
	Type string
	// Version is the version of Data's shape, from 1.
	Version int
	// Time is when the fact happened, UTC, in whole milliseconds.
	Time time.Time
	// Actor is who did it: "system", "token:ID", "local:UID" or "plugin:ID@REVISION".
	Actor string
	// Cause is the id of the event or request this one follows; may be empty.
	Cause string
	// Trace is the W3C traceparent the event was made under; may be empty.
	Trace string
	// Fence is the fence of the execution lease it was appended with; 0 for the
	// modes that need none. Set by Append.
	Fence int64
	// Data is the encoded payload: one JSON value, never empty.
	Data []byte
}

// Mode is the condition under which an append is accepted.
type Mode struct {
	kind  modeKind
	value int64
}

type modeKind uint8

const (
	modeAny modeKind = iota
	modeExactly
	modeFenced
)

// Any accepts the append whatever else was written: admissions and replies.
func Any() Mode { return Mode{} }

// Exactly accepts the append only when the last sequence of the aggregate is
// seq; -1 means that the aggregate has no event yet.
func Exactly(seq int64) Mode { return Mode{kind: modeExactly, value: seq} }

// Fenced accepts the append only while no later execution lease than fence has
// written to the aggregate: the holder of the session.
func Fenced(fence int64) Mode { return Mode{kind: modeFenced, value: fence} }

// Exact answers the sequence of an Exactly mode.
func (m Mode) Exact() (seq int64, ok bool) { return m.value, m.kind == modeExactly }

// Fence answers the fence of a Fenced mode.
func (m Mode) Fence() (fence int64, ok bool) { return m.value, m.kind == modeFenced }

// Batch is what one Append writes: all of its events, or none.
type Batch struct {
	Aggregate string
	Mode      Mode
	// Events have ID, Type, Version, Time, Actor, Cause, Trace and Data set; the
	// log sets the rest. At least one, at most MaxBatch.
	Events []Event
}

// MaxBatch is the largest number of events in one Batch, and MaxDelete that of
// aggregates in one Delete.
const (
	MaxBatch  = 16 << 10
	MaxDelete = 16 << 10
)

// Head is the state of one aggregate.
type Head struct {
	// Seq is the last sequence, -1 when there is none.
	Seq int64
	// First is the lowest sequence that can still be read, 0 until pruning.
	First int64
	// Fence is the highest fence that has written.
	Fence int64
	// Owner is the replay owner, empty when unclaimed.
	Owner string
	// Deleted is set when the aggregate is a tombstone.
	Deleted bool
}

// Page is a consecutive run of events of one aggregate, or of the store.
type Page struct {
	Events []Event
	// More is set when at least one event after the last of Events existed when
	// the page was read.
	More bool
	// Head is the aggregate's head at the same instant; zero for a feed.
	Head Head
}
