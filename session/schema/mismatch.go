package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Limits of what a *MismatchError says.
const (
	maxProblems     = 8
	maxProblemBytes = 300
)

// MismatchError is JSON that does not fit its schema.
type MismatchError struct {
	// Problems say what is expected, each as "/path/in/it: reason", sorted; what
	// concerns the whole has no path.
	Problems []string
	// More is how many were left out.
	More int
}

func (e *MismatchError) Error() string {
	text := strings.Join(e.Problems, "; ")
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more", e.More)
	}
	return text
}

// mismatch makes one line of every reason, in an order of its own: the library's
// changes from run to run.
func mismatch(err error) error {
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	problems := reasons(failed)
	slices.Sort(problems)
	problems = slices.Compact(problems)
	for i, problem := range problems {
		problems[i] = clip(problem)
	}
	shown := min(len(problems), maxProblems)
	return &MismatchError{Problems: problems[:shown], More: len(problems) - shown}
}

// reasons are the leaves of a validation error. Alternatives belong together: each
// alone would contradict the others.
func reasons(failed *jsonschema.ValidationError) []string {
	if len(failed.Causes) == 0 {
		return []string{located(failed, failed.BasicOutput().Error.String())}
	}
	_, any := failed.ErrorKind.(*kind.AnyOf)
	_, one := failed.ErrorKind.(*kind.OneOf)
	var all []string
	for _, cause := range failed.Causes {
		all = append(all, reasons(cause)...)
	}
	if any || one {
		slices.Sort(all)
		return []string{located(failed, "no alternative fits: "+strings.Join(slices.Compact(all), ", or "))}
	}
	return all
}

func located(failed *jsonschema.ValidationError, reason string) string {
	if at := failed.BasicOutput().InstanceLocation; at != "" {
		return at + ": " + reason
	}
	return reason
}

// clip shortens a problem to its limit and an ellipsis, between characters.
func clip(problem string) string {
	if len(problem) <= maxProblemBytes {
		return problem
	}
	return strings.ToValidUTF8(problem[:maxProblemBytes], "") + "…"
}
