package model

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/store"
)

// told is what the events of a session say that its model is told.
type told struct {
	epoch    int64 // the sequence of what began it, or -1
	baseline string
	snapshot session.Snapshot
	updates  []line // system messages since
	prompts  []line // of people, in the conversation
	answered int64  // sequence up to which they have their answer
	turn     *session.TurnStarted
	making   string           // the summary that is being made
	folded   map[string]int64 // prompts by id: the sequence of the compaction that stands for them
	lost     string           // one that was folded before it was answered
}

// line is something that was said.
type line struct {
	seq      int64
	id, text string
}

func newTold() *told { return &told{epoch: -1, answered: -1, folded: map[string]int64{}} }

func (t *told) take(seq int64, payload session.Payload) {
	switch e := payload.(type) {
	case session.ContextInitialized:
		t.epoch, t.baseline, t.snapshot, t.updates = seq, e.Baseline, e.Snapshot, nil
	case session.ContextReplaced:
		t.epoch, t.baseline, t.snapshot, t.updates = seq, e.Baseline, e.Snapshot, nil
	case session.ContextUpdated:
		t.snapshot = t.snapshot.Advance(e.Changed, e.Removed)
		t.updates = append(t.updates, line{seq, e.Message, e.Text})
	case session.Reminded:
		t.updates = append(t.updates, line{seq, e.Message, e.Text})
	case session.PromptPromoted:
		if !e.Synthetic {
			t.prompts = append(t.prompts, line{seq, e.Message, e.Prompt.Text})
		}
	case session.ActivityEnded:
		if e.Outcome == session.Completed {
			t.answered = seq
		}
	case session.TurnStarted:
		t.turn = &e
	case session.CompactionStarted:
		t.making = e.Message
	case session.CompactionEnded:
		t.making = ""
		t.fold(seq, e)
	case session.CompactionFailed:
		t.making = ""
	case session.RevertCommitted:
		t.prompts = slices.DeleteFunc(t.prompts, func(l line) bool { return l.seq > e.Boundary })
		maps.DeleteFunc(t.folded, func(_ string, by int64) bool { return by > e.Boundary })
		if n := len(t.prompts); n > 0 {
			t.answered = min(t.answered, t.prompts[n-1].seq-1)
		}
	case session.HistoryPruned:
		*t = *newTold()
	case session.MessageImported:
		t.imported(seq, e)
	}
}

// fold notes what a summary stands for.
func (t *told) fold(seq int64, e session.CompactionEnded) {
	for _, prompt := range t.prompts {
		if _, known := t.folded[prompt.id]; known || prompt.seq > e.Boundary || slices.Contains(e.Kept, prompt.id) {
			continue
		}
		t.folded[prompt.id] = seq
		if prompt.seq > t.answered {
			t.lost = prompt.id
		}
	}
}

func (t *told) imported(seq int64, e session.MessageImported) {
	switch m := e.Message; m.Type {
	case session.MessageSystem:
		t.updates = append(t.updates, line{seq, m.ID, m.Text})
	case session.MessageUser:
		t.prompts = append(t.prompts, line{seq, m.ID, m.Prompt.Text})
	}
	if !e.Open {
		t.answered = seq
	}
}

// faithful holds a request to what was recorded: the epoch's text and updates, the
// prompts without an answer, and all of the history as the tables have it.
func (h *host) faithful(ctx context.Context, request session.ModelRequest, turn *session.TurnStarted) error {
	h.log.mu.Lock()
	t := *h.log.told[request.Session]
	h.log.mu.Unlock()
	system := ""
	for _, part := range request.System {
		system += part.Text
	}
	if system != t.baseline {
		return fmt.Errorf("the system text is %q, the epoch began with %q", system, t.baseline)
	}
	var updates, prompts []line
	for _, message := range request.Messages {
		switch said := (line{0, message.ID, message.Parts[0].Text}); message.Role {
		case session.RoleSystem:
			updates = append(updates, said)
		case session.RoleUser:
			prompts = append(prompts, said)
		}
	}
	want := slices.Clone(t.updates)
	for i := range want {
		want[i].seq = 0
	}
	if diff := cmp.Diff(want, updates, cmp.AllowUnexported(line{})); diff != "" {
		return fmt.Errorf("the updates since the epoch began (-recorded +sent):\n%s", diff)
	}
	if t.lost != "" {
		return fmt.Errorf("the prompt %s was condensed and has no answer", t.lost)
	}
	for _, prompt := range t.prompts {
		if _, folded := t.folded[prompt.id]; !folded && prompt.seq > t.answered && !slices.Contains(prompts, line{0, prompt.id, prompt.text}) {
			return fmt.Errorf("the prompt %s has no answer and is not sent", prompt.id)
		}
	}
	if err := t.once(); err != nil {
		return err
	}
	if turn.Attempt == 1 {
		if err := h.world.current(h, t.snapshot); err != nil {
			return err
		}
	}
	return h.window(ctx, request, t.epoch)
}

var sayings = regexp.MustCompile(`(?:The|There is no) (weather|moon|star)(?: is (\d+))?`)

// once holds that each change of a source is told, and told once: nothing is said that
// was said last, and what was said last is what counts as admitted.
func (t *told) once() error {
	last := map[string]string{}
	text := t.baseline
	for _, update := range t.updates {
		text += "\n" + update.text
	}
	for _, said := range sayings.FindAllStringSubmatch(text, -1) {
		key, value := said[1], said[2]
		if before, known := last[key]; known && before == value {
			return fmt.Errorf("%q is told twice: %s", said[0], text)
		}
		last[key] = value
	}
	for _, key := range sources {
		if admitted := string(t.snapshot[key].Value); last[key] != admitted {
			return fmt.Errorf("the %s counts as told %q, and the model was told %q: %s", key, admitted, last[key], text)
		}
	}
	return nil
}

// current holds that the model is told of what is so now, where nothing changed since
// the last rest.
func (w *world) current(h *host, snapshot session.Snapshot) error {
	w.mu.Lock()
	steady := !w.unsteady
	w.mu.Unlock()
	if !steady {
		return nil
	}
	states := map[string]session.SourceState{}
	for _, key := range sources {
		states[key] = h.observe(key)
		if _, admitted := snapshot[key]; admitted && states[key].State == session.SourceUnavailable {
			return nil // it may be what another epoch waits for
		}
	}
	for key, state := range states {
		admitted, known := snapshot[key]
		switch {
		case state.State == session.SourceAbsent && known:
			return fmt.Errorf("the %s is gone and counts as %s", key, admitted.Value)
		case state.State == session.SourceValue && !epoch.Flapped(admitted) && string(state.Value) != string(admitted.Value):
			return fmt.Errorf("the %s is %s and the model was told %q", key, state.Value, admitted.Value)
		}
	}
	return nil
}

// window holds that the request is the one that follows from the tables.
func (h *host) window(ctx context.Context, request session.ModelRequest, epoch int64) error {
	var history []session.Message
	err := h.log.View(ctx, func(tx store.Tx) error {
		current, err := session.LoadSession(ctx, tx, request.Session)
		if err != nil {
			return err
		}
		history, err = session.LoadHistory(ctx, tx, current, epoch)
		return err
	})
	if err != nil {
		return nil // it is being removed, or the host ends
	}
	var want, has []string
	for _, message := range history {
		want = append(want, lowered(message, epoch)...)
	}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			text := part.Text
			if inner, is := strings.CutPrefix(text, "<summary>"); is {
				_, inner, _ = strings.Cut(inner, "\n\n")
				text = strings.TrimSuffix(inner, "\n</summary>")
			}
			has = append(has, fmt.Sprintf("%s %s %s %s", message.Role, message.ID, part.Call, text))
		}
	}
	if diff := cmp.Diff(want, has); diff != "" {
		return fmt.Errorf("the request (-tables +sent):\n%s", diff)
	}
	return nil
}

// lowered is a message as it is sent.
func lowered(m session.Message, epoch int64) (lines []string) {
	say := func(role session.Role, text string) {
		lines = append(lines, fmt.Sprintf("%s %s  %s", role, m.ID, text))
	}
	switch m.Type {
	case session.MessageUser, session.MessageSynthetic:
		say(session.RoleUser, m.Prompt.Text)
	case session.MessageCompaction:
		say(session.RoleUser, m.Text)
	case session.MessageSystem:
		if m.Seq > epoch {
			say(session.RoleSystem, m.Text)
		}
	case session.MessageAssistant:
		var results []string
		for _, part := range m.Parts {
			switch {
			case part.Type == session.MessagePartText && part.Text != "":
				say(session.RoleAssistant, part.Text)
			case part.Tool == nil || part.Tool.State == session.ToolStateFailed && part.Tool.Raw != "":
			default:
				lines = append(lines, fmt.Sprintf("%s %s %s ", session.RoleAssistant, m.ID, part.ID))
				results = append(results, fmt.Sprintf("%s %s/results %s %s", session.RoleTool, m.ID, part.ID, result(part.Tool)))
			}
		}
		lines = append(lines, results...)
	}
	return lines
}

func result(tool *session.ToolPart) string {
	switch {
	case tool.State == session.ToolStateFailed:
		return tool.Error.Message
	case tool.Pruned != 0:
		return compaction.Note(compaction.Bytes(tool))
	case len(tool.Content) == 0:
		return string(tool.Structured)
	}
	return tool.Content[0].Text
}

// epochText is the epoch as the tables have it, or as the reference does.
func epochText(seq int64, baseline string, snapshot session.Snapshot) string {
	text := fmt.Sprintf("%d %q", seq, baseline)
	for _, key := range slices.Sorted(maps.Keys(snapshot)) {
		text += fmt.Sprintf(" %s=%s", key, snapshot[key].Value)
	}
	return text
}
