package replay

import (
	"fmt"
	"strconv"
	"strings"
)

// Divergence is a guest that did something else than it did when it was recorded, so
// that there was nothing more to answer it from.
type Divergence struct {
	// Step counts all that the guest asked of its host from 1 on, logging apart; Start
	// says that it was the start of the instance that asked.
	Step  int
	Start bool
	// Want is what was recorded and Got what came; nil: nothing.
	Want, Got *Step
	// Left is how many recorded steps were not asked for, where Got is nil.
	Left int
}

func (e *Divergence) Error() string {
	where := fmt.Sprintf("step %d", e.Step)
	if e.Start {
		where += " of the start"
	}
	switch {
	case e.Got == nil:
		return fmt.Sprintf("replay diverges: the guest ended before %s: it was recorded to ask for %s%s", where, e.Want.describe(), more(e.Left-1))
	case e.Want == nil:
		return fmt.Sprintf("replay diverges at %s: the guest asks for %s; nothing more was recorded", where, e.Got.describe())
	}
	want, got := e.Want.Operation, e.Got.Operation
	if want == nil || got == nil || want.Name != got.Name {
		return fmt.Sprintf("replay diverges at %s: the guest asks for %s; it was recorded to ask for %s", where, e.Got.describe(), e.Want.describe())
	}
	what := "request"
	if string(want.Request) == string(got.Request) {
		what = "engine's answer"
		wanted, came := windows(want.Answer, got.Answer)
		return fmt.Sprintf("replay diverges at %s, %s: the %s is %s; recorded was %s", where, want.name(), what, came, wanted)
	}
	wanted, came := windows(want.Request, got.Request)
	return fmt.Sprintf("replay diverges at %s, %s: the %s is %s; recorded was %s", where, want.name(), what, came, wanted)
}

func more(count int) string {
	if count <= 0 {
		return ""
	}
	return fmt.Sprintf(", and for %d more", count)
}

// describe names a step in an error.
func (s *Step) describe() string {
	switch {
	case s.Realtime != nil:
		return "the time of day"
	case s.Monotonic != nil:
		return "the monotonic time"
	case s.Sleep != nil:
		return "a sleep of " + s.Sleep.Duration.String()
	case s.Operation != nil:
		shown, _ := windows(s.Operation.Request, s.Operation.Request)
		return s.Operation.name() + " " + shown
	}
	return fmt.Sprintf("%d random bytes", len(s.Random))
}

func (o *Operation) name() string {
	if o.Name == "" {
		return "an operation that the engine refuses"
	}
	return strconv.Quote(o.Name)
}

// shownBytes bounds how much of a value a text shows.
const shownBytes = 160

// windows shows two values from a little before where they part. A message is shown
// without its frame where that tells them apart.
func windows(want, got []byte) (shownWant, shownGot string) {
	a, b := readable(want), readable(got)
	if a == b {
		if string(want) != string(got) {
			a, b = strconv.Quote(string(want)), strconv.Quote(string(got))
		}
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := 0
	if same < max(len(a), len(b)) && max(len(a), len(b)) > shownBytes {
		from = max(0, same-shownBytes/3)
	}
	return window(a, from), window(b, from)
}

func readable(value []byte) string {
	if value == nil {
		return "nothing"
	}
	body, raw, ok := framed(value)
	switch {
	case !ok:
		return strconv.Quote(string(value))
	case len(raw) > 0:
		return fmt.Sprintf("%s and %d raw bytes", body, len(raw))
	}
	return string(body)
}

func window(text string, from int) string {
	from = min(from, len(text))
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if text = text[from:]; len(text) > shownBytes {
		text, after = text[:shownBytes], "…"
	}
	return before + strings.ToValidUTF8(text, "\uFFFD") + after
}
