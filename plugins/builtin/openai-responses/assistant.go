package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// assistant writes an answer's items in their order; its texts are messages between
// the others.
func (in *input) assistant(m abi.Message) error {
	in.flush() // every answer has messages of its own
	for at := 0; at < len(m.Parts); at++ {
		part := m.Parts[at]
		switch {
		case part.Hosted:
			if err := in.hosted(part); err != nil {
				return err
			}
		case part.Type == abi.PartText:
			in.output(part.Text)
		case part.Type == abi.PartReasoning:
			last, err := in.reasoning(m.Parts, at)
			if err != nil {
				return err
			}
			at = last
		case part.Type == abi.PartToolCall:
			if err := in.call(part); err != nil {
				return err
			}
		default:
			return wire.Unsupported(protocol, m, part, "text, reasoning and tool calls")
		}
	}
	return nil
}

// output adds a text of the assistant's.
func (in *input) output(text string) {
	if in.role != abi.RoleAssistant {
		in.message(abi.RoleAssistant)
	}
	in.text(text)
}

func (in *input) call(part abi.Part) error {
	made, err := readMetadata(part.Metadata)
	if err != nil {
		return err
	}
	in.item()
	in.dst = append(in.dst, `{"type":"function_call"`...)
	in.dst = jsonscan.AppendStringField(in.dst, "id", made.item)
	in.dst = jsonscan.AppendString(jsonscan.AppendField(in.dst, "call_id"), part.Call)
	in.dst = jsonscan.AppendString(jsonscan.AppendField(in.dst, "name"), part.Name)
	in.dst = jsonscan.AppendString(jsonscan.AppendField(in.dst, "arguments"), wire.Arguments(part.Input))
	in.dst = append(in.dst, '}')
	return nil
}

// reasoning writes the item that the parts from first on were, and answers the place
// of its last. One that the provider keeps is named; any other must come back whole,
// which it is with its encrypted content only.
func (in *input) reasoning(parts []abi.Part, first int) (last int, err error) {
	made, err := readMetadata(parts[first].Metadata)
	if err != nil {
		return 0, err
	}
	encrypted := made.encrypted
	for last = first; last+1 < len(parts) && parts[last+1].Type == abi.PartReasoning; last++ {
		more, err := readMetadata(parts[last+1].Metadata)
		if err != nil {
			return 0, err
		}
		if more.item != made.item {
			break
		}
		if more.encrypted != "" {
			encrypted = more.encrypted
		}
	}
	switch {
	case made.item == "":
	case in.options.Store:
		in.reference(made.item)
	case encrypted != "":
		in.item()
		in.dst = jsonscan.AppendString(append(in.dst, `{"type":"reasoning","id":`...), made.item)
		in.dst = append(jsonscan.AppendField(in.dst, "summary"), '[')
		for _, part := range parts[first : last+1] {
			if part.Text != "" {
				in.comma()
				in.dst = append(jsonscan.AppendString(append(in.dst, `{"type":"summary_text","text":`...), part.Text), '}')
			}
		}
		in.dst = append(in.dst, ']')
		in.dst = append(jsonscan.AppendStringField(in.dst, "encrypted_content", encrypted), '}')
	}
	return last, nil
}

// hosted writes what a tool of the provider did. It is one item, which the result
// stands for: named where it is kept, else whole as it came. What another provider ran
// is retold.
func (in *input) hosted(part abi.Part) error {
	made, err := readMetadata(part.Metadata)
	if err != nil {
		return err
	}
	result := part.Type == abi.PartToolResult
	switch {
	case made.item == "", result && !in.options.Store && len(part.Result) == 0:
		in.output(wire.Retold(part))
	case !result:
	case in.options.Store:
		in.reference(made.item)
	default:
		in.item()
		in.dst = append(in.dst, part.Result...)
	}
	return nil
}

// reference names an item that the provider keeps.
func (in *input) reference(item string) {
	in.item()
	in.dst = append(jsonscan.AppendString(append(in.dst, `{"type":"item_reference","id":`...), item), '}')
}
