package model

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// finish lets everything come to an end: what is asked is allowed, what is blocked goes
// on, what waits is resumed. Then nothing may be left.
func (w *world) finish(ctx context.Context) error {
	for _, plugin := range plugins {
		w.host.plug(plugin)
	}
	w.weather.Store(3)
	w.unblock()
	for round := 0; ; round++ {
		if _, err := w.do(ctx, step{Do: "wait"}, true); err != nil {
			return err
		}
		settle()
		if err := w.check(ctx); err != nil {
			return err
		}
		acted, err := w.urge(ctx, round)
		if err != nil {
			return fmt.Errorf("ending: %w", err)
		}
		if !acted {
			break
		}
		if round > 200 {
			return errors.New("ending: after 200 rounds there is still something to do")
		}
	}
	for _, id := range w.history.order {
		if p := w.history.sessions[id]; p.activity != "" || w.host.coordinator.Running(id) || len(p.pending) > 0 || p.waitsForTask() {
			return fmt.Errorf("ending: %s is left with the activity %q, a drain: %v, %d prompts, tasks %v", id, p.activity,
				w.host.coordinator.Running(id), len(p.pending), p.tasks)
		}
	}
	return w.replayed(ctx)
}

func (p *past) waitsForTask() bool {
	for _, running := range p.tasks {
		if running {
			return true
		}
	}
	return false
}

// urge answers what is asked, else resumes one session in which prompts wait.
func (w *world) urge(ctx context.Context, round int) (bool, error) {
	for _, r := range w.history.asked {
		switch {
		case !r.open:
			continue
		case r.action == "":
			_, err := w.host.permissions.Answer(ctx, session.System(), r.id, [][]string{{"this one"}})
			return true, err
		}
		_, err := w.host.permissions.Reply(ctx, session.System(), r.id, session.ReplyOnce, "")
		return true, err
	}
	for i := range w.history.order {
		id := w.history.order[(i+round)%len(w.history.order)]
		p := w.history.sessions[id]
		if len(p.pending) == 0 || w.host.coordinator.Running(id) {
			continue
		}
		if _, err := w.host.sessions.SwitchModel(ctx, session.System(), id, session.ModelRef{Provider: scripted, Model: "m1"}); err != nil {
			return true, err
		}
		_, err := w.host.sessions.Resume(ctx, session.System(), id)
		return true, err
	}
	return false, nil
}

// replayed holds that a replay of the log makes the same tables.
func (w *world) replayed(ctx context.Context) error {
	events, err := feed(ctx, w.host.log, 1<<62)
	if err != nil {
		return err
	}
	for _, event := range events {
		counted.event(event.Type)
	}
	again := sessiontest.OpenStore(w.t, w.t.TempDir())
	defer again.Close()
	if err := replay(ctx, again, events); err != nil {
		return err
	}
	if diff := cmp.Diff(sessiontest.Tables(w.t, w.host.log), sessiontest.Tables(w.t, again)); diff != "" {
		return errors.New("the tables of a replay differ (-had +has):\n" + diff)
	}
	return nil
}

// story tells what happened, for who looks for the reason.
func (w *world) story(ctx context.Context) string {
	var text strings.Builder
	events, err := feed(ctx, w.host.log, 1<<62)
	if err != nil {
		return err.Error()
	}
	for _, event := range events {
		fmt.Fprintf(&text, "%s %3d %-28s %.400s\n", event.Aggregate, event.Seq, event.Type, event.Data)
	}
	return text.String()
}

var idPattern = regexp.MustCompile(`\b(ses|msg|evt|per|que|act)_[0-9a-f]{16}[0-9A-Za-z]{14}\b`)

// named gives ids the names that they would have in every run: their kind, and a number
// in the order they are met.
func named(text string) string {
	names, count := map[string]string{}, map[string]int{}
	return idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			count[id[:3]]++
			names[id] = fmt.Sprintf("%s%d", id[:3], count[id[:3]])
		}
		return names[id]
	})
}
