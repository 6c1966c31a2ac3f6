package wire

import "strings"

// The functions below look for what providers write, in lower case.

func mentionsContentPolicy(text string) bool {
	return containsAny(text, "content_policy", "content-policy", "content policy", "content_filter", "safety")
}

func mentionsQuota(text string) bool {
	return strings.Contains(text, "quota") && containsAny(text, "insufficient", "exceeded")
}

// mentionsOverflow reports whether a text says that the request is longer than
// the model's window.
func mentionsOverflow(text string) bool {
	if containsAny(text, "rate limit", "too many requests") ||
		strings.HasPrefix(text, "throttling error:") || strings.HasPrefix(text, "service unavailable:") {
		return false
	}
	for _, pattern := range overflowPatterns {
		if matches(text, pattern) {
			return true
		}
	}
	return false
}

// overflowPatterns are pieces of text in their order: * stands for anything, # for
// digits.
var overflowPatterns = [...]string{
	"prompt is too long",
	"prompt too long",
	"input is too long for requested model",
	"exceeds the context window",
	"input token count*exceeds the maximum",
	"maximum prompt length is #",
	"reduce the length of the messages",
	"maximum context length is # tokens",
	"maximum context length of #",
	"maximum context length (#",
	"exceeds the limit of #",
	"exceeds the available context size",
	"greater than the context length",
	"context window exceeds limit",
	"exceeded model token limit",
	"context_length_exceeded",
	"model_context_window_exceeded",
	"request entity too large",
	"request_too_large",
	"context length is only # tokens",
	"input length*exceeds*context length",
	"exceeded context length",
	"exceeded max context length",
	"too large for model with # maximum context length",
	"tokens in request more than max tokens allowed",
	"exceeds maximum allowed input length of #",
	"longer than the model's context length",
	"prompt has # tokens, but the configured context size is #",
	"too many tokens",
	"token limit exceeded",
}

func matches(text, pattern string) bool {
	for piece := range strings.SplitSeq(pattern, "*") {
		after, found := find(text, piece)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// find answers what follows the first place where piece matches.
func find(text, piece string) (after string, found bool) {
	for from := range len(text) {
		if after, ok := cut(text[from:], piece); ok {
			return after, true
		}
	}
	return "", false
}

// cut matches piece at the very start of text.
func cut(text, piece string) (after string, ok bool) {
	literal, rest, digits := strings.Cut(piece, "#")
	after, ok = strings.CutPrefix(text, literal)
	if !ok || !digits {
		return after, ok
	}
	run := strings.TrimLeft(after, "0123456789,")
	if len(run) == len(after) {
		return "", false
	}
	return cut(run, rest)
}

func containsAny(text string, words ...string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
