package main

import (
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
)

// maxLines bounds what is shown of each end of a long output: the host shows the model
// 2,000 lines of any answer.
const maxLines = 900

// tell is what the model reads: the output, and behind a blank line how it ended.
func (in input) tell(ran abi.ProcessRan) string {
	text := shown(ran.Output)
	if text == "" {
		text = "(no output)"
	}
	return strings.TrimRight(text, "\n") + "\n\n" + strings.Join(in.status(ran), "\n")
}

// shown is the output, with a line in the place of what was left out.
func shown(output abi.ProcessOutput) string {
	if output.Omitted == 0 {
		return output.Head
	}
	head, tail := firstLines(output.Head), lastLines(output.Tail)
	left := output.Total - int64(len(head)+len(tail))
	notice := fmt.Sprintf("(%d of %d bytes are left out here", left, output.Total)
	if output.Path != "" {
		notice += "; the whole output is in " + output.Path
	}
	return strings.TrimRight(head, "\n") + "\n\n" + notice + ")\n\n" + tail
}

func firstLines(text string) string {
	end := 0
	for range maxLines {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return text
		}
		end += next + 1
	}
	return text[:end]
}

func lastLines(text string) string {
	start := len(strings.TrimSuffix(text, "\n"))
	for range maxLines {
		if start = strings.LastIndexByte(text[:start], '\n'); start < 0 {
			return text
		}
	}
	return text[start+1:]
}

// status are the lines on how it ended.
func (in input) status(ran abi.ProcessRan) []string {
	var lines []string
	switch {
	case ran.Stopped == "timeout" && in.timeout() < longestTimeout:
		lines = append(lines, fmt.Sprintf("The command was ended at its timeout of %d ms. If it needs longer, give a larger timeout_ms, up to %d.", in.timeout(), longestTimeout))
	case ran.Stopped == "timeout":
		lines = append(lines, fmt.Sprintf("The command was ended at its timeout of %d ms, the longest. Do less at a time.", in.timeout()))
	case ran.Stopped == "flood":
		lines = append(lines, "The command was ended because it printed too much. Print less, or into a file.")
	case ran.Stopped == "crowd":
		lines = append(lines, "The command was ended because it had too many processes at once.")
	case ran.Signal != "":
		lines = append(lines, "The command was ended by "+ran.Signal+".")
	default:
		lines = append(lines, fmt.Sprintf("Command exited with code %d.", ran.ExitCode))
	}
	switch {
	case ran.Background == 1:
		lines = append(lines, "It left 1 process in the background, which was ended.")
	case ran.Background > 1:
		lines = append(lines, fmt.Sprintf("It left %d processes in the background, which were ended.", ran.Background))
	}
	if met(ran, denied) {
		lines = append(lines, "The sandbox refuses writes outside of the project, temporary folders and caches. If the command needs another folder, ask the user to add it to process.sandbox_write.")
	}
	if ran.SandboxNote != "" && (met(ran, denied) || met(ran, cutOff)) {
		lines = append(lines, "Of the sandbox: "+ran.SandboxNote+".")
	}
	return lines
}

// denied and cutOff are what programs say of a file, or a connection, that is refused.
var (
	denied = []string{"ermission denied", "EACCES"}
	cutOff = []string{"onnect", "etwork", "dial tcp"}
)

// met reports whether the command may have met the sandbox, by what it says.
func met(ran abi.ProcessRan, words []string) bool {
	if ran.ExitCode == 0 || ran.Sandbox == "none" || ran.Sandbox == "" {
		return false
	}
	for _, one := range words {
		if strings.Contains(ran.Output.Head, one) || strings.Contains(ran.Output.Tail, one) {
			return true
		}
	}
	return false
}
