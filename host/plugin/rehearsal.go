package plugin

import (
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/host/trust"
)

// Rehearsal is what a new version of a plugin does otherwise than the one that serves,
// with what a session has recorded.
type Rehearsal struct {
	Plugin   string
	Location string // a project's root; empty for the global level
	Session  string
	Serving  Rehearsed
	New      Rehearsed
	Turns    int // that were rehearsed
	Manifest trust.Change
	// Withheld are the keys of what the new version asks for and is not approved. It was
	// refused them, as it would be without an approval.
	Withheld []string
	// Checks count what was compared, by kind, in the order of the kinds.
	Checks []Check
	// Findings are the comparisons that came out differently, MaxFindings at most; Omitted
	// counts those beyond.
	Findings []Finding
	Omitted  int
}

// Rehearsed is a version that was rehearsed.
type Rehearsed struct {
	Version, Digest, Revision string
}

// Same reports that no difference was found.
func (r Rehearsal) Same() bool { return len(r.Manifest.Entries) == 0 && len(r.Findings) == 0 }

// CheckKind is what a check compares.
type CheckKind string

// The kinds, in their order.
const (
	CheckContext   CheckKind = "context"   // what a source answers to one observation
	CheckTransform CheckKind = "transform" // the edits of a request
	CheckEncode    CheckKind = "encode"    // the request that a codec makes
	CheckClassify  CheckKind = "classify"  // what a codec makes of an error's status
	CheckDecode    CheckKind = "decode"    // the recorded calls of a codec's decoder
	CheckTool      CheckKind = "tool"      // the recorded calls of a tool against its schema
)

// CheckKinds lists the kinds in their order.
func CheckKinds() []CheckKind {
	return []CheckKind{CheckContext, CheckTransform, CheckEncode, CheckClassify, CheckDecode, CheckTool}
}

// Check counts the comparisons of a kind.
type Check struct {
	Kind             CheckKind
	Compared, Differ int
	// Note says why nothing was compared, or less than there is; "" where nothing is to say.
	Note string
}

// Finding is a comparison that came out differently.
type Finding struct {
	Kind CheckKind
	Name string // of the transform, source, provider or tool
	// On is what both were given: a message of the session, a call, an HTTP status or a
	// recording; "" for the session as it is now.
	On string
	// Changes are where the answers part, at most 20. Old is what the serving version
	// answers.
	Changes []RehearsedChange
}

// RehearsedChange is one place where two answers part. Long values are shown from there.
type RehearsedChange struct {
	Path     string
	Old, New string
}

func (f Finding) String() string {
	text := string(f.Kind) + " " + f.Name
	if f.On != "" {
		text += " on " + f.On
	}
	return text
}

func (c RehearsedChange) String() string {
	path := c.Path
	if path == "" {
		path = "(all of it)"
	}
	return fmt.Sprintf("%s: was %s, would be %s", path, c.Old, c.New)
}

// MaxFindings bounds how many findings a rehearsal tells.
const MaxFindings = 100

// compared counts a comparison, and keeps it when it came out differently.
func (r *Rehearsal) compared(finding Finding) {
	at := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Kind == finding.Kind })
	if at < 0 {
		at = len(r.Checks)
		r.Checks = append(r.Checks, Check{Kind: finding.Kind})
	}
	check := &r.Checks[at]
	check.Compared++
	if len(finding.Changes) == 0 {
		return
	}
	check.Differ++
	if len(r.Findings) == MaxFindings {
		r.Omitted++
		return
	}
	r.Findings = append(r.Findings, finding)
}

// note says something of a kind.
func (r *Rehearsal) note(kind CheckKind, text string) {
	at := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Kind == kind })
	if at < 0 {
		at = len(r.Checks)
		r.Checks = append(r.Checks, Check{Kind: kind})
	}
	r.Checks[at].Note = text
}

// changesOf are the differences as a rehearsal tells them.
func changesOf(differences []Difference) []RehearsedChange {
	changes := make([]RehearsedChange, len(differences))
	for i, difference := range differences {
		would, was := difference.Shown()
		changes[i] = RehearsedChange{Path: difference.Path, Old: was, New: would}
	}
	return changes
}
