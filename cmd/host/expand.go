package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// expander makes what expands prompts.
func (a *app) expander(runner *expand.Runner) *expand.Expander {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return expand.New(expand.Options{
		Rules: a.permissions, Agents: a.agents, Blobs: a.store.Blobs(), References: a.config.References, Commands: a.commands(), Project: a.projectCommands(), Trusted: a.trusts,
		FileType: protocol.FileType, Private: []string{a.config.Data}, Home: home, Runner: runner, Outputs: a.outputs,
	})
}

// trusts reports whether the operator trusts the project of a root.
func (a *app) trusts(root string) bool { return slices.Contains(a.plugins.Trusted(), root) }

// tellReferences contributes the context source of the references; false where there are
// none to tell of.
func (a *app) tellReferences() (plugin.Native, bool) {
	guidance, ok := expand.NewGuidance(a.config.References)
	if !ok {
		return plugin.Native{}, false
	}
	return plugin.Native{ID: referencesPlugin, Version: "1.0.0", Description: "Tells which references there are to mention",
		Contributions: []registry.Contribution{a.kinds.Contexts.Contribute(expand.GuidanceKey, orderReferences, guidance)}}, true
}

// expands reports a prompt that becomes another one before it is admitted. One that
// mentions nothing is the same prompt with expand and without.
func expands(prompt protocol.Prompt) bool {
	unread := func(file protocol.File) bool { return file.Path != "" && file.Blob == "" }
	return prompt.Command != nil || prompt.Expand && (expand.Mentions(prompt.Text) || slices.ContainsFunc(prompt.Files, unread))
}

// admitExpanded expands the prompt and admits what it becomes. It is done once: of two
// requests with one id at a time the second waits for the first, and a prompt that was
// admitted answers its receipt.
func (b *backend) admitExpanded(ctx context.Context, caller server.Caller, request session.PromptRequest, prompt protocol.Prompt) (session.Input, error) {
	if request.ID == "" {
		request.ID = b.ids.New(session.PrefixMessage)
	}
	sent, err := json.Marshal(struct {
		Command *protocol.CommandCall `json:"command,omitempty"`
		Prompt  protocol.PromptBody   `json:"prompt"`
	}{prompt.Command, prompt.PromptBody})
	if err != nil {
		return session.Input{}, fmt.Errorf("digest the prompt: %w", err)
	}
	request.Sent = sent
	over, err := b.keys.enter(ctx, "expand/"+request.ID)
	if err != nil {
		return session.Input{}, err
	}
	defer over()
	ask := expandRequest(request.Prompt, prompt)
	ask.Message, ask.Ask = request.ID, true
	current, getErr := b.sessions.Get(ctx, request.Session)
	ask.Session = current
	chosen, chooseErr := b.expander.Chosen(ask)
	if chooseErr == nil {
		request.Prompt = chosen
	}
	input, known, err := b.sessions.Retry(ctx, origin(caller), request)
	if known || err != nil {
		return input, err
	}
	if chooseErr != nil {
		return session.Input{}, chooseErr
	}
	if getErr != nil {
		return session.Input{}, getErr
	}
	if request.Prompt, err = b.expander.Expand(ctx, ask); err != nil {
		return session.Input{}, err
	}
	return b.sessions.Admit(ctx, origin(caller), request)
}

func expandRequest(body session.Prompt, prompt protocol.Prompt) expand.Request {
	request := expand.Request{Prompt: body, Strict: prompt.Strict}
	if prompt.Command != nil {
		request.Command = &expand.Call{Name: prompt.Command.Name, Arguments: prompt.Command.Arguments}
	}
	return request
}

// Expand answers what a prompt would be. It asks nobody, so it runs what is allowed.
func (b promptService) Expand(ctx context.Context, _ server.Caller, id string, prompt protocol.Prompt) (protocol.Expansion, error) {
	current, err := b.sessions.Get(ctx, id)
	if err != nil {
		return protocol.Expansion{}, wireError(err)
	}
	request := expandRequest(kernelPrompt(prompt.PromptBody), prompt)
	request.Session = current
	expanded, err := b.expander.Expand(ctx, request)
	if err != nil {
		return protocol.Expansion{}, wireError(err)
	}
	return protocol.Expansion{Prompt: wirePrompt(expanded), Expanded: wireExpanded(expanded)}, nil
}

// wireExpanded tells what became of the text of a prompt, in its order. It depends on the
// prompt alone, so a retry is answered with the same.
func wireExpanded(prompt session.Prompt) []protocol.Expanded {
	all := []protocol.Expanded{}
	for _, file := range prompt.Files {
		if file.Path == "" {
			continue // it was sent as it is
		}
		kind := "file"
		switch {
		case strings.HasSuffix(file.Path, "/"):
			kind = "directory"
		case file.Mime != protocol.MimeText:
			kind = "media"
		}
		all = append(all, protocol.Expanded{Kind: kind, Name: file.Name, Source: wireSource(file.Source)})
	}
	for _, agent := range prompt.Agents {
		all = append(all, protocol.Expanded{Kind: "agent", Name: agent.Name, Source: wireSource(agent.Source)})
	}
	for _, reference := range prompt.References {
		all = append(all, protocol.Expanded{Kind: "reference", Name: reference.Name, Source: wireSource(reference.Source)})
	}
	for _, note := range prompt.Notes {
		told := protocol.Expanded{Kind: note.Kind, Source: wireSource(note.Source)}
		if note.Failed {
			told.Error = note.Text
		} else {
			told.Note = note.Text
		}
		all = append(all, told)
	}
	slices.SortStableFunc(all, func(a, b protocol.Expanded) int { return cmp.Compare(place(a.Source), place(b.Source)) })
	return all
}

// place is where something stands in the text; what stands nowhere comes first.
func place(source *protocol.Source) int {
	if source == nil {
		return -1
	}
	return source.Start
}

// commandService is server.Commands.
type commandService struct{ *backend }

// List answers the commands by name.
func (b commandService) List(ctx context.Context, in protocol.In) (protocol.CommandList, error) {
	location, err := b.place(ctx, in)
	if err != nil {
		return protocol.CommandList{}, wireError(err)
	}
	var list protocol.CommandList
	if b.files.project != nil {
		_, wrong := b.files.project.Commands(location)
		list.Warnings = warnings(wrong)
	}
	for _, command := range b.expander.Commands(location) {
		wire := protocol.Command{Name: command.Name, Source: command.Source, Description: command.Description, Agent: command.Agent}
		if command.Model != "" {
			model, err := session.ParseModel(command.Model)
			if err != nil {
				return protocol.CommandList{}, wireError(err)
			}
			model.Variant = command.Variant
			wire.Model = wireModel(model)
		}
		list.Commands = append(list.Commands, wire)
	}
	return list, nil
}
