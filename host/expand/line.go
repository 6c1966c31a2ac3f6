package expand

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/host/shell"
	"github.com/plinthhost/plinth/session"
)

// printed bounds what is put into a text of what one command line prints, in bytes; its
// lines are bounded like those of any output.
const printed = 32 << 10

// result is what comes into the place of a command line.
type result struct {
	text   string
	failed string // why it was not run to its end, "" when it was
}

// lines runs the command lines among the pieces and puts what they print in their place.
// All are decided on before the first one runs.
func (x *expansion) lines(ctx context.Context, pieces []piece) error {
	refused := make([]string, len(pieces))
	for i, p := range pieces {
		if !p.line {
			continue
		}
		var err error
		if refused[i], err = x.authorise(ctx, p.text); err != nil {
			return err
		}
	}
	var text strings.Builder
	var shifts []shift
	before := 0
	for i, p := range pieces {
		if !p.line {
			text.WriteString(p.text)
			before += len(p.text)
			continue
		}
		ran := result{text: "[not run: " + clip(p.text, 200) + "]", failed: refused[i]}
		if refused[i] == "" {
			var err error
			if ran, err = x.run(ctx, p.text); err != nil {
				return err
			}
		}
		start := text.Len()
		text.WriteString(ran.text)
		before += len(p.text)
		shifts = append(shifts, shift{before, text.Len() - before})
		if ran.failed != "" {
			x.failedLine(p.text, ran, start)
		}
	}
	x.prompt.Text = text.String()
	x.move(shifts)
	return nil
}

// failedLine notes a command line that failed; start is where what it left begins.
func (x *expansion) failedLine(line string, ran result, start int) {
	source := &session.PromptSource{Start: start, End: start + len(ran.text), Text: ran.text}
	if ran.text == "" || len(ran.text) > maxNote {
		source = nil
	}
	x.prompt.Notes = append(x.prompt.Notes, session.PromptNote{Kind: kindShell, Failed: true, Source: source,
		Text: clip(readable("The command "+clip(line, 300)+" failed: "+ran.failed), maxNote)})
}

// shift says by how much a text moves that stood at or behind a place.
type shift struct{ from, by int }

// move brings the sources of what was mentioned to where it stands now. Those of command
// lines are there already.
func (x *expansion) move(shifts []shift) {
	moved := func(source *session.PromptSource) {
		if source == nil {
			return
		}
		by := 0
		for _, s := range shifts {
			if source.Start >= s.from {
				by = s.by
			}
		}
		source.Start += by
		source.End += by
	}
	seen := map[*session.PromptSource]bool{}
	once := func(source *session.PromptSource) {
		if !seen[source] {
			seen[source] = true
			moved(source)
		}
	}
	for i := range x.prompt.Files {
		once(x.prompt.Files[i].Source)
	}
	for i := range x.prompt.Agents {
		once(x.prompt.Agents[i].Source)
	}
	for i := range x.prompt.References {
		once(x.prompt.References[i].Source)
	}
	for i := range x.prompt.Notes {
		if x.prompt.Notes[i].Kind != kindShell {
			once(x.prompt.Notes[i].Source)
		}
	}
}

// authorise answers why a command line may not run, "" when it may.
func (x *expansion) authorise(ctx context.Context, line string) (string, error) {
	location := x.request.Session.Location
	parsed := shell.Parse(line, shell.Options{Directory: location.Directory, Home: x.Home, Shell: filepath.Base(x.Runner.Processes.Shell())})
	needs, err := parsed.Needs(line, location.Directory, location.Root)
	if err != nil {
		return "", fmt.Errorf("follow the paths of the command: %w", err)
	}
	var savable []string
	for _, folder := range needs.Folders {
		if session.Savable(path.Dir(folder)) != nil {
			savable = append(savable, folder)
		}
	}
	for _, request := range []session.PermissionRequest{
		{Action: actionExternal, Resources: needs.Folders, Save: savable},
		{Action: actionExternal, Resources: needs.Unnamed},
		{Action: actionBash, Resources: needs.Commands, Save: needs.Save},
	} {
		if len(request.Resources) == 0 {
			continue
		}
		err := x.ask(ctx, request)
		if reason, ok := refusal(err); ok {
			return reason, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// ask decides on a request: with a person where the prompt may ask one.
func (x *expansion) ask(ctx context.Context, request session.PermissionRequest) error {
	if x.request.Ask {
		return x.Rules.Authorise(ctx, x.asker, request)
	}
	effects, err := x.Rules.Effects(ctx, x.asker, "", request.Action, request.Resources)
	if err != nil {
		return err
	}
	for i, effect := range effects {
		switch effect {
		case session.Deny:
			return &session.DeniedError{Action: request.Action, Resource: request.Resources[i]}
		case session.Ask:
			return &session.DeniedError{Action: request.Action, Resource: request.Resources[i], Feedback: "it has to be asked for, and nobody is asked here"}
		}
	}
	return nil
}

// run runs a command line that is allowed.
func (x *expansion) run(ctx context.Context, line string) (result, error) {
	ran, err := x.Runner.run(ctx, x.request.Session.ID, x.request.Session.Location, line, x.LineTimeout)
	if ctx.Err() != nil {
		return result{}, context.Cause(ctx)
	}
	if err != nil {
		return result{text: "[not run: " + clip(line, 200) + "]", failed: err.Error()}, nil
	}
	bounded, _ := session.Bound(ctx, x.Outputs, x.request.Session.ID, session.OutputLimits{Bytes: printed},
		session.ToolOutput{Content: []session.ToolContent{{Type: "text", Text: strings.TrimRight(ran.Output, "\r\n")}}})
	text := bounded.Content[0].Text
	switch {
	case ran.Stopped != "":
		return result{text: text + " [" + ran.Stopped + "]", failed: ran.Stopped}, nil
	case ran.Exit != nil && *ran.Exit != 0:
		text += fmt.Sprintf(" [exit code %d]", *ran.Exit)
	}
	return result{text: text}, nil
}
