package runner

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plinthhost/plinth/session"
)

// maxRepeats is the call that is asked about: the third of the same tool with the
// same input in a row.
const maxRepeats = 3

// repeats answers how many calls of the same tool with the same input came just
// before this one, in this answer and the ones before it since the last prompt.
func (t *turn) repeats(name string, input json.RawMessage) int {
	canonical, err := session.CanonicalJSON(input)
	if err != nil {
		return 0
	}
	same := func(otherName string, other json.RawMessage) bool {
		if otherName != name {
			return false
		}
		theirs, err := session.CanonicalJSON(other)
		return err == nil && bytes.Equal(canonical, theirs)
	}
	count := 0
	for _, call := range slices.Backward(t.called) {
		if !same(call.name, call.input) {
			return count
		}
		count++
	}
	for _, message := range slices.Backward(t.history) {
		if message.Type == session.MessageUser {
			break
		}
		for _, part := range slices.Backward(message.Parts) {
			if part.Tool == nil || part.Tool.Hosted {
				continue
			}
			if !same(part.Tool.Name, part.Tool.Input) {
				return count
			}
			if count++; count >= maxRepeats {
				return count
			}
		}
	}
	return count
}
