package wire

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// SystemUpdate marks up a change of the system context, for protocols that have no place
// for one in the middle of a conversation: it joins what the user said before it.
func SystemUpdate(text string) string {
	return "<system-update>\n" + escapeXML.Replace(text) + "\n</system-update>"
}

// Retold is a part of a tool that a provider ran, as text: the protocol has no such
// tools, and what the model knew then it must know still.
func Retold(part abi.Part) string {
	text := part.Text
	if text == "" {
		text = string(part.Result)
	}
	switch {
	case part.Type == abi.PartToolCall:
		return "[" + part.Name + ", a tool of the provider, was called with " + Arguments(part.Input) + "]"
	case part.Error:
		return "[" + part.Name + " failed: " + text + "]"
	case text == "":
		return "[" + part.Name + " answered nothing]"
	}
	return "[" + part.Name + " answered: " + text + "]"
}

// Arguments is a call's input, an empty object when it has none.
func Arguments(input json.RawMessage) string {
	if len(input) == 0 {
		return "{}"
	}
	return string(input)
}

// Mention names a file in a text.
func Mention(file abi.Part) string {
	if file.Name == "" {
		return "A file (" + file.Mime + ")"
	}
	return "The file " + file.Name + " (" + file.Mime + ")"
}

// Separate answers a message's parts of one type and its media; there may be no other.
func Separate(protocol string, m abi.Message, wanted string) (parts, media []abi.Part, err error) {
	for _, part := range m.Parts {
		switch part.Type {
		case wanted:
			parts = append(parts, part)
		case abi.PartMedia:
			media = append(media, part)
		default:
			return nil, nil, Unsupported(protocol, m, part, wanted+" and files")
		}
	}
	return parts, media, nil
}

// Joined is the text of parts.
func Joined(parts []abi.Part, separator string) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Text
	}
	return strings.Join(texts, separator)
}

// Unsupported refuses a part that a message of its role cannot hold.
func Unsupported(protocol string, m abi.Message, part abi.Part, supported string) error {
	return plinth.Errorf(abi.KindInvalidInput, "message %s: a %s message of role %s can hold %s; this one has a part of type %s", m.ID, protocol, m.Role, supported, part.Type)
}
