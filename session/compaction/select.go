package compaction

import (
	"slices"

	"github.com/plinthhost/plinth/session"
)

// Choice is how a history is divided.
type Choice struct {
	// Previous is the summary so far; empty for none.
	Previous string
	// Head is what is folded into the summary, oldest first.
	Head []session.Message
	// Kept are messages older than Boundary that stay as they are.
	Kept []session.Message
	// Boundary is the sequence of the last message that is folded. What came after it
	// stays.
	Boundary int64
	// Folded is what Head and Previous count, in tokens.
	Folded int64
}

// Options are what a choice depends on.
type Options struct {
	// Answered is a sequence; prompts after it stay as they are.
	Answered int64
	// Boundary is that of the compaction before, -1 for none.
	Boundary int64
	// Keep is how many tokens of the newest messages stay, and Room how many there is
	// room for, with the prompts that stay. Those count against Room only.
	Keep, Room int64
	// Cost is what a model is sent of a message, in tokens.
	Cost func(session.Message) int64
}

// Choose divides what the model is sent of a session. The prompts that are not answered
// yet stay whole. Of the others the newest messages stay that fit, and at least the newest
// answer with its results where there is room: the model has not seen them yet. ok is
// false when nothing would be folded.
func Choose(history []session.Message, o Options) (c Choice, ok bool) {
	var recorded []session.Message
	for _, message := range history {
		if message.Type == session.MessageCompaction {
			c.Previous = message.Text
			c.Folded += o.Cost(message)
			continue
		}
		recorded = append(recorded, message)
	}
	stays := o.staying(recorded)
	for i, message := range recorded {
		if stays[i] {
			o.Room -= o.Cost(message)
		}
	}
	first := o.tail(recorded, stays)
	c.Boundary = o.Boundary
	for i, message := range recorded[:first] {
		if stays[i] {
			continue
		}
		c.Boundary = max(c.Boundary, message.Seq)
		c.Folded += o.Cost(message)
		c.Head = append(c.Head, message)
	}
	for i, message := range recorded {
		if (stays[i] || i >= first) && message.Seq <= c.Boundary && message.Type != session.MessageSystem {
			c.Kept = append(c.Kept, message)
		}
	}
	return c, len(c.Head) > 0
}

// staying marks the prompts that are not answered yet, and the newest one when what it
// says beside its text holds for what follows.
func (o Options) staying(history []session.Message) []bool {
	stays := make([]bool, len(history))
	newest := true
	for i, message := range slices.Backward(history) {
		if message.Type != session.MessageUser {
			continue
		}
		prompt := message.Prompt
		stays[i] = message.Seq > o.Answered ||
			newest && prompt != nil && (prompt.System != "" || len(prompt.Tools) > 0 || len(prompt.Format) > 0)
		newest = false
	}
	return stays
}

// tail answers where what stays begins.
func (o Options) tail(history []session.Message, stays []bool) int {
	first, sum, answers := len(history), int64(0), 0
	for i, message := range slices.Backward(history) {
		if !stays[i] {
			sum += o.Cost(message)
		}
		answer := message.Type == session.MessageAssistant
		if sum > o.Room || sum > o.Keep && (!answer || answers > 0) {
			break
		}
		if answer {
			answers++
		}
		first = i
	}
	return first
}
