package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// onAsk is what a run does with a permission nothing allows beforehand, and with a
// question.
type onAsk string

const (
	askPerson onAsk = "ask"  // at the terminal
	askDeny   onAsk = "deny" // tell the model that nobody can be asked, and go on; a question ends the run
	askFail   onAsk = "fail" // end the run
)

func parseOnAsk(text string, interactive bool) (onAsk, error) {
	switch mode := onAsk(text); mode {
	case "":
		if interactive {
			return askPerson, nil
		}
		return askDeny, nil
	case askPerson:
		if !interactive {
			return "", errors.New("--on-ask ask needs a terminal to ask at; use deny or fail")
		}
		return mode, nil
	case askDeny, askFail:
		return mode, nil
	}
	return "", fmt.Errorf("--on-ask is %q; it must be ask, deny or fail", text)
}

// parseAllow reads ACTION or ACTION:RESOURCE, both patterns.
func parseAllow(texts []string) ([]session.Rule, error) {
	var rules []session.Rule
	for _, text := range texts {
		action, resource, ok := strings.Cut(text, ":")
		if !ok {
			resource = "*"
		}
		if action == "" || resource == "" {
			return nil, fmt.Errorf("--allow is %q; write ACTION or ACTION:RESOURCE, for example read:*.env", text)
		}
		rules = append(rules, session.Rule{Action: action, Resource: resource, Effect: session.Allow})
	}
	return rules, nil
}

// asks answers what is asked in one run.
type asks struct {
	client *client.Client
	mode   onAsk
	allow  []session.Rule
	in     *bufio.Reader
	notes  io.Writer
	seen   map[string]bool // requests that were handled
	// denied: a request was not granted; dismissed: a question was not answered.
	denied, dismissed bool
}

// open handles what waits in a session and under it; asked of it all when only is
// empty, else that one request.
func (a *asks) open(ctx context.Context, session, only string) error {
	permissions, err := a.client.Permissions(ctx, session)
	if err != nil {
		return err
	}
	questions, err := a.client.Questions(ctx, session)
	if err != nil {
		return err
	}
	for _, permission := range permissions.Permissions {
		if only == "" || permission.ID == only {
			err = errors.Join(err, a.permission(ctx, permission))
		}
	}
	for _, question := range questions.Questions {
		if only == "" || question.ID == only {
			err = errors.Join(err, a.question(ctx, question))
		}
	}
	return err
}

// first reports whether the request was not handled before.
func (a *asks) first(id string) bool {
	if a.seen[id] {
		return false
	}
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	a.seen[id] = true
	return true
}

// permission replies to a request as the run's flags say.
func (a *asks) permission(ctx context.Context, asked protocol.Permission) error {
	if !a.first(asked.ID) {
		return nil
	}
	what := oneLine(asked.Action+" "+strings.Join(asked.Resources, ", "), noteLength)
	reply := protocol.PermissionReply{Reply: protocol.AnswerOnce}
	effect, _ := session.Decide(a.allow, nil, asked.Action, asked.Resources)
	switch {
	case effect == session.Allow:
		fmt.Fprintf(a.notes, "? %s: allowed by --allow\n", what)
	case a.mode == askPerson:
		reply = a.person(asked, what)
	case a.mode == askFail:
		reply = protocol.PermissionReply{Reply: protocol.AnswerReject}
		fmt.Fprintf(a.notes, "? %s: refused, because of --on-ask fail\n", what)
	default:
		reply = protocol.PermissionReply{Reply: protocol.AnswerReject, Message: "nobody can be asked in this run"}
		fmt.Fprintf(a.notes, "? %s: denied; allow it with --allow %s\n", what, oneLine(asked.Action, noteLength))
	}
	_, err := a.client.Reply(ctx, asked.ID, reply)
	if overtaken(err) {
		return nil
	}
	a.denied = a.denied || reply.Reply == protocol.AnswerReject
	return err
}

// overtaken reports whether another client was first.
func overtaken(err error) bool {
	var wire *protocol.Error
	return errors.As(err, &wire) && wire.Code == protocol.AlreadyResolved
}

func (a *asks) person(asked protocol.Permission, what string) protocol.PermissionReply {
	from := ""
	if asked.Plugin != "" {
		from = " (asked by the plugin " + asked.Plugin + ")"
	}
	always := ""
	if len(asked.Save) > 0 {
		always = "[a]lways " + oneLine(strings.Join(asked.Save, ", "), noteLength) + ", "
	}
	for {
		fmt.Fprintf(a.notes, "? Allow %s%s? [y]es once, %s[n]o, or say what to do instead: ", what, from, always)
		line, err := a.in.ReadString('\n')
		if err != nil {
			return protocol.PermissionReply{Reply: protocol.AnswerReject} // no input is a no
		}
		switch text := strings.TrimSpace(line); strings.ToLower(text) {
		case "":
		case "y", "yes":
			return protocol.PermissionReply{Reply: protocol.AnswerOnce}
		case "a", "always":
			return protocol.PermissionReply{Reply: protocol.AnswerAlways}
		case "n", "no":
			return protocol.PermissionReply{Reply: protocol.AnswerReject}
		default:
			return protocol.PermissionReply{Reply: protocol.AnswerReject, Message: text}
		}
	}
}

// question has a person answer, or dismisses the question where there is none.
func (a *asks) question(ctx context.Context, asked protocol.Question) error {
	if !a.first(asked.ID) {
		return nil
	}
	for a.mode == askPerson {
		answer, ok := a.answers(asked)
		if !ok {
			break
		}
		_, err := a.client.Answer(ctx, asked.ID, answer)
		var wire *protocol.Error
		if !errors.As(err, &wire) || wire.Code != protocol.BadRequest {
			if overtaken(err) {
				return nil
			}
			return err
		}
		fmt.Fprintf(a.notes, "  %s\n", oneLine(wire.Message, noteLength))
	}
	if a.mode != askPerson {
		for _, item := range asked.Questions {
			fmt.Fprintf(a.notes, "? %s: dismissed; nobody can be asked in this run\n", oneLine(item.Text, noteLength))
		}
	}
	_, err := a.client.Dismiss(ctx, asked.ID)
	if overtaken(err) {
		return nil
	}
	a.dismissed = true
	return err
}

// answers reads an answer for each thing asked; false without more input.
func (a *asks) answers(asked protocol.Question) (answer protocol.QuestionAnswer, ok bool) {
	for _, item := range asked.Questions {
		fmt.Fprint(a.notes, "?"+questionText(item)[1:])
		for chosen := false; !chosen; {
			fmt.Fprintf(a.notes, "%s: ", howToAnswer(item))
			line, err := a.in.ReadString('\n')
			if err != nil {
				return protocol.QuestionAnswer{}, false
			}
			if chosen = strings.TrimSpace(line) != ""; chosen {
				answer.Answers = append(answer.Answers, readAnswer(item, line))
			}
		}
	}
	return answer, true
}

func howToAnswer(item protocol.QuestionItem) string {
	switch {
	case len(item.Options) == 0:
		return "Write your answer"
	case item.Multiple && item.Custom:
		return "Numbers with commas between, or your own answer"
	case item.Multiple:
		return "Numbers with commas between"
	case item.Custom:
		return "A number, or your own answer"
	}
	return "A number"
}
