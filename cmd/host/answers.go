package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) questionsCommand() *cobra.Command {
	var session string
	var asJSON bool
	command := &cobra.Command{
		Use:   "questions",
		Short: "List the questions that wait for an answer, oldest first",
		Args:  usage(cobra.NoArgs),
		RunE:  func(command *cobra.Command, _ []string) error { return c.questions(command.Context(), session, asJSON) },
	}
	command.Flags().StringVarP(&session, "session", "s", "", "only those of this session and of the sessions under it")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) questions(ctx context.Context, session string, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if session, err = sessionID(ctx, host, session); err != nil {
		return err
	}
	list, err := host.Questions(ctx, session)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(list)
	}
	if len(list.Questions) == 0 {
		fmt.Fprintln(c.errors, "no questions")
	}
	for _, question := range list.Questions {
		fmt.Fprintf(c.out, "%s  %s  %s\n", question.ID, question.Time.Local().Format("2006-01-02 15:04"), question.SessionID)
		for _, item := range question.Questions {
			fmt.Fprint(c.out, questionText(item))
		}
	}
	return nil
}

// questionText shows a question with its options numbered, as a person answers it.
func questionText(item protocol.QuestionItem) string {
	var text strings.Builder
	fmt.Fprintf(&text, "  %s\n", oneLine(item.Text, 1000))
	for i, option := range item.Options {
		fmt.Fprintf(&text, "    %d. %s", i+1, oneLine(option.Label, noteLength))
		if option.Description != "" {
			fmt.Fprintf(&text, ": %s", oneLine(option.Description, noteLength))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// readAnswer makes an answer of what a person wrote: labels or numbers of options,
// with commas between where several may be chosen, or a text of their own. Whether it
// fits is for the host to say.
func readAnswer(item protocol.QuestionItem, text string) []string {
	text = strings.TrimSpace(text)
	choose := func(text string) (string, bool) {
		for _, option := range item.Options {
			if option.Label == text {
				return text, true
			}
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(item.Options) {
			return text, false
		}
		return item.Options[n-1].Label, true
	}
	if whole, offered := choose(text); offered || !item.Multiple {
		return []string{whole}
	}
	var chosen []string
	for part := range strings.SplitSeq(text, ",") {
		label, offered := choose(strings.TrimSpace(part))
		if !offered && item.Custom {
			return []string{text} // a text with a comma in it
		}
		chosen = append(chosen, label)
	}
	return chosen
}

func (c *cli) answerCommand() *cobra.Command {
	var dismiss bool
	command := &cobra.Command{
		Use:   "answer QUESTION [ANSWER...]",
		Short: "Answer a question, or dismiss it, which halts who asked",
		Long: `Answers a question that plinth questions lists. There is one ANSWER for each thing it
asks: the number or the label of an option, several of them with commas between where
the question takes several, or a text of your own where it takes one.`,
		Example: `  plinth answer que_… 2
  plinth answer que_… "Only the tests" 1,3
  plinth answer que_… --dismiss`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if dismiss == (len(args) > 1) {
				return &exitError{exitUsage, errors.New("give either the answers or --dismiss")}
			}
			return c.answer(command.Context(), args[0], args[1:], dismiss)
		},
	}
	command.Flags().BoolVar(&dismiss, "dismiss", false, "close the question without an answer")
	return command
}

func (c *cli) answer(ctx context.Context, id string, texts []string, dismiss bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if dismiss {
		_, err := host.Dismiss(ctx, id)
		return err
	}
	list, err := host.Questions(ctx, "")
	if err != nil {
		return err
	}
	var answer protocol.QuestionAnswer
	for _, question := range list.Questions {
		if question.ID != id {
			continue
		}
		for i, text := range texts {
			if i < len(question.Questions) {
				answer.Answers = append(answer.Answers, readAnswer(question.Questions[i], text))
			} else {
				answer.Answers = append(answer.Answers, []string{text})
			}
		}
	}
	_, err = host.Answer(ctx, id, answer) // which says that there is no such question, too
	return err
}

func (c *cli) approvalsCommand() *cobra.Command {
	var root, remove string
	var asJSON bool
	command := &cobra.Command{
		Use:   "approvals",
		Short: "List what was allowed for always, or take an approval back",
		Example: `  plinth approvals --dir .
  plinth approvals --remove apr_…`,
		Args: usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return c.approvals(command.Context(), root, remove, asJSON)
		},
	}
	command.Flags().StringVarP(&root, "dir", "C", "", "only of the project that this folder belongs to")
	command.Flags().StringVar(&remove, "remove", "", "take back the approval with this id; what it allowed is asked again")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) approvals(ctx context.Context, root, remove string, asJSON bool) error {
	if root != "" {
		directory, err := c.absolute(root)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		location, err := places{}.Resolve(ctx, directory)
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("--dir %w", err)}
		}
		root = location.Root
	}
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if remove != "" {
		return host.RemoveApproval(ctx, remove)
	}
	list, err := host.Approvals(ctx, root)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(list)
	}
	if len(list.Approvals) == 0 {
		fmt.Fprintln(c.errors, "no approvals")
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, a := range list.Approvals {
		plugin := a.Plugin
		if plugin == "" {
			plugin = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Time.Local().Format("2006-01-02 15:04"), oneLine(a.Root, 40),
			oneLine(plugin, 60), oneLine(a.Action, noteLength), oneLine(a.Resource, noteLength))
	}
	return table.Flush()
}
