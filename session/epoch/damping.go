package epoch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/plinthhost/plinth/session"
)

// A source that goes back and forth would fill the history with what is no news.
const (
	// MaxFlips is how often in a row a source may return to the value before its last
	// change; then it is held.
	MaxFlips = 3
	// FlapHold is how long a source that flaps is held at what was told last, counted
	// from when that was.
	FlapHold = time.Minute
)

// Flapped reports whether a value that an update told begins a hold.
func Flapped(admitted session.Admitted) bool { return admitted.Flips >= MaxFlips }

func held(stored session.Admitted, now time.Time) bool {
	since := now.Sub(time.UnixMilli(stored.At))
	return Flapped(stored) && since >= 0 && since < FlapHold // a clock that was set back holds nothing
}

// advance is what is stored of a source whose change is told.
func advance(stored session.Admitted, o Observed, now time.Time) session.Admitted {
	next := admit(o)
	next.Bytes, next.At, next.Before = stored.Bytes, now.UnixMilli(), digest(stored.Value)
	if stored.Before == digest(o.Value) {
		next.Flips = stored.Flips + 1
	}
	return next
}

// digest names a value: the SHA-256 of its canonical JSON.
func digest(value json.RawMessage) string {
	canonical, err := session.CanonicalJSON(value)
	if err != nil {
		canonical = value // stored by something else; it is compared with nothing
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
