package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// contents writes the list of contents. The last one stays open, so that what belongs
// to it can still join.
type contents struct {
	dst     []byte
	role    string // of the content that is open; empty for none
	options options
	strict  bool // the model wants a signature with the first call of every answer
	calls   map[string]call
}

// call is what a result has to say of its call.
type call struct{ name, id string }

// unsigned stands for the signature of a call that another model made: by it Google's
// models know that there is none.
const unsigned = "skip_thought_signature_validator"

// The protocol's roles.
const (
	roleUser  = "user"
	roleModel = "model"
)

func appendContents(dst []byte, request abi.ModelRequest, o options) ([]byte, error) {
	c := &contents{dst: append(dst, '['), options: o, calls: map[string]call{}, strict: strings.Contains(request.Model, "gemini-3")}
	for _, m := range request.Messages {
		if err := c.add(m); err != nil {
			return nil, err
		}
	}
	c.flush()
	return append(c.dst, ']'), nil
}

func (c *contents) add(m abi.Message) error {
	switch m.Role {
	case abi.RoleUser:
		return c.user(m)
	case abi.RoleSystem:
		return c.update(m)
	case abi.RoleAssistant:
		return c.assistant(m)
	case abi.RoleTool:
		return c.results(m)
	}
	return plinth.Errorf(abi.KindInvalidInput, "message %s has the role %q; Gemini knows user, assistant, tool and system", m.ID, m.Role)
}

func (c *contents) flush() {
	if c.role != "" {
		c.dst = append(c.dst, ']', '}')
		c.role = ""
	}
}

func (c *contents) comma() {
	if c.dst[len(c.dst)-1] != '[' {
		c.dst = append(c.dst, ',')
	}
}

// open begins a content.
func (c *contents) open(role string) {
	c.flush()
	c.comma()
	c.role = role
	c.dst = append(append(append(c.dst, `{"role":"`...), role...), `","parts":[`...)
}

// part begins a part of the open content.
func (c *contents) part() {
	c.comma()
	c.dst = append(c.dst, '{')
}

func (c *contents) text(text string) {
	c.part()
	c.dst = append(jsonscan.AppendString(jsonscan.AppendField(c.dst, "text"), text), '}')
}

func (c *contents) file(file abi.Part) {
	c.part()
	c.dst = jsonscan.AppendString(append(c.dst, `"inlineData":{"mimeType":`...), file.Mime)
	c.dst = wire.AppendBlob(jsonscan.AppendField(c.dst, "data"), abi.BlobText{Blob: abi.Blob{Digest: file.Blob}, As: abi.BlobBase64})
	c.dst = append(c.dst, '}', '}')
}

func (c *contents) user(m abi.Message) error {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return err
	}
	c.open(roleUser)
	for _, part := range texts {
		c.text(part.Text)
	}
	for _, file := range files {
		if c.options.takes(file) {
			c.file(file)
		} else {
			c.text(wire.Unseen(file))
		}
	}
	return nil
}

// update tells a change of the system context at its place in time. The protocol has no
// such content, so it is marked up and joins what the user said before it.
func (c *contents) update(m abi.Message) error {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return wire.Unsupported(protocol, m, files[0], "text")
	}
	if c.role != roleUser {
		c.open(roleUser)
	}
	c.text(wire.SystemUpdate(wire.Joined(texts, "\n")))
	return nil
}

// results writes what tools answered, all of them in one content, and then what they
// show.
func (c *contents) results(m abi.Message) error {
	results, files, err := wire.Separate(protocol, m, abi.PartToolResult)
	if err != nil {
		return err
	}
	c.open(roleUser)
	for _, result := range results {
		called := c.calls[result.Call]
		if called.name == "" {
			called.name = result.Name
		}
		c.part()
		c.dst = append(c.dst, `"functionResponse":{`...)
		c.dst = jsonscan.AppendStringField(c.dst, "id", called.id)
		c.dst = jsonscan.AppendString(jsonscan.AppendField(c.dst, "name"), called.name)
		c.dst = append(jsonscan.AppendField(c.dst, "response"), '{')
		key := "output"
		if result.Error {
			key = "error"
		}
		c.dst = jsonscan.AppendString(jsonscan.AppendField(c.dst, key), result.Text)
		c.dst = append(c.dst, '}', '}', '}')
	}
	for _, file := range files {
		if c.options.takes(file) {
			c.text(wire.Mention(file) + ", from the tool call " + file.Call)
			c.file(file)
		}
	}
	return nil
}

// assistant writes an answer's parts in their order.
func (c *contents) assistant(m abi.Message) error {
	c.open(roleModel)
	first := true
	for _, part := range m.Parts {
		made, err := readMetadata(part.Metadata)
		if err != nil {
			return err
		}
		switch {
		case part.Hosted:
			c.hosted(part, made)
		case part.Type == abi.PartText:
			c.text(part.Text)
		case part.Type == abi.PartReasoning:
			c.thought(part, made)
		case part.Type == abi.PartToolCall:
			if first && c.strict && made.signature == "" {
				made.signature = unsigned
			}
			first = false
			c.call(part, made)
		default:
			return wire.Unsupported(protocol, m, part, "text, reasoning and tool calls")
		}
	}
	if c.dst[len(c.dst)-1] == '[' {
		c.text("") // there are no contents without parts
	}
	return nil
}

// thought writes a thought that is signed. What is not is a summary for people, which
// the model reads nothing from.
func (c *contents) thought(part abi.Part, made metadata) {
	if made.signature == "" {
		return
	}
	c.part()
	c.dst = jsonscan.AppendString(jsonscan.AppendField(c.dst, "text"), part.Text)
	if !made.text {
		c.dst = append(c.dst, `,"thought":true`...)
	}
	c.sign(made)
}

// sign ends a part, with its signature if it has one.
func (c *contents) sign(made metadata) {
	c.dst = append(jsonscan.AppendStringField(c.dst, "thoughtSignature", made.signature), '}')
}

func (c *contents) call(part abi.Part, made metadata) {
	c.calls[part.Call] = call{part.Name, made.id}
	c.part()
	c.dst = append(c.dst, `"functionCall":{`...)
	c.dst = jsonscan.AppendStringField(c.dst, "id", made.id)
	c.dst = jsonscan.AppendString(jsonscan.AppendField(c.dst, "name"), part.Name)
	c.dst = append(jsonscan.AppendRawField(c.dst, "args", object(part.Input)), '}')
	c.sign(made)
}

// object is a call's input as the protocol has it: an object, whatever it was.
func object(input json.RawMessage) []byte {
	switch {
	case len(input) == 0:
		return []byte("{}")
	case input[0] == '{':
		return input
	}
	return append(append([]byte(`{"value":`), input...), '}')
}

// hosted writes what Google ran as it was. What another provider ran is retold.
func (c *contents) hosted(part abi.Part, made metadata) {
	switch {
	case !made.code || part.Type == abi.PartToolResult && len(part.Result) == 0:
		c.text(wire.Retold(part))
	case part.Type == abi.PartToolResult:
		c.part()
		c.dst = append(jsonscan.AppendRawField(c.dst, "codeExecutionResult", part.Result), '}')
	default:
		c.part()
		c.dst = jsonscan.AppendRawField(c.dst, "executableCode", object(part.Input))
		c.sign(made)
	}
}
