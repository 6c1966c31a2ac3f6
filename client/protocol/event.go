package protocol

import (
	"encoding/json"
	"time"
)

// Event is one durable fact of a session. It has the same JSON in a page, an
// event stream and inside an ev frame.
type Event struct {
	Session string `json:"session"`
	// Seq counts the session's events from 0, without gaps.
	Seq int64 `json:"seq"`
	// Cursor is the place after this event.
	Cursor string `json:"cursor"`
	// Type is the kind of fact, for example "session.prompt.admitted"; Version is
	// that of Data's shape.
	Type    string    `json:"type"`
	Version int       `json:"v"`
	ID      string    `json:"id"`
	Time    time.Time `json:"at"`
	// Actor is who did it: "system", "token:ID", "local:UID" or "plugin:ID@REVISION".
	Actor string `json:"actor,omitempty"`
	// Cause is the id of the event or request it follows.
	Cause string          `json:"cause,omitempty"`
	Data  json.RawMessage `json:"data"`
}

// EventList is a finite page of events.
type EventList struct {
	Events []Event `json:"events"`
	// Cursor is the place after the last event of the page, or where the page
	// began when it is empty.
	Cursor string `json:"cursor"`
	// Head is the place after the session's last event when the page was read.
	Head string `json:"head"`
	// More is set when events follow the page already.
	More bool `json:"more"`
}

// PartKind is what a streaming part holds.
type PartKind string

// The kinds.
const (
	KindText         PartKind = "text"
	KindReasoning    PartKind = "reasoning"
	KindToolInput    PartKind = "tool_input"
	KindToolProgress PartKind = "tool_progress"
	KindSummary      PartKind = "summary" // of a compaction; its message comes with session.compaction.ended
)

// OpenPart is a part that is still streaming, with its whole text so far.
//
// Message and Part name one text for good: it only grows until the part closes.
// The text is UTF-8, but for a last code point that may be incomplete.
type OpenPart struct {
	Message string
	Part    string
	Kind    PartKind
	Text    string
}
