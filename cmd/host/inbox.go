package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) inboxCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "inbox SESSION [cancel|edit|steer|queue|before|last PROMPT [TEXT|OTHER]]",
		Short: "List the prompts that wait in a session, or change one",
		Long: `List the prompts that wait in a session, in the order in which it will take them, or
change one: cancel it, edit its TEXT, let it steer the work that runs or queue for
work of its own, put it before the OTHER one or last.`,
		Example: `  plinth inbox ses_…
  plinth inbox ses_… edit msg_… "count to 12"
  plinth inbox ses_… before msg_… msg_…`,
		Args: usage(inboxArgs),
		RunE: func(command *cobra.Command, args []string) error { return c.inbox(command.Context(), args, asJSON) },
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// inboxArgs knows how many words follow each action.
func inboxArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("no session is named")
	}
	if len(args) == 1 {
		return nil
	}
	want, form := 3, "PROMPT"
	switch args[1] {
	case "cancel", "steer", "queue", "last":
	case "edit":
		want, form = 4, "PROMPT TEXT"
	case "before":
		want, form = 4, "PROMPT OTHER"
	default:
		return fmt.Errorf("%q is not cancel, edit, steer, queue, before or last", args[1])
	}
	if len(args) != want {
		return fmt.Errorf("write %s %s", args[1], form)
	}
	return nil
}

func (c *cli) inbox(ctx context.Context, args []string, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if args[0], err = sessionID(ctx, host, args[0]); err != nil {
		return err
	}
	if len(args) == 1 {
		return c.listInbox(ctx, host, args[0], asJSON)
	}
	receipt, err := reviseInbox(ctx, host, args)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(receipt)
	}
	state := string(receipt.Delivery)
	if receipt.CancelledSeq != nil {
		state = "cancelled"
	}
	_, err = fmt.Fprintf(c.out, "%s  %s  %s\n", receipt.ID, state, oneLine(receipt.Prompt.Text, 60))
	return err
}

func (c *cli) listInbox(ctx context.Context, host *client.Client, session string, asJSON bool) error {
	inbox, err := host.Inbox(ctx, session)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(inbox)
	}
	if len(inbox.Pending) == 0 {
		fmt.Fprintln(c.errors, "no prompt waits")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, receipt := range inbox.Pending {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", receipt.ID, receipt.Delivery, receipt.Time.Local().Format("2006-01-02 15:04"), oneLine(receipt.Prompt.Text, 60))
	}
	return table.Flush()
}

// reviseInbox carries out an action on a prompt; the arguments were checked.
func reviseInbox(ctx context.Context, host *client.Client, args []string) (protocol.Receipt, error) {
	session, action, prompt := args[0], args[1], args[2]
	var change protocol.ChangePrompt
	switch action {
	case "cancel":
		return host.CancelPrompt(ctx, session, prompt)
	case "edit":
		body, err := edited(ctx, host, session, prompt, args[3])
		if err != nil {
			return protocol.Receipt{}, err
		}
		change.Prompt = &body
	case "before":
		change.Before = &args[3]
	case "last":
		change.Before = new(string)
	default:
		change.Delivery = protocol.Delivery(action)
	}
	return host.ChangePrompt(ctx, session, prompt, change)
}

// edited is the body of a prompt that waits with another text. What it mentions stays,
// but not where: the places were in the text before.
func edited(ctx context.Context, host *client.Client, session, prompt, text string) (protocol.PromptBody, error) {
	inbox, err := host.Inbox(ctx, session)
	if err != nil {
		return protocol.PromptBody{}, err
	}
	at := slices.IndexFunc(inbox.Pending, func(receipt protocol.Receipt) bool { return receipt.ID == prompt })
	if at < 0 { // the host says what became of it
		return protocol.PromptBody{Text: text}, nil
	}
	body := inbox.Pending[at].Prompt
	body.Text, body.Notes = text, nil // notes are of the text before
	for _, mentions := range [][]protocol.Mention{body.Agents, body.References} {
		for i := range mentions {
			mentions[i].Source = nil
		}
	}
	for i := range body.Files {
		body.Files[i].Source = nil
	}
	return body, nil
}
