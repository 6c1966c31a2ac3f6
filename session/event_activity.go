package session

// InterruptRequested: its sequence is the boundary; what asked for execution
// before it is suppressed.
type InterruptRequested struct {
	// Removal: the session is about to be removed.
	Removal bool `json:"removal,omitempty"`
}

// ResumeRequested: somebody asked for at least one provider turn.
type ResumeRequested struct{}

// ActivityStarted: the runner began to work on what opened it.
type ActivityStarted struct {
	Activity string `json:"activity"`
	Opener   Opener `json:"opener"`
}

// Opener is what an activity was opened by.
type Opener string

// The openers.
const (
	OpenedByPrompt Opener = "prompt"
	OpenedByResume Opener = "resume"
)

// ActivitySuspended: nobody works on the activity now, and it has not ended.
type ActivitySuspended struct {
	Activity string        `json:"activity"`
	Reason   SuspendReason `json:"reason"`
}

// SuspendReason is why an activity is suspended, and so what makes it go on.
type SuspendReason string

// The reasons. After a shutdown or a crash it goes on by itself; the others wait for a
// person: for the answer to what a call asked, or for the decision to go on at all.
const (
	SuspendedByShutdown SuspendReason = "shutdown"
	SuspendedByCrash    SuspendReason = "crash"
	SuspendedByAsk      SuspendReason = "ask"
	SuspendedByDoubt    SuspendReason = "doubt"
)

// ActivityRecovered: a suspended activity goes on.
type ActivityRecovered struct {
	Activity string `json:"activity"`
	// Attempt counts the crashes that it has survived.
	Attempt int `json:"attempt,omitempty"`
}

// ActivityEnded: the activity is over.
type ActivityEnded struct {
	Activity string   `json:"activity"`
	Outcome  Outcome  `json:"outcome"`
	Error    *Failure `json:"error,omitempty"`
}

// Outcome is how an activity ended.
type Outcome string

// The outcomes. Halted: a person declined.
const (
	Completed   Outcome = "completed"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Halted      Outcome = "halted"
)

// TurnStarted: a provider request is about to be made.
type TurnStarted struct {
	Activity string `json:"activity"`
	Turn     int    `json:"turn"`    // 1-based within the activity
	Step     int    `json:"step"`    // 1-based since the last prompt that was promoted
	Attempt  int    `json:"attempt"` // 1-based: a retry is the same turn's next attempt
	// Location is the directory the turn works in. A session that has moved on
	// refuses the turn.
	Location string   `json:"location"`
	Epoch    int64    `json:"epoch"` // sequence of the event that began the context epoch
	Agent    string   `json:"agent"`
	Model    ModelRef `json:"model"`
	Pins     []Pin    `json:"pins,omitempty"`
	// Digest is the SHA-256 of the neutral request, as hex.
	Digest string `json:"digest"`
}

// Pin is one plugin revision that a turn uses.
type Pin struct {
	Scope    string `json:"scope"`
	Location string `json:"location,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// RetryScheduled: the provider failed before any output, and the same turn is
// tried again.
type RetryScheduled struct {
	Activity string `json:"activity"`
	Turn     int    `json:"turn"`
	Attempt  int    `json:"attempt"` // the one that will be made, from 2
	// At is when, milliseconds since 1970 UTC.
	At    int64   `json:"at"`
	Error Failure `json:"error"`
}

// EventType names the kind.
func (InterruptRequested) EventType() string { return "session.interrupt.requested" }
func (ResumeRequested) EventType() string    { return "session.resume.requested" }
func (ActivityStarted) EventType() string    { return "session.activity.started" }
func (ActivitySuspended) EventType() string  { return "session.activity.suspended" }
func (ActivityRecovered) EventType() string  { return "session.activity.recovered" }
func (ActivityEnded) EventType() string      { return "session.activity.ended" }
func (TurnStarted) EventType() string        { return "session.turn.started" }
func (RetryScheduled) EventType() string     { return "session.retry.scheduled" }
