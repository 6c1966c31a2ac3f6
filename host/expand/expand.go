package expand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Rules decide what may be read and run. *session.Permissions is one.
type Rules interface {
	// Effects answers what would become of each resource, without asking anybody.
	Effects(ctx context.Context, asker session.Asker, plugin, action string, resources []string) ([]session.Effect, error)
	// Authorise asks a person where the rules say so, and waits.
	Authorise(ctx context.Context, asker session.Asker, request session.PermissionRequest) error
}

// Options are what an expander works with.
type Options struct {
	Rules  Rules
	Agents *session.Agents
	Blobs  store.Blobs
	// References and Commands by name; names differ.
	References []Reference
	Commands   []Command
	// Project answers the commands of a place; nil for none. One with the name of another
	// command is not used.
	Project func(location session.Location) []Command
	// Trusted reports whether the operator trusts the project of a root: only then do its
	// commands have command lines. Nil for none.
	Trusted func(root string) bool
	// FileType answers the media type of bytes by what they are, one of
	// session.PromptFileTypes, "" for none of them.
	FileType func(value []byte) string
	// Private folders are Plinth's own; they are never read.
	Private []string
	// Home is the user's home folder, "" when there is none.
	Home   string
	Runner *Runner
	// Outputs keep what command lines print too much of.
	Outputs session.OutputFiles
	// LineTimeout bounds one command line; 30 s when 0.
	LineTimeout time.Duration
}

// Expander expands prompts. It is safe for use by several goroutines.
type Expander struct{ o Options }

// New makes an expander.
func New(options Options) *Expander {
	if options.LineTimeout == 0 {
		options.LineTimeout = 30 * time.Second
	}
	return &Expander{options}
}

// Commands answers the commands of a place by name.
func (e *Expander) Commands(location session.Location) []Command {
	if e.o.Project == nil {
		return e.o.Commands
	}
	return Together(e.o.Commands, e.o.Project(location))
}

// Together answers commands by name, and of the others those with a name of their own.
func Together(commands, others []Command) []Command {
	all := slices.Clone(commands)
	for _, command := range others {
		if !slices.ContainsFunc(commands, func(known Command) bool { return known.Name == command.Name }) {
			all = append(all, command)
		}
	}
	slices.SortFunc(all, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Call is a command with what its caller gives it.
type Call struct {
	Name      string
	Arguments string
}

// Request is a prompt to expand.
type Request struct {
	Session session.Session
	// Message is the id that the prompt will have; what is asked for it names it.
	Message string
	// Prompt is what was sent. Of its files, those with a path and no blob are read. With
	// a Command it has no text.
	Prompt  session.Prompt
	Command *Call
	// Strict makes what cannot be expanded an error.
	Strict bool
	// Ask puts to a person what the rules do not allow by themselves. Otherwise that is
	// not run.
	Ask bool
}

// Expand answers the prompt to admit. Errors are session.ErrInvalid, those of the store and
// of the rules, and the cause of ctx.
func (e *Expander) Expand(ctx context.Context, request Request) (session.Prompt, error) {
	x := &expansion{Options: e.o, request: request, prompt: request.Prompt, files: map[string]bool{}}
	x.prompt.Files, x.prompt.Agents = nil, append([]session.PromptAgent(nil), request.Prompt.Agents...)
	x.prompt.References = append([]session.PromptRef(nil), request.Prompt.References...)
	x.prompt.Notes = append([]session.PromptNote(nil), request.Prompt.Notes...)
	pieces, err := e.pieces(request, &x.prompt)
	if err != nil {
		return session.Prompt{}, err
	}
	x.asker = session.Asker{Session: request.Session.ID, Agent: x.prompt.Agent, Message: request.Message, Call: session.CallPrompt, Location: request.Session.Location}
	if x.asker.Agent == "" {
		x.asker.Agent = request.Session.Agent
	}
	if err := x.sent(ctx); err != nil {
		return session.Prompt{}, err
	}
	if err := x.mentions(ctx, pieces); err != nil {
		return session.Prompt{}, err
	}
	if err := x.strict(); err != nil {
		return session.Prompt{}, err
	}
	if err := x.lines(ctx, pieces); err != nil {
		return session.Prompt{}, err
	}
	return x.prompt, x.strict()
}

// pieces are the parts of the text; a command sets what the prompt leaves open.
func (e *Expander) pieces(request Request, prompt *session.Prompt) ([]piece, error) {
	call := request.Command
	if call == nil {
		return []piece{{text: prompt.Text}}, nil
	}
	commands := e.Commands(request.Session.Location)
	at := slices.IndexFunc(commands, func(command Command) bool { return command.Name == call.Name })
	switch {
	case at < 0:
		return nil, fmt.Errorf("%w: command.name: there is no command %q; %s", session.ErrInvalid, clip(call.Name, 64), known(commands))
	case prompt.Text != "":
		return nil, fmt.Errorf("%w: text has no place beside a command; put it into command.arguments", session.ErrInvalid)
	case len(call.Arguments) > MaxArguments:
		return nil, fmt.Errorf("%w: command.arguments has %d bytes, the limit is %d", session.ErrInvalid, len(call.Arguments), MaxArguments)
	case strings.ContainsRune(call.Arguments, 0):
		return nil, fmt.Errorf("%w: command.arguments has a NUL", session.ErrInvalid)
	}
	command := commands[at]
	pieces, err := fill(command.Template, call.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%w: the template of %s %w", session.ErrInvalid, command.Name, err)
	}
	root := request.Session.Location.Root
	if command.Source == SourceProject && slices.ContainsFunc(pieces, func(p piece) bool { return p.line }) && (e.o.Trusted == nil || !e.o.Trusted(root)) {
		return nil, fmt.Errorf("%w: the command %s comes with the project and runs command lines, which nobody has trusted it with; look at it, then plinth plugin trust %s",
			session.ErrInvalid, command.Name, clip(root, 300))
	}
	return pieces, command.choose(prompt)
}

// choose makes the prompt choose what the command does, unless its sender has chosen.
func (c Command) choose(prompt *session.Prompt) error {
	if prompt.Agent == "" {
		prompt.Agent = c.Agent
	}
	if prompt.Model != nil || c.Model == "" {
		return nil
	}
	model, err := session.ParseModel(c.Model)
	if err != nil {
		return fmt.Errorf("the command %s: %w", c.Name, err)
	}
	prompt.Model = &model
	if prompt.Variant == "" {
		prompt.Variant = c.Variant
	}
	return nil
}

// Chosen is the prompt of a request with what its command chooses, before anything of it
// is expanded; ErrInvalid for a command that cannot be.
func (e *Expander) Chosen(request Request) (session.Prompt, error) {
	prompt := request.Prompt
	_, err := e.pieces(request, &prompt)
	return prompt, err
}

// known names the commands there are.
func known(commands []Command) string {
	if len(commands) == 0 {
		return "none are configured"
	}
	names := make([]string, len(commands))
	for i, command := range commands {
		names[i] = command.Name
	}
	return "known are " + strings.Join(names, ", ")
}

// expansion is one prompt on its way.
type expansion struct {
	Options
	request Request
	asker   session.Asker
	prompt  session.Prompt
	bytes   int64           // of the files that were read
	files   map[string]bool // what was read, by name
}

// sent takes the files that were sent, and reads those that are paths.
func (x *expansion) sent(ctx context.Context) error {
	for _, file := range x.request.Prompt.Files {
		if file.Path == "" || file.Blob != "" {
			x.prompt.Files = append(x.prompt.Files, file)
			continue
		}
		if err := x.file(ctx, newMention(file.Path, 0, len(file.Path), file.Path), nil); err != nil {
			return err
		}
	}
	return nil
}

// mentions takes over what the pieces mention. What a command line is or prints mentions
// nothing.
func (x *expansion) mentions(ctx context.Context, pieces []piece) error {
	var text, masked strings.Builder
	for _, p := range pieces {
		text.WriteString(p.text)
		if p.line {
			masked.WriteString(strings.Repeat(" ", len(p.text)))
		} else {
			masked.WriteString(p.text)
		}
	}
	x.prompt.Text = text.String()
	found := findMentions(masked.String(), session.MaxMentions+1)
	for i, m := range found {
		if i >= session.MaxMentions {
			return fmt.Errorf("%w: %s is mention %d of the text, the limit is %d; mention fewer, or write \\@ for an @ that mentions nothing",
				session.ErrInvalid, clip(m.text, 200), i+1, session.MaxMentions)
		}
		if err := x.mention(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// mention takes over one: an agent, a reference or a file, whichever has the name first.
func (x *expansion) mention(ctx context.Context, m mention) error {
	source := &session.PromptSource{Start: m.start, End: m.end, Text: m.text}
	if !m.quoted && m.lines.all() {
		if agent, ok := x.Agents.At(x.request.Session.Location).Agent(m.name); ok && agent.Mode != session.AgentHidden {
			return x.agent(ctx, agent, m, source)
		}
		for _, reference := range x.References {
			if reference.Name == m.name {
				return x.reference(ctx, reference, m, source)
			}
		}
	}
	return x.file(ctx, m, source)
}

// agent mentions an agent that the model may give a task.
func (x *expansion) agent(ctx context.Context, agent session.Agent, m mention, source *session.PromptSource) error {
	for _, known := range x.prompt.Agents {
		if known.Name == agent.Name {
			return nil
		}
	}
	if !agent.Delegable() {
		x.fail(kindAgent, m.text, fmt.Sprintf("the agent %s takes no tasks, for its mode is %s", agent.Name, agent.Mode), source)
		return nil
	}
	effect, err := x.effect(ctx, actionTask, agent.Name)
	if err != nil {
		return err
	}
	if effect == session.Deny {
		x.fail(kindAgent, m.text, fmt.Sprintf("the agent %s cannot be given a task here: task on %s is denied by the permission rules", agent.Name, agent.Name), source)
		return nil
	}
	x.prompt.Agents = append(x.prompt.Agents, session.PromptAgent{Name: agent.Name, Source: source})
	return nil
}

func (x *expansion) effect(ctx context.Context, action, resource string) (session.Effect, error) {
	effects, err := x.Rules.Effects(ctx, x.asker, "", action, []string{resource})
	if err != nil {
		return "", err
	}
	return effects[0], nil
}

// Kinds of what is mentioned.
const (
	kindMention   = "mention"
	kindFile      = "file"
	kindAgent     = "agent"
	kindReference = "reference"
	kindShell     = "shell"
)

// maxNote bounds a note, in bytes; session has the same limit for what is sent.
const maxNote = 2000

// fail notes what could not be expanded.
func (x *expansion) fail(kind, what, reason string, source *session.PromptSource) {
	x.prompt.Notes = append(x.prompt.Notes, session.PromptNote{Kind: kind, Failed: true, Source: source,
		Text: clip(readable(clip(what, 300)+" could not be used: "+reason), maxNote)})
}

// note says something about what was expanded.
func (x *expansion) note(kind, text string, source *session.PromptSource) {
	x.prompt.Notes = append(x.prompt.Notes, session.PromptNote{Kind: kind, Source: source, Text: clip(readable(text), maxNote)})
}

// strict refuses what could not be expanded, where the sender wants that.
func (x *expansion) strict() error {
	if !x.request.Strict {
		return nil
	}
	var failed []string
	for _, note := range x.prompt.Notes {
		if note.Failed {
			failed = append(failed, note.Text)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%w: nothing was admitted: %s", session.ErrInvalid, strings.Join(failed, "; "))
}

// denied is the reason of a rule that does not allow something.
func denied(effect session.Effect, action, resource string) string {
	if effect == session.Ask {
		return fmt.Sprintf("%s on %s would have to be asked for, and a mention asks nobody; allow it in the permission rules, or attach the file", action, resource)
	}
	return (&session.DeniedError{Action: action, Resource: resource}).Error()
}

// refusal is the text of an error that is no failure of the host: a rule or a person said no.
func refusal(err error) (string, bool) {
	if refused, ok := errors.AsType[*session.DeniedError](err); ok {
		return refused.Error(), true
	}
	return "", false
}
