package servertest

import (
	"context"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// Expand knows no mention: it answers the prompt as it was sent.
func (m prompts) Expand(_ context.Context, _ server.Caller, session string, prompt protocol.Prompt) (protocol.Expansion, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(session); err != nil {
		return protocol.Expansion{}, err
	}
	return protocol.Expansion{Prompt: prompt.PromptBody, Expanded: []protocol.Expanded{}}, nil
}

type commands struct{ *Memory }

func (commands) List(context.Context, protocol.In) (protocol.CommandList, error) {
	return protocol.CommandList{Commands: []protocol.Command{{Name: "review", Source: "config"}}}, nil
}

type shells struct{ *Memory }

// Run ends every command at once; what it prints is the command in capitals.
func (m shells) Run(_ context.Context, caller server.Caller, session string, shell protocol.RunShell) (protocol.ShellRun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.find(session)
	if err != nil {
		return protocol.ShellRun{}, err
	}
	if shell.ID == "" {
		shell.ID = m.id("msg_")
	}
	m.append(session, caller.Actor, "session.shell.started", map[string]string{"message": shell.ID, "call": shell.ID, "command": shell.Command})
	exit := 0
	return protocol.ShellRun{ID: shell.ID, SessionID: session, Command: shell.Command, Ended: true, Output: strings.ToUpper(shell.Command), Exit: &exit, Cursor: m.head(r)}, nil
}

func (m shells) Wait(_ context.Context, session, id string) (protocol.ShellRun, error) {
	exit := 0
	return protocol.ShellRun{ID: id, SessionID: session, Ended: true, Exit: &exit}, nil
}

// skills is server.Skills: one, and another in each project.
type skills struct{ *Memory }

func (skills) List(_ context.Context, in protocol.In) (protocol.SkillList, error) {
	list := protocol.SkillList{Skills: []protocol.Skill{{Name: "notes", Description: "Writes notes", Directory: "/skills/notes"}}}
	if in.Directory != "" {
		list.Skills = append(list.Skills, protocol.Skill{Name: "other", Description: "Of the project", Directory: in.Directory + "/other"})
	}
	return list, nil
}
