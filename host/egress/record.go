package egress

import "time"

// Record says what became of one request on the wire, or of one that was refused
// before. It holds no query, no header and no content; secrets are taken out.
type Record struct {
	Time     time.Time
	Origin   string // "" when the URL was not one
	Method   string
	Path     string
	Handles  []string // of the secrets that went along
	Hop      int      // 0 for the request, 1 for what the first redirect led to
	Status   int      // 0 when there was no answer
	Sent     int64    // bytes of the body
	Received int64    // bytes of the body as they came
	Duration time.Duration
	Outcome  string // one of those below, or the Kind of the error
}

// The outcomes beside the kinds of errors.
const (
	OutcomeOK        = "ok"
	OutcomeCancelled = "cancelled"
	OutcomeDenied    = "denied" // by who was asked
)
