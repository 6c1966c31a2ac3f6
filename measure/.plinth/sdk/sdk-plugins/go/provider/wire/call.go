package wire

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
)

// maxCallID is how long an id of a tool call may be, in bytes.
const maxCallID = 64

// CallID is the id of a tool call as protocols take it that allow letters, digits, _
// and - only: ids that another provider made may have others. What fits stays; two ids
// that do not fit stay two.
func CallID(id string) string {
	fits := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if id != "" && len(id) <= maxCallID && strings.IndexFunc(id, func(c rune) bool { return !fits(c) }) < 0 {
		return id
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id)) // never fails
	const kept = 40
	start := strings.Map(func(c rune) rune {
		if fits(c) {
			return c
		}
		return '_'
	}, id[:min(len(id), kept)])
	return start + "_" + strconv.FormatUint(sum.Sum64(), 16)
}

// ObjectInput is a call's arguments as an object, which is what some protocols insist
// on: arguments that a model wrote wrong are a text.
func ObjectInput(input json.RawMessage) json.RawMessage {
	switch {
	case len(input) == 0:
		return json.RawMessage(`{}`)
	case input[0] == '{':
		return input
	}
	return append(append([]byte(`{"value":`), input...), '}')
}
