package wasm

import (
	"strings"
	"unicode"
)

const (
	stackMark = "\nwasm stack trace:\n"
	maxFrames = 32
	maxLine   = 256 // bytes of a frame, or of a reason
	maxPanic  = 1 << 10
)

// trapOf makes a TrapError of wazero's error.
func trapOf(err error) *TrapError {
	reason, _, _ := strings.Cut(err.Error(), stackMark)
	reason = strings.TrimPrefix(strings.TrimSuffix(reason, " (recovered by wazero)"), "wasm error: ")
	function, stack := frames(err)
	return &TrapError{Function: function, Reason: clean(reason, maxLine), Stack: stack}
}

// frames reads the guest's frames out of an error's text: wazero offers them in
// no other way. Names come from the module and are cleaned.
func frames(err error) (innermost, stack string) {
	_, trace, _ := strings.Cut(err.Error(), stackMark)
	var lines []string
	for line := range strings.Lines(trace) {
		// Instances have no name, so a guest's frame begins with the dot that
		// stands between module and function.
		name, ok := strings.CutPrefix(strings.TrimSpace(line), ".")
		if !ok {
			continue
		}
		if len(lines) == maxFrames {
			lines = append(lines, "...")
			break
		}
		lines = append(lines, clean(name, maxLine))
	}
	if len(lines) == 0 {
		return "", ""
	}
	return functionName(lines[0]), strings.Join(lines, "\n")
}

// functionName takes the signature off a frame like "(*T).run(i32,i32) i64": what
// begins with the last opening parenthesis before the results.
func functionName(frame string) string {
	if end := strings.LastIndex(frame, ") "); end >= 0 {
		frame = frame[:end]
	}
	if begin := strings.LastIndexByte(frame, '('); begin >= 0 {
		return frame[:begin]
	}
	return frame
}

// clean makes guest text fit for a log line: valid UTF-8 without control and
// direction characters, at most limit bytes.
func clean(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '\uFFFD'
		}
		return r
	}, text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
