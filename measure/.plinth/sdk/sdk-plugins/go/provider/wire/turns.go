package wire

import (
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// Turn is what one side says until the other answers: for protocols in which the user
// and the assistant alternate, and results of tools are something the user says.
type Turn struct {
	// Role is user, assistant, or system for an update that stands for itself.
	Role  string
	Parts []TurnPart
}

// TurnPart is a part of a turn. Text is never blank, for no protocol takes that.
type TurnPart struct {
	abi.Part
	Message string     // the id of the message it is from
	From    string     // and its role
	Files   []abi.Part // of a tool_result: what it shows
	Mark    bool       // the provider should cache all up to here
}

// Turns groups a history into turns. In a user's turn the results of tools come first,
// which is where protocols want them, whatever was said between. With native an update
// of the system context is a turn of its own where that is possible: behind a user's
// turn, or one of the assistant that ends in a hosted tool, and with nothing or the
// assistant behind it. Elsewhere it is marked up and part of the user's turn. Parts for
// which drop is true are left out.
func Turns(protocol string, history []abi.Message, native bool, drop func(abi.Part) bool) ([]Turn, error) {
	var turns []Turn
	for _, m := range history {
		parts, err := partsOf(protocol, m, drop)
		if err != nil {
			return nil, err
		}
		role := m.Role
		if role == abi.RoleTool {
			role = abi.RoleUser
		}
		turns = appendTurn(turns, role, parts)
	}
	turns = placeUpdates(turns, native)
	for i := range turns {
		if turns[i].Role == abi.RoleUser {
			slices.SortStableFunc(turns[i].Parts, resultsFirst)
			if err := answered(turns[:i], turns[i]); err != nil {
				return nil, err
			}
		}
	}
	return turns, nil
}

func appendTurn(turns []Turn, role string, parts []TurnPart) []Turn {
	if len(parts) == 0 {
		return turns
	}
	if last := len(turns) - 1; last >= 0 && turns[last].Role == role {
		turns[last].Parts = append(turns[last].Parts, parts...)
		return turns
	}
	return append(turns, Turn{Role: role, Parts: parts})
}

// partsOf checks the parts of a message and leaves out blank text and what is to be
// dropped.
func partsOf(protocol string, m abi.Message, drop func(abi.Part) bool) (parts []TurnPart, err error) {
	for _, part := range m.Parts {
		switch {
		case !holds(m.Role, part):
			return nil, Unsupported(protocol, m, part, contents(m.Role))
		case part.Type == abi.PartText && strings.TrimSpace(part.Text) == "", drop(part):
			continue
		case part.Type == abi.PartMedia && m.Role == abi.RoleTool:
			at := slices.IndexFunc(parts, func(p TurnPart) bool { return p.Call == part.Call })
			if at < 0 {
				return nil, plinth.Errorf(abi.KindInvalidInput, "message %s has a file of the tool call %q without its result", m.ID, part.Call)
			}
			parts[at].Files = append(parts[at].Files, part)
			continue
		}
		parts = append(parts, TurnPart{Part: part, Message: m.ID, From: m.Role})
	}
	if contents(m.Role) == "" {
		return nil, plinth.Errorf(abi.KindInvalidInput, "message %s has the role %q; %s knows user, assistant, tool and system", m.ID, m.Role, protocol)
	}
	return parts, nil
}

// holds reports whether a message of the role can have the part.
func holds(role string, part abi.Part) bool {
	switch role {
	case abi.RoleUser:
		return part.Type == abi.PartText || part.Type == abi.PartMedia
	case abi.RoleTool:
		return part.Type == abi.PartToolResult || part.Type == abi.PartMedia
	case abi.RoleSystem:
		return part.Type == abi.PartText
	case abi.RoleAssistant:
		return part.Type == abi.PartText || part.Type == abi.PartReasoning || part.Type == abi.PartToolCall ||
			part.Type == abi.PartToolResult && part.Hosted
	}
	return true // the role itself is refused
}

// contents says what a message of the role can have; "" for a role that there is not.
func contents(role string) string {
	switch role {
	case abi.RoleUser:
		return "text and files"
	case abi.RoleTool:
		return "tool_result and files"
	case abi.RoleSystem:
		return "text"
	case abi.RoleAssistant:
		return "text, reasoning and tool calls"
	}
	return ""
}

// placeUpdates leaves the system's turns that may stand for themselves and has the
// user say the others.
func placeUpdates(turns []Turn, native bool) []Turn {
	var placed []Turn
	for i, turn := range turns {
		if turn.Role == abi.RoleSystem && !(native && follows(placed) && (i+1 == len(turns) || turns[i+1].Role == abi.RoleAssistant)) {
			turn = Turn{Role: abi.RoleUser, Parts: []TurnPart{marked(turn.Parts)}}
		}
		placed = appendTurn(placed, turn.Role, turn.Parts)
	}
	return placed
}

// follows reports whether a system's turn can come behind these.
func follows(turns []Turn) bool {
	if len(turns) == 0 {
		return false
	}
	last := turns[len(turns)-1]
	return last.Role == abi.RoleUser || last.Role == abi.RoleAssistant && last.Parts[len(last.Parts)-1].Hosted
}

// marked is an update as text of the user.
func marked(parts []TurnPart) TurnPart {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Text
	}
	out := parts[0]
	out.Text = SystemUpdate(strings.Join(texts, "\n"))
	return out
}

func resultsFirst(a, b TurnPart) int {
	switch first, second := a.Type == abi.PartToolResult, b.Type == abi.PartToolResult; {
	case first && !second:
		return -1
	case second && !first:
		return 1
	}
	return 0
}

// answered refuses an update that stands between a call and a result that does not
// come: there is no place behind the results to tell it.
func answered(before []Turn, turn Turn) error {
	update := slices.IndexFunc(turn.Parts, func(p TurnPart) bool { return p.From == abi.RoleSystem })
	if update < 0 || len(before) == 0 {
		return nil
	}
	for _, call := range before[len(before)-1].Parts {
		if call.Type != abi.PartToolCall || call.Hosted {
			continue
		}
		if !slices.ContainsFunc(turn.Parts, func(p TurnPart) bool { return p.Type == abi.PartToolResult && p.Call == call.Call }) {
			return plinth.Errorf(abi.KindInvalidInput, "message %s changes the system context behind the tool call %q of message %s, which has no result; tell the result first",
				turn.Parts[update].Message, call.Call, call.Message)
		}
	}
	return nil
}
