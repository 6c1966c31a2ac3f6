package runner

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

// summaryPart is the live part of a summary that streams.
const summaryPart = "summary"

// unknownWindow is what a summary's request is fitted to when its model's window is not
// known.
const unknownWindow = 128_000

// summary is one request for a summary, and its answer.
type summary struct {
	turn     *turn // of the model that makes it
	message  string
	text     strings.Builder
	finished bool
	finish   session.FinishReason
	usage    *session.Usage
}

// summary readies the request. Its model is the configured one, else the hidden agent's,
// else the session's.
func (t *turn) summary(ctx context.Context, choice compaction.Choice) (*summary, error) {
	agent, _ := t.Agents.Agent(session.AgentCompaction)
	ref := *cmp.Or(t.config.Compaction.Model, agent.Model, &t.current.Model)
	s := &turn{drain: t.drain, activity: t.activity, pin: t.pin, current: t.current, agent: agent}
	s.current.Model = ref
	if err := s.chooseModel(ctx); err != nil {
		return nil, err
	}
	generation, request := s.controls()
	output := int64(compaction.MaxSummary)
	if s.model.Output > 0 {
		output = min(output, s.model.Output)
	}
	if generation.MaxTokens != nil {
		output = min(output, *generation.MaxTokens)
	}
	generation.MaxTokens = &output
	window := cmp.Or(s.model.Context, unknownWindow)
	prompt, fits := compaction.Prompt(choice, window-output-int64(len(agent.System)+3)/4)
	if !fits && s.model.Context > 0 {
		return nil, &unavailableError{fmt.Sprintf("What is to be condensed does not go into the window of %s, which has %d tokens; "+
			"set compaction.model to a model with a larger window", ref, s.model.Context)}
	}
	request.Purpose, request.Session, request.Agent, request.Model = session.PurposeCompaction, t.session, session.AgentCompaction, ref
	request.ToolChoice, request.Generation = "none", generation
	if agent.System != "" {
		request.System = []session.TextPart{{ID: "agent", Text: agent.System}}
	}
	request.Messages = []session.ModelMessage{textMessage("compaction", session.RoleUser, prompt)}
	s.request = request
	if err := s.transformRequest(ctx); err != nil {
		return nil, err
	}
	return &summary{turn: s}, nil
}

// write makes the request and answers the text. What streams is shown under the id of
// the message that it becomes. A provider that fails in silence is asked again, as for
// a turn; nothing of that is recorded.
func (s *summary) write(ctx context.Context, message string) (string, error) {
	s.message = message
	for attempt := 1; ; attempt++ {
		err := s.turn.receive(ctx, s.take)
		switch {
		case err == nil && s.finished:
			return s.result()
		case err == nil:
			err = unfinished()
		}
		if s.text.Len() > 0 {
			return "", err
		}
		wait, again := s.turn.retry(err, attempt)
		if !again {
			return "", err
		}
		s.turn.Logger.Info("the summary is tried again", "session", s.turn.session, "attempt", attempt+1, "wait", wait, "error", err)
		if err := s.turn.pause(ctx, wait); err != nil {
			return "", err
		}
		s.finished, s.usage = false, nil
	}
}

// take handles one event: text is all that a summary is made of.
func (s *summary) take(_ context.Context, event session.ModelEvent) error {
	switch event.Type {
	case session.EventTextDelta:
		if s.text.Len()+len(event.Text) > MaxPartBytes {
			return protocol("the summary is longer than %d bytes", MaxPartBytes)
		}
		s.text.WriteString(event.Text)
		if event.Text != "" {
			s.turn.Live.Append(s.turn.session, s.message, summaryPart, session.LiveSummary, event.Text)
		}
	case session.EventToolStart:
		return &unavailableError{fmt.Sprintf("The model called %q instead of writing the summary; try again, or set compaction.model to another one", event.Name)}
	case session.EventUsage:
		usage := clamp(event.Usage)
		s.usage = &usage
	case session.EventFinish:
		s.finished, s.finish = true, event.Reason
	}
	return nil
}

// result answers the text of an answer that ended.
func (s *summary) result() (string, error) {
	text := strings.TrimSpace(s.text.String())
	if text == "" || s.finish == session.FinishContentFilter {
		return "", &unavailableError{fmt.Sprintf("The model %s wrote no summary (it finished with %q); try again, or set compaction.model to another one",
			s.turn.current.Model, s.finish)}
	}
	return text, nil
}

// cost is what the answer cost in nano-dollars, nil when that is not known.
func (s *summary) cost() *int64 {
	if s.usage == nil {
		return nil
	}
	return s.turn.model.Cost(*s.usage)
}
