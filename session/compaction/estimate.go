package compaction

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// What a medium counts, in tokens: providers charge them by size in pixels or pages,
// which nobody here looks at.
const (
	imageTokens    = 1_500
	documentTokens = 2_000
)

// tokens is what bytes of text count: a fourth, rounded up.
func tokens(bytes int) int64 { return int64(bytes+3) / 4 }

// size is the bytes of text and the tokens of media of something.
type size struct {
	bytes int
	media int64
}

func (s size) tokens() int64 { return tokens(s.bytes) + s.media }

// Request estimates the tokens of a whole request.
func Request(request session.ModelRequest) int64 {
	return fixed(request).plus(messages(request.Messages)).tokens()
}

// Fixed estimates what of a request is no history: system text and tools.
func Fixed(request session.ModelRequest) int64 { return fixed(request).tokens() }

// Messages estimates the tokens of messages.
func Messages(all []session.ModelMessage) int64 { return messages(all).tokens() }

// Since estimates a request that goes on from an answer: what was used for that and of
// it, and what the request has after it. ok is false when the answer is not in the
// request, or what it used is not known.
func Since(request session.ModelRequest, answer session.Message) (estimate int64, ok bool) {
	if answer.Usage == nil || answer.Usage.Input == 0 {
		return 0, false
	}
	for i, message := range request.Messages {
		if message.ID == answer.ID && message.Role == session.RoleAssistant {
			return answer.Usage.Input + answer.Usage.Output + Messages(request.Messages[i+1:]), true
		}
	}
	return 0, false
}

func (s size) plus(other size) size { return size{s.bytes + other.bytes, s.media + other.media} }

func fixed(request session.ModelRequest) (s size) {
	for _, part := range request.System {
		s.bytes += len(part.Text)
	}
	for _, tool := range request.Tools {
		s.bytes += len(tool.Name) + len(tool.Description) + len(tool.Input)
	}
	return s
}

func messages(all []session.ModelMessage) (s size) {
	for _, message := range all {
		for _, part := range message.Parts {
			s = s.plus(partSize(part))
		}
	}
	return s
}

func partSize(part session.ModelPart) size {
	if part.Type == session.PartMedia {
		return size{media: medium(part.Mime)}
	}
	return size{bytes: len(part.Text) + len(part.Call) + len(part.Name) + len(part.Input) + longer(part.Metadata, part.Result)}
}

// longer is the size of the longer one: what a provider signed holds what it answered.
func longer(a, b json.RawMessage) int { return max(len(a), len(b)) }

func medium(mime string) int64 {
	if strings.HasPrefix(mime, "image/") {
		return imageTokens
	}
	return documentTokens
}
