// Command bash is the plugin core/bash: the tool bash, which runs a command line on
// the user's machine. The host asks for permission, confines the command, shows its
// newest lines while it runs and ends what it leaves; this side tells the model how it
// went.
package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// Limits of a command's time, in ms.
const (
	usualTimeout   = 120_000
	longestTimeout = 600_000
)

// maxTitle bounds a title, in characters.
const maxTitle = 80

func init() {
	tool.Register("bash", run)
	plinth.Prepare(func() error { _, err := json.Marshal(result{}); return err })
}

func main() {}

// input is the tool's input. Workdir is the working directory when empty.
type input struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Workdir     string `json:"workdir"`
	TimeoutMS   *int64 `json:"timeout_ms"`
}

// result is the structured output.
type result struct {
	ExitCode    int    `json:"exit_code"` // -1 when a signal ended it
	Signal      string `json:"signal,omitempty"`
	Stopped     string `json:"stopped,omitempty"` // why the host ended it
	TimeoutMS   int64  `json:"timeout_ms"`
	DurationMS  int64  `json:"duration_ms"`
	Bytes       int64  `json:"bytes"`          // that it printed
	Truncated   bool   `json:"truncated"`      // not all of them are shown
	Path        string `json:"path,omitempty"` // of the file with all of them
	Background  int    `json:"background,omitempty"`
	Sandbox     string `json:"sandbox"`
	SandboxNote string `json:"sandbox_note,omitempty"`
}

func run(_ tool.Call, in input) (tool.Output, error) {
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	ran, err := host.Run(abi.ProcessRun{Command: in.Command, Path: abi.Path{Path: in.Workdir}, TimeoutMS: in.timeout()})
	if err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: in.tell(ran), Title: in.title(), Structured: result{
		ExitCode: ran.ExitCode, Signal: ran.Signal, Stopped: ran.Stopped, TimeoutMS: in.timeout(), DurationMS: ran.DurationMS,
		Bytes: ran.Output.Total, Truncated: ran.Output.Omitted > 0, Path: ran.Output.Path, Background: ran.Background,
		Sandbox: ran.Sandbox, SandboxNote: ran.SandboxNote,
	}}, nil
}

func (in input) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return plinth.Errorf(abi.KindInvalidInput, "command is empty; give a command line")
	case strings.ContainsRune(in.Command, 0):
		return plinth.Errorf(abi.KindInvalidInput, "command has a NUL character in it")
	case strings.ContainsRune(in.Workdir, 0):
		return plinth.Errorf(abi.KindInvalidInput, "workdir has a NUL character in it")
	case in.TimeoutMS != nil && (*in.TimeoutMS < 1 || *in.TimeoutMS > longestTimeout):
		return plinth.Errorf(abi.KindInvalidInput, "timeout_ms is %d; it is from 1 to %d", *in.TimeoutMS, longestTimeout)
	}
	return nil
}

func (in input) timeout() int64 {
	if in.TimeoutMS == nil {
		return usualTimeout
	}
	return *in.TimeoutMS
}

// title is what the model calls the command, or its first line.
func (in input) title() string {
	title := strings.TrimSpace(in.Description)
	if title == "" {
		title = strings.TrimSpace(in.Command)
	}
	title, _, _ = strings.Cut(title, "\n")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle]) + "…"
	}
	return title
}
