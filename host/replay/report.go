package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/host/wasm"
)

// Outcome is what came of a call.
type Outcome struct {
	Output []byte
	Kind   string // of the error, as wasm.Kind has it; "" where there is an output
	Error  string // its text
	Log    []string
	Fuel   int64
	Memory uint32 // in bytes
}

// Difference is one field that is not as recorded.
type Difference struct {
	Field     string // output, error, log, fuel or memory
	Want, Got string // for people: where long values part
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: got %s, recorded %s", d.Field, d.Got, d.Want)
}

// Report is how a replay came out.
type Report struct {
	Want, Got Outcome
	// Err is what the replayed call ended with, as the engine has it; nil where it
	// gave an output.
	Err error
	// Exact: the replayed call had to repeat the recorded one to the unit of fuel. Why
	// says what stands against it; then fuel and memory are for information.
	Exact bool
	Why   string
	// Differences are the fields that had to be the same and are not.
	Differences []Difference
}

// Equal says that the call came out as recorded.
func (r Report) Equal() bool { return len(r.Differences) == 0 }

func (r Report) String() string {
	var text strings.Builder
	if r.Equal() {
		text.WriteString("as recorded")
	} else {
		text.WriteString("not as recorded")
	}
	for _, difference := range r.Differences {
		text.WriteString("\n  " + difference.String())
	}
	fmt.Fprintf(&text, "\n  fuel %d, recorded %d; memory %d, recorded %d", r.Got.Fuel, r.Want.Fuel, r.Got.Memory, r.Want.Memory)
	if !r.Exact {
		text.WriteString(" (for information: " + r.Why + ")")
	}
	return text.String()
}

// recorded is the outcome in a recording.
func recorded(r *Recording) Outcome {
	o := Outcome{Output: r.End.Output, Fuel: r.End.Fuel, Memory: r.End.Memory}
	if failure := r.End.Error; failure != nil {
		o.Kind, o.Error = failure.Kind, failure.Message
	}
	for _, step := range r.Steps {
		if step.Log != nil {
			o.Log = append(o.Log, *step.Log)
		}
	}
	return o
}

// compare fills in the differences. outside says that the recorded call was ended
// from outside: the replayed one ends at the same place, give or take what the guest
// does between two looks at the clock, so its fuel and its last lines may differ.
func (r *Report) compare(outside bool) {
	add := func(field, want, got string) {
		r.Differences = append(r.Differences, Difference{Field: field, Want: want, Got: got})
	}
	want, got := r.Want, r.Got
	if want.Kind != got.Kind || !outside && want.Error != got.Error {
		add("error", orNone(want.Error), orNone(got.Error))
	}
	if string(want.Output) != string(got.Output) {
		wanted, came := windows(want.Output, got.Output)
		add("output", wanted, came)
	}
	lines := got.Log
	if outside && len(lines) > len(want.Log) {
		lines = lines[:len(want.Log)]
	}
	if !slices.Equal(want.Log, lines) {
		wanted, came := windows([]byte(strings.Join(want.Log, "\n")), []byte(strings.Join(lines, "\n")))
		add("log", wanted, came)
	}
	if !r.Exact || outside {
		return
	}
	if want.Fuel != got.Fuel {
		add("fuel", fmt.Sprint(want.Fuel), fmt.Sprint(got.Fuel))
	}
	if want.Memory != got.Memory {
		add("memory", fmt.Sprint(want.Memory), fmt.Sprint(got.Memory))
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// outcome is what came of the replayed call.
func outcome(result wasm.Result, err error, lines []string) Outcome {
	o := Outcome{Output: result.Output, Kind: wasm.Kind(err), Log: lines, Fuel: result.Fuel, Memory: result.Memory}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}
