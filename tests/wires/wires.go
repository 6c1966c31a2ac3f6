// Package wires has a local server for every protocol that the builtin providers
// speak. All answer from the same script, in the real wire format, and refuse what the
// real servers refuse, so that one test holds for all of them.
package wires

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Script answers what to say to a request. It may be called by several goroutines at
// once.
type Script func(request Request) Turn

// Turn is one answer. Its reasoning is signed, or encrypted, where the protocol does
// that, with a text that [Request.Signatures] has when it comes back.
type Turn struct {
	Reasoning string
	Text      string
	Calls     []Call
	Usage     Usage
	Fault     Fault
}

// Call is a call of a tool.
type Call struct {
	ID        string // where the protocol has ids; made where it is empty
	Name      string
	Arguments string // a JSON object
}

// Usage counts tokens as the host does: Input holds what was cached, Output what was
// reasoned.
type Usage struct {
	Input     int64
	Output    int64
	Cached    int64
	Reasoning int64 // told by protocols that tell it
}

// Fault is what goes wrong with an answer. The zero Fault is none.
type Fault struct {
	// Kind other than "" is an answer that is no stream.
	Kind Kind
	// RetryAfter goes with RateLimit, in seconds.
	RetryAfter int
	// Cut drops the connection after so many frames, Garbage sends one that is none.
	// 0 is never.
	Cut     int
	Garbage int
}

// Kind is an answer other than 2xx, in the words of the protocol.
type Kind string

// Kinds of faults.
const (
	Overflow    Kind = "overflow"    // the request is longer than the window
	RateLimit   Kind = "rate limit"  // 429
	Quota       Kind = "quota"       // 429 that does not pass
	Key         Kind = "key"         // the key is wrong; the answer repeats it
	Unavailable Kind = "unavailable" // 503
	TooLarge    Kind = "too large"   // 413 with words that say nothing of tokens
)

// Request is one request in words that all protocols share.
type Request struct {
	Turn       int // how many answers of the model it has: 0 is the first
	Model      string
	System     string
	Messages   []Message
	Tools      []string
	Signatures []string // of the reasoning it has, in order
	Header     http.Header
	Path       string
	Body       json.RawMessage
	Received   time.Time
}

// Message is one message of the conversation.
type Message struct {
	Role    string // "user" or "assistant"
	Text    string // of all its text parts
	Calls   []Call
	Results []Result
	Images  []Image // its own and those of its results
}

// Result is what a tool answered.
type Result struct {
	Call string // its id, or the tool's name where there are no ids
	Text string
}

// Image is an image, in base64.
type Image struct{ Mime, Data string }

// Last is the last message.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Images are those of all messages.
func (r Request) Images() (images []Image) {
	for _, m := range r.Messages {
		images = append(images, m.Images...)
	}
	return images
}

// Turns answers by the turn's number in its conversation. A turn too many is an error
// 503.
func Turns(turns ...Turn) Script {
	return func(request Request) Turn {
		if request.Turn < len(turns) {
			return turns[request.Turn]
		}
		return Turn{Fault: Fault{Kind: Unavailable}}
	}
}

// signature is what signs the reasoning of a turn.
func signature(turn int) string { return "c2lnbmVk" + strconv.Itoa(turn) }

// id is a call's id.
func (c Call) id(request Request, at int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("call_%d_%d", request.Turn, at)
}

// pieces cuts text into parts of at most 8 characters.
func pieces(text string) (parts []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(8, len(runes))
		parts = append(parts, string(runes[:n]))
		runes = runes[n:]
	}
	return parts
}

// object is a JSON object.
type object = map[string]any

// add appends a message, or joins the last where that has the same role.
func (r *Request) add(role string, m Message) {
	m.Role = role
	if role == "assistant" && (len(r.Messages) == 0 || r.Last().Role != role) {
		r.Turn++
	}
	if len(r.Messages) == 0 || r.Last().Role != role {
		r.Messages = append(r.Messages, m)
		return
	}
	last := &r.Messages[len(r.Messages)-1]
	last.Text += m.Text
	last.Calls = append(last.Calls, m.Calls...)
	last.Results = append(last.Results, m.Results...)
	last.Images = append(last.Images, m.Images...)
}

// checkOrder refuses results without their call and calls without their results, which
// must come in the very next message.
func (r *Request) checkOrder() error {
	var open []string
	for i, m := range r.Messages {
		for _, result := range m.Results {
			at := 0
			for at < len(open) && open[at] != result.Call {
				at++
			}
			if at == len(open) {
				return fmt.Errorf("message %d answers no call %q before it", i, result.Call)
			}
			open = append(open[:at], open[at+1:]...)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: the calls %v before it have no result", i, open)
		}
		for _, call := range m.Calls {
			if call.Name == "" || !json.Valid([]byte(call.Arguments)) {
				return fmt.Errorf("message %d: a call needs a name and arguments: %+v", i, call)
			}
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %v at the end have no result", open)
	}
	return nil
}
