// Command new-plugin is a plugin with one provider: it speaks the protocol of a model's
// server. The one here is made up; the server answers lines of JSON:
//
//	{"text": "Hel"}
//	{"call": {"id": "c1", "name": "read", "arguments": {"path": "a.txt"}}}
//	{"done": {"reason": "stop", "input": 12, "output": 3}}
//	{"error": "out of memory"}
//
// A provider is a pure codec. The host makes the connection to the operator's base URL, puts
// the secret in, cuts the answer into frames, here lines, and tries again where Classify says so.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
)

// A module runs package initialisation and never main, so the codec is registered here.
func init() { provider.Register("new-plugin", codec{}) }

func main() {}

type codec struct{}

// chat is the body of a request.
type chat struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	Tools     []offered `json:"tools,omitempty"`
	MaxTokens *int64    `json:"max_tokens,omitempty"`
}

type message struct {
	Role  string `json:"role"` // system, user, assistant or tool
	Text  string `json:"text,omitempty"`
	Calls []call `json:"calls,omitempty"`
	// Call is the id of the call that a message of role tool answers.
	Call string `json:"call,omitempty"`
}

type call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type offered struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
}

// Encode makes the HTTP request. Its path is below the operator's base URL.
func (codec) Encode(request abi.ModelRequest) (abi.ProviderEncoded, error) {
	body := chat{Model: request.Model, MaxTokens: request.Generation.MaxTokens}
	for _, part := range request.System {
		body.Messages = append(body.Messages, message{Role: abi.RoleSystem, Text: part.Text})
	}
	for _, said := range request.Messages {
		body.Messages = append(body.Messages, messages(said)...)
	}
	if request.ToolChoice != "none" {
		for _, tool := range request.Tools {
			body.Tools = append(body.Tools, offered{Name: tool.Name, Description: tool.Description, Input: tool.Input})
		}
	}
	encoded, err := json.Marshal(body)
	return abi.ProviderEncoded{
		Method: "POST", Path: "chat", Headers: map[string]string{"content-type": "application/json"}, Body: encoded,
	}, err
}

// messages says a message in the server's words. Each result of a tool is one of its own.
// Reasoning and files are left out: this protocol has nothing for them.
func messages(said abi.Message) (told []message) {
	one := message{Role: said.Role}
	for _, part := range said.Parts {
		switch part.Type {
		case abi.PartText:
			one.Text += part.Text
		case abi.PartToolCall:
			one.Calls = append(one.Calls, call{ID: part.Call, Name: part.Name, Arguments: part.Input})
		case abi.PartToolResult:
			text := part.Text
			if part.Error {
				text = "error: " + text
			}
			told = append(told, message{Role: abi.RoleTool, Call: part.Call, Text: text})
		}
	}
	if one.Text != "" || one.Calls != nil {
		told = append([]message{one}, told...)
	}
	return told
}

// line is one line of an answer.
type line struct {
	Text string `json:"text"`
	Call *call  `json:"call"`
	Done *struct {
		Reason string `json:"reason"`
		Input  int64  `json:"input"`
		Output int64  `json:"output"`
	} `json:"done"`
	Error string `json:"error"`
}

// Decode reads lines of an answer. A stream is decoded in several calls, each of which
// begins with the same memory: what must be known from one to the next is the state. Here
// every line stands for itself, so there is none.
func (codec) Decode(_ []byte, frames []abi.Frame, _ bool, events *provider.Events) ([]byte, error) {
	for _, frame := range frames {
		var l line
		if err := json.Unmarshal([]byte(frame.Data), &l); err != nil {
			return nil, plinth.Errorf(abi.KindFailed, "a line of the answer is no JSON: %v", err)
		}
		if l.Text != "" {
			events.Text("text", l.Text)
		}
		if l.Call != nil {
			events.ToolStart(l.Call.ID, l.Call.Name)
			events.ToolInput(l.Call.ID, string(l.Call.Arguments))
			events.ToolEnd(l.Call.ID)
		}
		if l.Error != "" {
			events.Fail(abi.ProviderError{Classification: abi.ClassInternal, Message: l.Error})
		}
		if l.Done != nil {
			events.Usage(abi.Usage{Input: l.Done.Input, Output: l.Done.Output})
			events.Finish(l.Done.Reason) // stop, length, tool_calls, content_filter or unknown
		}
	}
	return nil, nil
}

// Classify explains an answer whose status is not 2xx.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	told := abi.ProviderError{Classification: abi.ClassUnknown, Message: response.Body}
	switch {
	case response.Status == 400:
		told.Classification = abi.ClassInvalidRequest
	case response.Status == 401 || response.Status == 403:
		told.Classification = abi.ClassAuthentication
	case response.Status == 429:
		told.Classification, told.Retryable = abi.ClassRateLimit, true
	case response.Status >= 500:
		told.Classification, told.Retryable = abi.ClassOverloaded, true
	}
	return told
}
