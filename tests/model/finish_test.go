package model

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// finish lets everything come to an end: what is asked is allowed, what is blocked goes
// on, what waits is resumed. Then nothing may be left.
func (w *world) finish(ctx context.Context) error {
	for _, plugin := range plugins {
		w.host.plug(plugin)
	}
	for i := range w.skies {
		w.skies[i].Store(3)
	}
	w.summary.Store(0)
	w.unsteady = true
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

// replayed holds that what can be read is what was appended, less what was removed and
// pruned, and that a replay of it makes the same tables; of a fork also alone.
func (w *world) replayed(ctx context.Context) error {
	readable, err := feed(ctx, w.host.log)
	if err != nil {
		return err
	}
	for _, event := range readable {
		counted.event(event.Type)
	}
	entries, _ := w.host.log.snapshot()
	remaining := left(entries)
	ids := func(events []store.Event) (all []string) {
		for _, event := range events {
			all = append(all, event.ID)
		}
		return all
	}
	if diff := cmp.Diff(ids(remaining), ids(readable)); diff != "" {
		return errors.New("what can be read of the log (-should +can):\n" + diff)
	}
	has, err := w.dump(ctx, w.host.log, len(remaining) < len(events(entries)))
	if err != nil {
		return err
	}
	if err := w.again(ctx, readable, func(again string) error {
		if diff := cmp.Diff(has, again); diff != "" {
			return errors.New("the tables of a replay differ (-had +has):\n" + diff)
		}
		return nil
	}, len(remaining) < len(events(entries))); err != nil {
		return err
	}
	return w.forksReplayed(ctx, readable, has)
}

// forksReplayed holds that the newest fork needs no other session.
func (w *world) forksReplayed(ctx context.Context, readable []store.Event, has string) error {
	for _, id := range slices.Backward(w.history.order) {
		if !w.history.sessions[id].fork {
			continue
		}
		own := without(readable, func(e store.Event) bool { return e.Aggregate != id })
		count := func(tables string) int {
			return strings.Count(tables, "\nmessage [\""+id) + strings.Count(tables, "\npart [\""+id)
		}
		return w.again(ctx, own, func(alone string) error {
			known := map[string]bool{}
			for line := range strings.Lines(has + "\n") {
				known[line] = true
			}
			for line := range strings.Lines(alone + "\n") {
				if !known[line] {
					return fmt.Errorf("the fork %s alone has another row: %s", id, line)
				}
			}
			if count("\n"+alone) != count("\n"+has) {
				return fmt.Errorf("the fork %s alone has %d messages and parts in the place of %d", id, count("\n"+alone), count("\n"+has))
			}
			return nil
		}, true)
	}
	return nil
}

// again replays events into an empty store and hands over its tables.
func (w *world) again(ctx context.Context, events []store.Event, compare func(tables string) error, partial bool) error {
	log := sessiontest.OpenStore(w.t, w.t.TempDir())
	defer log.Close()
	if err := replay(ctx, log, events); err != nil {
		return err
	}
	tables, err := w.dump(ctx, log, partial)
	if err != nil {
		return err
	}
	return compare(tables)
}

// dump answers the tables once what was removed has gone. partial: without what is spent,
// which counts also what is not there any more.
func (w *world) dump(ctx context.Context, log store.Log, partial bool) (string, error) {
	if err := log.Purge(ctx); err != nil {
		return "", err
	}
	tables := sessiontest.Tables(w.t, log)
	if !partial {
		return tables, nil
	}
	lines := without(strings.Split(tables, "\n"), func(line string) bool { return strings.HasPrefix(line, "spent ") })
	return strings.Join(lines, "\n"), nil
}

// story tells what happened, for who looks for the reason.
func (w *world) story() string {
	var text strings.Builder
	entries, _ := w.host.log.snapshot()
	for _, e := range entries {
		event := e.event
		if event.Type == "" {
			fmt.Fprintf(&text, "removed %v, pruned %s below %d\n", e.removed, e.pruned, e.seq)
			continue
		}
		fmt.Fprintf(&text, "%s %3d %-28s %.400s\n", event.Aggregate, event.Seq, event.Type, event.Data)
	}
	return text.String()
}

var idPattern = regexp.MustCompile(`\b(ses|msg|evt|per|que|act)_[0-9a-f]{16}[0-9A-Za-z]{14}\b`)

// renamed gives ids the names that they would have in every run: their kind, and a number
// in the order they are met.
func renamed(text string) string {
	names, count := map[string]string{}, map[string]int{}
	return idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			count[id[:3]]++
			names[id] = fmt.Sprintf("%s%d", id[:3], count[id[:3]])
		}
		return names[id]
	})
}
