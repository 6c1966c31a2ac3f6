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

// onAsk is what a run does with a permission nothing allows beforehand.
type onAsk string

const (
	askPerson onAsk = "ask"  // at the terminal
	askDeny   onAsk = "deny" // tell the model that nobody can be asked, and go on
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

// asks answers the permission requests of one run.
type asks struct {
	client *client.Client
	mode   onAsk
	allow  []session.Rule
	in     *bufio.Reader
	notes  io.Writer
	denied bool // a request was not granted
}

// answer replies to a request as the run's flags say.
func (a *asks) answer(ctx context.Context, asked session.PermissionAsked) error {
	what := oneLine(asked.Ask.Action+" "+strings.Join(asked.Ask.Resources, ", "), noteLength)
	reply := protocol.PermissionReply{Reply: protocol.AnswerOnce}
	effect, _ := session.Decide(a.allow, nil, asked.Ask.Action, asked.Ask.Resources)
	switch {
	case effect == session.Allow:
		fmt.Fprintf(a.notes, "? %s: allowed by --allow\n", what)
	case a.mode == askPerson:
		var err error
		if reply, err = a.person(asked, what); err != nil {
			return err
		}
	case a.mode == askFail:
		reply = protocol.PermissionReply{Reply: protocol.AnswerReject}
		fmt.Fprintf(a.notes, "? %s: refused, because of --on-ask fail\n", what)
	default:
		reply = protocol.PermissionReply{Reply: protocol.AnswerReject, Message: "nobody can be asked in this run"}
		fmt.Fprintf(a.notes, "? %s: denied; allow it with --allow %s\n", what, oneLine(asked.Ask.Action, noteLength))
	}
	if reply.Reply == protocol.AnswerReject {
		a.denied = true
	}
	_, err := a.client.Reply(ctx, asked.Request, reply)
	var wire *protocol.Error
	if errors.As(err, &wire) && wire.Code == protocol.AlreadyResolved {
		return nil // another client was first
	}
	return err
}

func (a *asks) person(asked session.PermissionAsked, what string) (protocol.PermissionReply, error) {
	from := ""
	if asked.Ask.Plugin != "" {
		from = " (asked by the plugin " + asked.Ask.Plugin + ")"
	}
	always := ""
	if len(asked.Ask.Save) > 0 {
		always = "[a]lways " + oneLine(strings.Join(asked.Ask.Save, ", "), noteLength) + ", "
	}
	for {
		fmt.Fprintf(a.notes, "? Allow %s%s? [y]es once, %s[n]o, or say what to do instead: ", what, from, always)
		line, err := a.in.ReadString('\n')
		if err != nil {
			return protocol.PermissionReply{Reply: protocol.AnswerReject}, nil //nolint:nilerr // no input is a no
		}
		switch text := strings.TrimSpace(line); strings.ToLower(text) {
		case "":
		case "y", "yes":
			return protocol.PermissionReply{Reply: protocol.AnswerOnce}, nil
		case "a", "always":
			return protocol.PermissionReply{Reply: protocol.AnswerAlways}, nil
		case "n", "no":
			return protocol.PermissionReply{Reply: protocol.AnswerReject}, nil
		default:
			return protocol.PermissionReply{Reply: protocol.AnswerReject, Message: text}, nil
		}
	}
}
