package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session/runner"
)

// contextService is server.Contexts.
type contextService struct{ *backend }

func (b contextService) Report(ctx context.Context, id string) (protocol.ContextReport, error) {
	cursor, err := b.head(ctx, id)
	if err != nil {
		return protocol.ContextReport{}, wireError(err)
	}
	report, err := b.runner.Report(ctx, id)
	if err != nil {
		return protocol.ContextReport{}, wireError(err)
	}
	wire := protocol.ContextReport{SessionID: id, Sources: wireParts(report.Sources), Tools: wireParts(report.Tools), Bytes: report.Bytes,
		Tokens: report.Total, Window: report.Context, Largest: report.Largest, Unavailable: report.Unavailable, Blocked: report.Blocked,
		Held: report.Held, Problem: report.Problem, Cursor: cursor}
	if report.Epoch >= 0 {
		wire.Epoch = &report.Epoch
	}
	for _, m := range report.Messages {
		wire.Messages = append(wire.Messages, protocol.ContextMessage{ID: m.ID, Type: protocol.MessageType(m.Type), Pending: m.Pending,
			Bytes: m.Bytes, Tokens: m.Tokens, Media: m.Media})
	}
	return wire, nil
}

func wireParts(sizes []runner.Size) []protocol.ContextPart {
	parts := make([]protocol.ContextPart, len(sizes))
	for i, size := range sizes {
		parts[i] = protocol.ContextPart(size)
	}
	return parts
}

func (b contextService) Metrics(context.Context) (protocol.ContextMetrics, error) {
	counts := b.runner.ContextCounts()
	wire := protocol.ContextMetrics{Baselines: counts.Baselines, BaselineBytes: counts.BaselineBytes, BaselineMax: counts.BaselineMax,
		Updates: counts.Updates, UpdateBytes: counts.UpdateBytes, Blocked: counts.Blocked, Contended: counts.Contended}
	for _, source := range counts.Sources {
		wire.Sources = append(wire.Sources, protocol.ContextSourceMetrics{Name: source.Name, Observations: source.Observations,
			TotalMS: inMS(source.Total), MaxMS: inMS(source.Max), Unavailable: source.Unavailable, Held: source.Held})
	}
	return wire, nil
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (c *cli) sessionsContext() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "context SESSION",
		Short: "What fills the model's window: what the next request would be made of",
		Long: `Shows what the session's next request would be made of, were it made now: the parts of
the system text by source, the tools and the messages, each with its bytes and an
estimate of its tokens. Nothing is recorded for it and no prompt is taken.`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.sessionContext(command.Context(), args[0], asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) sessionContext(ctx context.Context, id string, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	if id, err = sessionID(ctx, host, id); err != nil {
		return err
	}
	report, err := host.Context(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(report)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	line := func(kind, name string, bytes, tokens int64, note string) {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", kind, oneLine(name, 100), bytes, tokens, note)
	}
	fmt.Fprintln(table, "PART\tNAME\tBYTES\tTOKENS\t")
	for _, source := range report.Sources {
		if source.Name == "" {
			source.Name = "(transforms and separators)"
		}
		line("source", source.Name, source.Bytes, source.Tokens, "")
	}
	for _, tool := range report.Tools {
		line("tool", tool.Name, tool.Bytes, tool.Tokens, "")
	}
	for _, message := range report.Messages {
		line(string(message.Type), message.ID, message.Bytes, message.Tokens, noteOf(message))
	}
	line("total", "", report.Bytes, report.Tokens, "")
	if err := table.Flush(); err != nil {
		return err
	}
	return c.contextNotes(report)
}

func noteOf(message protocol.ContextMessage) string {
	var notes []string
	if message.Pending {
		notes = append(notes, "not yet recorded")
	}
	if message.Media > 0 {
		notes = append(notes, "and "+plural(message.Media, "file"))
	}
	return strings.Join(notes, ", ")
}

// contextNotes says what the numbers mean, where there is something to say.
func (c *cli) contextNotes(report protocol.ContextReport) error {
	var notes []string
	if report.Window > 0 {
		notes = append(notes, fmt.Sprintf("about %d %% of the model's %d tokens", (report.Tokens*100+report.Window-1)/report.Window, report.Window))
	}
	if report.Largest != "" {
		notes = append(notes, "the largest part is the "+report.Largest)
	}
	for _, list := range []struct {
		what string
		keys []string
	}{{"cannot be read now", report.Unavailable}, {"keeps a new epoch from beginning", report.Blocked}, {"goes back and forth and is held", report.Held}} {
		for _, key := range list.keys {
			notes = append(notes, key+" "+list.what)
		}
	}
	if report.Problem != "" {
		notes = append(notes, "no request would be made now: "+report.Problem)
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(c.out, oneLine(note, noteLength)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) contextCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "context",
		Short: "What the context sources of all sessions took since the host started",
		Args:  usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return c.contextMetrics(command.Context(), asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (c *cli) contextMetrics(ctx context.Context, asJSON bool) error {
	host, closeHost, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	defer closeHost()
	metrics, err := host.ContextMetrics(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(metrics)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SOURCE\tASKED\tMEAN\tLONGEST\tUNAVAILABLE\tHELD")
	for _, source := range metrics.Sources {
		fmt.Fprintf(table, "%s\t%d\t%.1f ms\t%.1f ms\t%d\t%d\n", oneLine(source.Name, 100), source.Observations,
			source.TotalMS/float64(max(source.Observations, 1)), source.MaxMS, source.Unavailable, source.Held)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s of %d bytes together, the largest of %d; %s of %d bytes\n"+
		"%s went on with an epoch that should have ended; %d were prepared again because the session changed meanwhile\n",
		plural(metrics.Baselines, "baseline"), metrics.BaselineBytes, metrics.BaselineMax, plural(metrics.Updates, "update"), metrics.UpdateBytes,
		plural(metrics.Blocked, "turn"), metrics.Contended)
	return err
}
