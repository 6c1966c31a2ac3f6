package session

// Payload is the data of one kind of event. The set is closed: every kind is in
// the event files of this package, inventory.go names them all, and
// docs/reference/events.md lists them.
type Payload interface {
	// EventType is the type's name, for example "session.prompt.admitted".
	EventType() string
}
